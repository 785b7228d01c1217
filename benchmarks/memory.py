"""Peak memory of assess, calibrate and score beside the size of their input, with very many classes.

    python benchmarks/memory.py [CLASSES [ROWS]]

Half of the rows are the calibration, half the operation; float32 in npz. The peak is the process's largest resident
set, what Python and its packages take left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUN = """
import sys
import infimum.assessment._assess, scipy.optimize, scipy.stats, sklearn.isotonic
from infimum.cli.main import run

def highest():  # of this process alone: what getrusage says begins with the parent's
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1])

before = highest()
try:
    run()
except SystemExit as end:
    if end.code:
        raise
print(before, highest(), file=sys.stderr)
"""


def peak(*arguments: object) -> float:
    """Bytes that a command takes at most, beyond those of its imports."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    before, after = (int(word) for word in done.stderr.splitlines()[-1].split())
    return 1024.0 * (after - before)  # in KiB, on Linux


def made(folder: Path, n_classes: int, rows: int) -> tuple[Path, Path, int]:
    """Calibration and operation files, and the bytes of their logits."""
    rng = np.random.default_rng(0)
    paths = (folder / "cal.npz", folder / "ops.npz")
    for path, n in zip(paths, (rows // 2, rows - rows // 2), strict=True):
        labels = rng.integers(0, n_classes, n)
        logits = rng.standard_normal((n, n_classes), dtype=np.float32)
        logits[np.arange(n), labels] += np.float32(1.5 * np.log(n_classes))
        np.savez(path, logits=logits, labels=labels)
    return (*paths, 4 * n_classes * rows)


def commands(calibration: Path, operation: Path, folder: Path) -> dict[str, tuple[object, ...]]:
    """What is measured, by name."""
    both = ("--calibration", calibration, "--operation", operation)
    tuned = ("--levels", "temperature=fit", "--score", "raps:k_reg=auto")
    return {
        "assess": ("assess", *both, "--out", folder / "out"),
        "assess, tuned": ("assess", *both, *tuned, "--out", folder / "out"),
        "calibrate": ("calibrate", "--calibration", calibration, "--out", folder / "c.json"),
        "score": (
            "score",
            "--calibration",
            calibration,
            "--input",
            operation,
            "--out",
            folder / "levels.csv",
        ),
        "estimate": ("estimate", *both),
    }


def main(n_classes: int = 100_000, rows: int = 1000) -> None:
    """Print a line for each command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calibration, operation, size = made(folder, n_classes, rows)
        print(f"{rows} rows, {n_classes} classes: {size / 2**20:.0f} MiB of logits")
        for what, command in commands(calibration, operation, folder).items():
            of = size / 2 if what == "calibrate" else size
            used = peak(*command)
            print(f"{what:<14} {used / 2**20:6.0f} MiB, {used / of:.2f} times its input")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
