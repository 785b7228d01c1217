"""Success levels against one numpy softmax of the same array, and against loops over 99 error levels.

    python benchmarks/success_levels.py [--rows 1000000] [--wide-rows 50000] [--runs 5] [--loop-runs 1]

float32 logits, exact levels, RAPS randomised, input validated. Extra memory is the peak of what is allocated, less the
levels that are returned. The loops are on the ten-class array and leave resolved inputs out at each level:
"scores once" compares p-values computed once, "rescores" ranks and scores the open rows anew at every level.
"""

from __future__ import annotations

import argparse

import numpy as np
from paper_loop import levels_by_rescoring
from timing import extra_memory, machine, medians, print_table

from infimum.conformal import RAPS, Calibration, calibrate


def softmax(z: np.ndarray) -> np.ndarray:
    """One numpy softmax."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def levels_by_scoring_once(cal: Calibration, z: np.ndarray) -> np.ndarray:
    """The error levels walked one by one on p-values computed once."""
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000, help="with 10 classes")
    parser.add_argument("--wide-rows", type=int, default=50_000, help="with 1,000 classes")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--loop-runs", type=int, default=1)
    options = parser.parse_args()
    print(machine() + "\n")
    rng = np.random.default_rng(0)
    table = []
    for n, n_classes in ((options.rows, 10), (options.wide_rows, 1000)):
        z = (rng.normal(size=(n, n_classes)) * 3).astype(np.float32)
        labels = (z[:1000] + rng.gumbel(size=(1000, n_classes))).argmax(axis=1)
        cal = calibrate(z[:1000], labels, score=RAPS())
        base, ours = medians(
            lambda z=z: softmax(z), lambda z=z, cal=cal: cal.success_levels(z), runs=options.runs
        )
        shape = f"{n:,} × {n_classes:,}"
        table.append((shape, "numpy softmax", f"{base:.3f} s", "1", f"{base / ours:.1f}", ""))
        memory = extra_memory(lambda z=z, cal=cal: cal.success_levels(z)) - n * 8 / 2**20
        table.append(
            (shape, "success levels", f"{ours:.3f} s", f"{ours / base:.2f}", "1", f"{memory:.0f} MiB")
        )
        if n_classes > 10:
            continue
        (once,) = medians(lambda: levels_by_scoring_once(cal, z), runs=options.loop_runs, warm=False)  # noqa: B023
        (anew,) = medians(
            lambda: levels_by_rescoring(z, z[:1000], labels, cal.score, seed=0),  # noqa: B023
            runs=options.loop_runs,
            warm=False,
        )
        for name, seconds in (("loop, scores once", once), ("loop, rescores", anew)):
            table.append(
                (shape, name, f"{seconds:.2f} s", f"{seconds / base:.0f}", f"{seconds / ours:.0f}", "")
            )
    print_table(("logits", "work", "median", "times softmax", "times success levels", "extra memory"), table)


if __name__ == "__main__":
    main()
