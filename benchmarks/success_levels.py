"""Time of success levels against one numpy softmax of the same array, side by side in one run.

    python benchmarks/success_levels.py

float32 logits, exact levels, RAPS randomised, medians of 5; and against the loop over 99 error levels.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from infimum.conformal import RAPS, Calibration, calibrate


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    """Median of some runs after one that does not count."""
    work()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def softmax(z: np.ndarray) -> np.ndarray:
    """One numpy softmax."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loop(cal: Calibration, z: np.ndarray) -> np.ndarray:
    """The error levels walked one by one on p-values computed once; resolved inputs are left out at each level."""
    p = cal.p_values(z)
    levels = np.zeros(len(z))
    open_rows = np.arange(len(z))
    for k in range(1, 100):
        single = (p[open_rows] > k / 100).sum(axis=1) == 1
        levels[open_rows[single]] = 1 - k / 100
        open_rows = open_rows[~single]
    return levels


def main() -> None:
    """Print one table."""
    rng = np.random.default_rng(0)
    print("inputs x classes      softmax   levels   levels/softmax   loop/levels")
    for n, n_classes in ((1_000_000, 10), (50_000, 1000)):
        z = (rng.normal(size=(n, n_classes)) * 3).astype(np.float32)
        cal = calibrate(z[:1000], z[:1000].argmax(axis=1), score=RAPS())
        one, ours = seconds(lambda z=z: softmax(z)), seconds(lambda z=z, cal=cal: cal.success_levels(z))
        walked = seconds(lambda z=z, cal=cal: loop(cal, z), runs=1)
        print(
            f"{n:9,} x {n_classes:<5}   {one:8.3f} s {ours:7.3f} s   {ours / one:12.2f}   {walked / ours:11.1f}"
        )


if __name__ == "__main__":
    main()
