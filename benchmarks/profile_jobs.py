"""Where the time of the three main jobs goes: the functions with the largest own time, by cProfile.

    python benchmarks/profile_jobs.py [--rows 200000] [--samples 1000000] [--top 6]

Assess from arrays (test of exchangeability and diagnostics included), assess with a mixture and sampling, and `score`
from an npz file to a CSV file. The profiler slows Python code down and leaves work in numpy as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import pstats
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sampling_data import features, head
from timing import machine, print_table

from infimum import Outputs, assess
from infimum.cli.app import app


def top_functions(work: Callable[[], object], top: int) -> tuple[float, list[tuple[str, float]]]:
    """Total seconds, and the functions of the largest own time."""
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        profile.runcall(work)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in stats.values())
    largest = sorted(stats.items(), key=lambda item: -item[1][2])[:top]
    return total, [(_name(*where), entry[2]) for where, entry in largest]


def _name(path: str, line: int, function: str) -> str:
    if path == "~":
        return function.strip("<>").replace("method ", "").replace("built-in ", "")
    parts = Path(path).with_suffix("").parts
    return f"{'.'.join(parts[-2:])}.{function}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--top", type=int, default=6)
    options = parser.parse_args()
    print(machine() + "\n")
    layer = head(128)
    x, labels = features(2000, 128, seed=3)
    cal = Outputs(layer.logits(x), labels)
    few, _ = features(5000, 128, seed=2)
    many, many_labels = features(options.rows, 128, seed=4)
    logits = layer.logits(many).astype(np.float32)
    rule = f"samples:max_samples={options.samples}"
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cal.save(folder / "cal.npz")
        Outputs(logits, many_labels).save(folder / "ops.npz")
        files = (
            "--calibration",
            folder / "cal.npz",
            "--input",
            folder / "ops.npz",
            "--out",
            folder / "levels.csv",
        )
        jobs: dict[str, Callable[[], object]] = {
            f"assess, {options.rows:,} × 10 logits": lambda: assess(cal, Outputs(logits, many_labels)),
            f"assess, 5,000 × 128 features, mixture, {options.samples:,} samples": lambda: assess(
                cal,
                Outputs(layer.logits(few), features=few),
                head=layer,
                manifold="gmm",
                sampling=rule,
            ),
            f"score, {options.rows:,} rows to CSV": lambda: app(
                ["score", *map(str, files)], standalone_mode=False
            ),
        }
        for job, work in jobs.items():
            top_functions(work, options.top)  # the first run imports
            total, largest = top_functions(work, options.top)
            for i, (function, seconds) in enumerate(largest):
                rows.append(
                    (
                        job if i == 0 else "",
                        f"{total:.2f} s" if i == 0 else "",
                        f"`{function}`",
                        f"{seconds / total:.0%}",
                    )
                )
    print_table(("job", "total", "function", "own time"), rows)


if __name__ == "__main__":
    main()
