"""Success levels on the paper's grid of 99 error levels, by other packages and by infimum.

    python benchmarks/peers.py --peers torchcp mapie puncc [--rows 20000] [--runs 5]

Installs each package into a throwaway virtual environment of its own, so it needs a package index; never run by CI.
Their prediction sets at every level give the success level: the first with one label. torchcp runs on the torch of
the Python that runs this. "Sets that differ": share of (input, level) pairs whose set is not that of infimum.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
from timing import machine, medians, print_table

from infimum.conformal import APS, LAC, Calibration, calibrate

ERRORS = np.arange(1, 100) / 100
PACKAGES = {"torchcp": ["--no-deps", "torchcp"], "mapie": ["mapie"], "puncc": ["puncc"]}


def environment(peer: str, folder: Path) -> Path:
    """A virtual environment with the package; the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[peer]],
        check=True,
        capture_output=True,
    )
    if peer == "torchcp":
        place = next((folder / "lib").glob("python*")) / "site-packages" / "torch_of_the_parent.pth"
        place.write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return python


def version_of(python: Path, peer: str) -> str:
    """As its environment says."""
    code = f"from importlib.metadata import version; print(version({peer!r}))"
    return subprocess.run(
        [str(python), "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def our_sets(cal: Calibration, logits: np.ndarray) -> np.ndarray:
    """C_ε at each level, from one table of counts."""
    counts = cal.p_value_counts(logits)
    allowed = [(cal.n + 1) * k // 100 for k in range(1, 100)]
    return np.stack([counts > most for most in allowed])


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", nargs="+", choices=list(PACKAGES), required=True)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(machine() + "\n")
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(options.rows, 10)) * 3
    cal_logits = rng.normal(size=(1000, 10)) * 3
    labels = (cal_logits + rng.gumbel(size=cal_logits.shape)).argmax(axis=1)
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "in.npz", logits=logits, cal=cal_logits, labels=labels, errors=ERRORS)
        for peer in options.peers:
            try:
                python = environment(peer, folder / peer)
            except subprocess.CalledProcessError:
                rows.append((peer, "", "could not be installed", "", "", ""))
                continue
            for score in (LAC(), APS()):
                cal = calibrate(cal_logits, labels, score=score, randomize=False)
                (ours,) = medians(lambda cal=cal: cal.success_levels(logits, step=0.01), runs=options.runs)
                out = folder / f"{peer}.npz"
                command = [str(Path(__file__).with_name("peer_sets.py")), peer, score.name]
                subprocess.run([str(python), *command, str(folder / "in.npz"), str(out)], check=True)
                with np.load(out) as npz:
                    seconds = float(npz["seconds"])
                    shape = (len(ERRORS), *logits.shape)
                    sets = np.unpackbits(npz["sets"], count=int(np.prod(shape))).reshape(shape).astype(bool)
                differ = (sets != our_sets(cal, logits)).any(axis=2).mean()
                rows.append(
                    (
                        f"{peer} {version_of(python, peer)}",
                        score.name,
                        f"{seconds:.2f} s",
                        f"{ours * 1000:.2f} ms",
                        f"{seconds / ours:,.0f}",
                        "none" if differ == 0 else f"{differ:.3%}",
                    )
                )
    print_table(("package", "score", "their 99 levels", "infimum", "times faster", "sets that differ"), rows)


if __name__ == "__main__":
    main()
