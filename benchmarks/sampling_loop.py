"""The paper's whole sampling loop against infimum's, side by side in one run.

    python benchmarks/sampling_loop.py [--iterations 50] [--batch 20000] [--features 128] [--runs 5] [--loop-runs 1]

The loop: scikit-learn draws features, the head makes logits, the error levels are walked with ranks and scores made
anew at each (99 of them), and every sample's features and level are kept for the mean. infimum: logits sampled
behind the head, exact levels, a running summary. Memory is the peak of what is allocated, for a tenth of the
iterations and for all.
"""

from __future__ import annotations

import argparse

import numpy as np
from paper_loop import levels_by_rescoring
from sampling_data import APART, world
from sampling_speed import as_sklearn
from sklearn.mixture import GaussianMixture as SklearnMixture
from timing import extra_memory, machine, medians, print_table

from infimum import Head, Stopping
from infimum.conformal import RAPS
from infimum.manifold._sampling import sample_lambda


def paper_loop(
    mixture: SklearnMixture, layer: Head, logits: np.ndarray, labels: np.ndarray, iterations: int, batch: int
) -> float:
    """λ after so many iterations, everything kept."""
    samples: list[np.ndarray] = []
    levels: list[float] = []
    value = 0.0
    for i in range(iterations):
        x, _ = mixture.sample(batch)
        samples.append(x)
        levels.extend(levels_by_rescoring(layer.logits(x), logits, labels, RAPS(), seed=i))
        value = float(np.mean(levels))
    return value


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--batch", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--loop-runs", type=int, default=1)
    options = parser.parse_args()
    print(machine() + "\n")
    few = max(1, options.iterations // 10)
    rows: list[tuple[object, ...]] = []
    for name, apart in APART.items():
        layer, logits, labels, cal, law = world(options.features, apart)
        mixture = as_sklearn(law)

        def loop(iterations: int) -> float:
            return paper_loop(mixture, layer, logits, labels, iterations, options.batch)  # noqa: B023

        def ours(iterations: int) -> float:
            rule = Stopping("samples", max_samples=iterations * options.batch, batch=options.batch)
            return sample_lambda(law, layer, cal, rule, step=0.01, empty="zero").summary.value  # noqa: B023

        values: list[float] = []
        (slow,) = medians(
            lambda: values.append(loop(options.iterations)),  # noqa: B023
            runs=options.loop_runs,
            warm=False,
        )
        (fast,) = medians(lambda: values.append(ours(options.iterations)), runs=options.runs)  # noqa: B023
        for way, work, seconds, value in (
            ("loop", loop, slow, values[0]),
            ("infimum", ours, fast, values[-1]),
        ):
            memory = [extra_memory(lambda work=work, i=i: work(i)) for i in (few, options.iterations)]
            cells = (f"{value:.4f}", f"{seconds:.2f} s", f"{slow / seconds:.0f}")
            rows.append((f"{name}, {way}", *cells, *(f"{m:.0f} MiB" for m in memory)))
    print_table(
        (
            "network, way",
            "λ, δ = 0.01",
            "median",
            "times faster",
            f"memory, {few} iterations",
            f"memory, {options.iterations}",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
