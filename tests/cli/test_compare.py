"""`infimum compare`: from outputs, from assessments, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from conftest_types import Toy

from infimum import Comparison, Outputs, assess
from infimum.io.content import sealed


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    for kind, n in (("ops", 600), ("cal", 200)):
        own = toy.outputs(n, rng)
        own.save(folder / f"{kind}-a.npz")
        Outputs(own.logits + 4 * rng.normal(size=own.logits.shape), own.labels).save(folder / f"{kind}-b.npz")
    toy.outputs(600, rng).save(folder / "other.npz")
    for name, operation in (("a", "ops-a"), ("b", "ops-b"), ("other", "other")):
        calibration = "cal-a" if name == "a" else "cal-b"
        files = (Outputs.load(folder / f"{file}.npz") for file in (calibration, operation))
        assess(*files, name=name).save(folder / name)
    return folder


OPERATION = ("--operation", "ops-a.npz", "--operation", "ops-b.npz")
CALIBRATION = ("--calibration", "cal-a.npz", "--calibration", "cal-b.npz")


def test_input_by_input(here: Path, infimum: Run) -> None:
    names = ("--name", "good", "--name", "bad")
    done = infimum("compare", *OPERATION, *CALIBRATION, *names, "--out", "both", cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("good is the most accurate of the 2 networks, with 95 % confidence.")
    files = ["comparison.html", "comparison.json", "comparison.md"]
    assert sorted(p.name for p in (here / "both").iterdir()) == files
    c = Comparison.load(here / "both")
    assert [n.name for n in c.networks] == ["good", "bad"]
    assert c.paired
    alone = infimum("compare", *OPERATION, "--score", "lac", "--json", "-", cwd=here)
    assert [n["lambda_"] for n in json.loads(alone.stdout)["networks"]] == [None, None]


def test_assessments_alone(here: Path, infimum: Run) -> None:
    done = infimum("compare", "a/assessment.json", "b", "--quiet", "--json", "c.json", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    c = Comparison.load(here / "c.json")
    assert [n.name for n in c.networks] == ["a", "b"]
    assert not c.paired


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("a", "other"), "not run on the same inputs"),
        (("a",), "1 network to compare"),
        (("a", "a"), "two networks are named 'a'"),
        (("a", "b", *OPERATION), "not both"),
        ((), "nothing to compare"),
        (CALIBRATION, "nothing to compare"),
        ((*OPERATION, "--calibration", "cal-a.npz"), "1 calibrations for 2"),
        (("a", "nowhere"), "nowhere does not exist"),
        (("a", "cal-a.npz"), "is not JSON"),
        (("a", "b", "--out", "cal-a.npz"), "is a file"),
        ((*OPERATION, "--json", "ops-a.npz"), "is an input too"),
        ((*OPERATION, *CALIBRATION, "--score", "raps:k_reg=auto"), "k_reg must be a number"),
    ],
)
def test_refused(here: Path, command: tuple[str, ...], message: str, infimum: Run) -> None:
    done = infimum("compare", *command, cwd=here)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_labels_that_only_one_has_are_not_called_different(here: Path, infimum: Run) -> None:
    d = json.loads((here / "b" / "assessment.json").read_text())
    del d["provenance"]["inputs"]["operation"]["labels"]
    (here / "b.json").write_text(json.dumps(sealed(d)))
    done = infimum("compare", "a", "b.json", cwd=here)
    assert done.returncode == 2
    assert "operation: only network 1 of networks 1 and 2 has labels" in done.stderr


def test_different_inputs_may_be_allowed(here: Path, infimum: Run) -> None:
    done = infimum("compare", "a", "other", "--allow-different-inputs", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "warning: the inputs differ" in done.stdout
