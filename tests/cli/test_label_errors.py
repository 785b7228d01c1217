"""--label-errors of assess and certify, and label_errors of infimum.toml: the target is judged by the lowered bound."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run

from infimum import Outputs
from infimum.bounds import clopper_pearson


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    logits = 9 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    Outputs(logits[:100], labels[:100], ids=np.arange(100)).save(folder / "cal.npz")
    Outputs(logits[100:]).save(folder / "ops.npz")
    assert Outputs.load(folder / "cal.npz").accuracy == 1
    return folder


DATA = ("--calibration", "cal.npz", "--operation", "ops.npz")
COST = {"5": clopper_pearson(np.arange(100) < 95).value, "2%": clopper_pearson(np.ones(100)).value - 0.02}


@pytest.mark.parametrize("errors", COST)
def test_assess_and_certify(here: Path, infimum: Run, errors: str) -> None:
    for command in (
        ("assess", *DATA),
        ("certify", "--labels", "cal.npz"),
        ("certify", "--labels", "cal.npz", "-q"),
    ):
        for target, code in ((0.89, 0), (0.96, 1)):
            done = infimum(
                *command, "--target", target, "--label-errors", errors, "--json", "out.json", cwd=here
            )
            assert done.returncode == code, done.stderr
            made = json.loads((here / "out.json").read_text())
            judge = (made.get("certified") or made.get("bounds"))[0]
            assert judge["value"] == pytest.approx(COST[errors])
            assert "their labels are right" not in judge["assumptions"]
    assert infimum(*("certify", "--labels", "cal.npz"), "--target", 0.96, cwd=here).returncode == 0


def test_certify_sequential(here: Path, infimum: Run, tmp_path: Path) -> None:
    command = ("certify", "--labels", here / "cal.npz", "--target", 0.9, "--sequential", "s.json")
    done = infimum(*command, "--label-errors", 5, cwd=tmp_path)
    assert done.returncode == 1
    assert "at most 5 of the 100 labels are wrong" in " ".join(done.stdout.split())


def test_check(here: Path, infimum: Run) -> None:
    text = '[[network]]\nname = "net"\ncalibration = "cal.npz"\noperation = "ops.npz"\ntarget = 0.96\n'
    for errors, code in (
        ("", 0),
        ("label_errors = 5\n", 1),
        ('label_errors = "5"\n', 1),
        ("label_errors = 0.02\n", 1),
    ):
        (here / "infimum.toml").write_text(text + errors)
        assert infimum("check", cwd=here).returncode == code
    for wrong in ("label_errors = 1.0", "label_errors = true", 'label_errors = "many"'):
        (here / "infimum.toml").write_text(text + wrong)
        done = infimum("check", cwd=here)
        assert done.returncode == 2
        assert "label_errors must be" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_what_is_neither_count_nor_rate_is_one_line(here: Path, infimum: Run) -> None:
    for errors in ("1.0", "-1", "five"):
        done = infimum("assess", *DATA, "--label-errors", errors, cwd=here)
        assert done.returncode == 2
        assert "label_errors must be how many labels are wrong at most" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_help_says_that_the_named_method_decides(here: Path, infimum: Run) -> None:
    text = " ".join(infimum("assess", "--help", cwd=here).stdout.replace("│", " ").split())
    assert "Exit 0 if the bound that --method names reaches this reliability, 1 if not." in text
    assert "--label-errors" in text
