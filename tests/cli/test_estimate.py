"""`infimum estimate` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from conftest_types import Toy

from infimum import Outputs


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("estimate")
    rng = np.random.default_rng(0)
    toy.outputs(300, rng).save(folder / "cal.npz")
    ops = toy.outputs(500, rng)
    ops.save(folder / "ops.npz")
    Outputs(ops.logits).save(folder / "plain.npz")
    return folder


def test_prints_every_estimate_and_its_error(infimum: Run, here: Path) -> None:
    done = infimum("estimate", "--calibration", "cal.npz", "--operation", "ops.npz", cwd=here)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    accuracy = Outputs.load(here / "ops.npz").accuracy
    assert any(line.startswith("λ*, accuracy") and f"{accuracy:.4f}" in line for line in lines)
    for name in ("λ, mean", "λ recalibrated", "calibrated", "average", "difference", "ATC, max", "ATC, neg"):
        (line,) = (line for line in lines if line.startswith(name))
        value, error = float(line.split("±")[0].split()[-1]), float(line.split()[-1])
        assert error == pytest.approx(value - accuracy, abs=1e-4)
    assert "none is a guarantee" in done.stdout
    assert "no difference found" in done.stdout


def test_json_without_labels(infimum: Run, here: Path) -> None:
    base = ("--calibration", "cal.npz", "--operation", "plain.npz")
    done = infimum("estimate", *base, "--json", "-", cwd=here)
    d = json.loads(done.stdout)
    assert d["accuracy"] is None
    assert len(d["estimates"]) == 7
    assert "error" not in infimum("estimate", *base, cwd=here).stdout.splitlines()[0]
    done = infimum("estimate", *base, "--json", "out.json", "--quiet", cwd=here)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((here / "out.json").read_text()) == d


def test_bad_input_is_one_line(infimum: Run, here: Path) -> None:
    done = infimum("estimate", "--calibration", "plain.npz", "--operation", "ops.npz", cwd=here)
    assert done.returncode == 2
    assert done.stderr.startswith("infimum: plain.npz has no 'labels'")
    assert len(done.stderr.splitlines()) == 1
    done = infimum(
        "estimate", "--calibration", "cal.npz", "--operation", "ops.npz", "--json", "cal.npz", cwd=here
    )
    assert (done.returncode, "is an input too" in done.stderr) == (2, True)
