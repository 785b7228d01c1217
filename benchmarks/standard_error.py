"""How often λ ± 1.96 standard errors covers its expectation, by calibration size: the table of the README.

    python benchmarks/standard_error.py

1,000 draws of calibration and operation (1,000 inputs) of a synthetic network; seeds are fixed.
"""

from __future__ import annotations

import numpy as np

from infimum.conformal import APS, LAC, RAPS, LambdaSummary, Margin, calibrate


def network(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a ten-class network that is right about nine times in ten, and labels drawn from its softmax."""
    logits = rng.normal(size=(n, 10)) * 4
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def main(draws: int = 1000) -> None:
    """Print one table."""
    print("calibration rows   score      λ    sd of λ   mean standard error   coverage of ± 1.96")
    for n in (100, 300, 1000):
        for score in (RAPS(), APS(), LAC(), Margin()):
            found = []
            for seed in range(draws):
                rng = np.random.default_rng([seed, n])
                cal = calibrate(*network(n, rng), score=score, seed=seed)
                summary = LambdaSummary(cal.n)
                summary.add(cal.top_two(network(1000, rng)[0]))
                found.append((summary.value, summary.standard_error().total))
            value, error = np.array(found).T
            hits = (np.abs(value - value.mean()) <= 1.96 * error).mean()
            print(
                f"{n:16}   {score.name:6} {value.mean():.4f}   {value.std():.4f}   {error.mean():19.4f}   {hits:18.3f}"
            )


if __name__ == "__main__":
    main()
