"""`infimum certify` and `infimum plan` as a user meets them: select → label → certify, exit codes, one-line errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from command_line import infimum as infimum_outside
from conftest_types import Toy

from infimum import Outputs
from infimum.certification._certificate import Certificate
from infimum.certification._planning import Plan


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certify")
    rng = np.random.default_rng(0)
    for name, n in (("cal", 200), ("lab", 150), ("ops", 800)):
        outputs = toy.outputs(n, rng)
        Outputs(outputs.logits, outputs.labels, ids=np.array([f"{name}{i}" for i in range(n)])).save(
            folder / f"{name}.npz"
        )
    ops = Outputs.load(folder / "ops.npz")
    Outputs(ops.logits, ids=ops.ids).save(folder / "plain.npz")
    np.savez(folder / "right.npz", correct=np.ones(100, dtype=bool), ids=np.arange(100))
    np.savez(folder / "wrong.npz", correct=np.zeros(100, dtype=bool), ids=np.arange(100) + 100)
    np.savez(folder / "none.npz", correct=np.ones(0))
    np.savez(folder / "twice.npz", correct=np.array([1, 0]), ids=np.array([1, 1]))
    np.savez(folder / "noids.npz", correct=np.ones(5))
    return folder


@pytest.mark.parametrize(
    ("file", "target", "code"), [("right", 0.9, 0), ("right", 0.99, 1), ("wrong", 0.5, 1)]
)
def test_exit_codes(here: Path, file: str, target: float, code: int) -> None:
    done = infimum_outside("certify", "--labels", f"{file}.npz", "--target", target, cwd=here)
    assert done.returncode == code, done.stderr
    assert f"Target {target}: {'met' if code == 0 else 'NOT met'}." in done.stdout


def test_everything_at_once(infimum: Run, here: Path) -> None:
    command = (
        "certify",
        "--labels",
        "lab.npz",
        "--target",
        0.6,
        "--confidence",
        0.9,
        "--operation",
        "plain.npz",
    )
    done = infimum(
        *command, "--calibration", "cal.npz", "--per-class", "--json", "-", "--method", "auto", cwd=here
    )
    assert done.returncode in (0, 1), done.stderr
    made = Certificate.from_dict(json.loads(done.stdout))
    assert done.returncode == (0 if made.target.met else 1)
    assert {b.confidence for b in (*made.bounds, *made.per_class)} == {0.9}
    done = infimum(*command, "--json", "out.json", "--quiet", cwd=here)
    assert done.stdout == ""
    assert (
        Certificate.from_dict(json.loads((here / "out.json").read_text())).judge.method == "clopper_pearson"
    )
    (here / "profile.txt").write_text("0.4 0.2\n0.2 0.2\n")
    one, other = (
        infimum(*command[:7], "--profile", profile, "--json", "-", cwd=here)
        for profile in ("0.4,0.2,0.2,0.2", "profile.txt")
    )
    assert one.stdout == other.stdout != ""


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_select_label_certify(infimum: Run, here: Path, ending: str) -> None:
    out = f"to_label.{ending}"
    base = ("--operation", "plain.npz", "--calibration", "cal.npz")
    done = infimum("plan", "--select", 120, "--out", out, *base, "--seed", 4, cwd=here)
    assert done.returncode == 0, done.stderr
    assert "120 of 800 inputs" in done.stdout
    ops = Outputs.load(here / "ops.npz")
    if ending == "npz":
        with np.load(here / out) as npz:
            columns = dict(npz)
        assert (columns["id"] == ops.ids[columns["row"]]).all()
        np.savez(here / "filled.npz", **columns, label=ops.labels[columns["row"]])
    else:
        with (here / out).open(newline="") as file:
            rows = list(csv.DictReader(file))
        done = infimum("certify", "--labels", out, "--target", 0.5, cwd=here)
        assert (done.returncode, "has no labels" in done.stderr) == (2, True)
        for row in rows[:100]:
            row["label"] = str(ops.labels[int(row["row"])])
        with (here / "filled.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
    done = infimum("certify", "--labels", f"filled.{ending}", "--target", 0.5, "--json", "-", cwd=here)
    assert done.returncode == 0, done.stderr
    made = Certificate.from_dict(json.loads(done.stdout))
    assert made.judge.method == "stratified_chernoff"
    assert made.n == (120 if ending == "npz" else 100)
    assert 0.5 < made.judge.value < ops.accuracy


@pytest.mark.parametrize("column", ["label", "correct"])
def test_a_filled_table_is_not_lost(infimum: Run, here: Path, tmp_path: Path, column: str) -> None:
    out = tmp_path / "to_label.csv"
    command = ("plan", "--select", 1, "--out", out, "--operation", "plain.npz", "--calibration", "cal.npz")
    for _ in range(2):  # an empty one may be drawn anew
        assert "from 1 stratum (1)" in infimum(*command, cwd=here).stdout
    lines = out.read_text().splitlines()
    lines[0] = lines[0].removesuffix("label") + column
    lines[1] += "1"
    out.write_text("\n".join(lines))
    done = infimum(*command, cwd=here)
    assert (done.returncode, f"holds 1 labels in its column '{column}'" in done.stderr) == (2, True), done
    assert out.read_text() == "\n".join(lines)
    out.write_text("a,b\n1,2\n")
    done = infimum(*command, cwd=here)
    assert (done.returncode, "is no selection" in done.stderr) == (2, True), done
    assert out.read_text() == "a,b\n1,2\n"


def test_sequential(infimum: Run, here: Path) -> None:
    base = ("certify", "--target", 0.9, "--sequential", "state.json", "--labels")
    first = infimum(*base, "right.npz", cwd=here)
    assert (first.returncode, first.stderr) == (0, "")
    assert "anytime-valid" in first.stdout
    before = (here / "state.json").read_bytes()
    again = infimum(*base, "right.npz", cwd=here)
    assert again.returncode == 2
    assert "in the state already" in again.stderr
    other = infimum(
        "certify", "--labels", "wrong.npz", "--target", 0.8, "--sequential", "state.json", cwd=here
    )
    assert (other.returncode, "begun with target" in other.stderr) == (2, True)
    assert (here / "state.json").read_bytes() == before
    after = infimum(*base, "wrong.npz", "--json", "-", cwd=here)
    assert after.returncode == 0  # once reached, the bound stays
    assert json.loads(after.stdout)["n"] == 200


def test_plan(infimum: Run, here: Path) -> None:
    done = infimum("plan", "--target", 0.95, "--expected", 0.99, "--out", "plan", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "124 (124)" in done.stdout
    made = Plan.from_dict(json.loads((here / "plan" / "plan.json").read_text()))
    assert (here / "plan" / "plan.svg").read_text().startswith("<svg")
    done = infimum("plan", "--target", 0.95, "--expected", 0.99, "--json", "-", cwd=here)
    assert Plan.from_dict(json.loads(done.stdout)) == made


CERTIFY = ("certify", "--target", "0.9", "--labels")
SELECT = ("plan", "--operation", "plain.npz", "--calibration", "cal.npz", "--select")
BAD = [
    ((*CERTIFY, "no.npz"), "does not exist"),
    (("certify", "--labels", "right.npz", "--target", "1"), "target"),
    (("certify", "--labels", "right.npz", "--target", "-0.5"), "target"),
    ((*CERTIFY, "right.npz", "--confidence", "1.0"), "confidence"),
    ((*CERTIFY, "none.npz"), "none.npz has no labels"),
    ((*CERTIFY, "plain.npz"), "no 'labels'"),
    ((*CERTIFY, "twice.npz"), "rows 0 and 1 have one id, '1', and two labels"),
    ((*CERTIFY, "lab.npz", "--calibration", "lab.npz"), "150 rows of lab.npz are calibration rows too"),
    ((*CERTIFY, "right.npz", "--method", "prediction_powered"), "cannot judge"),
    ((*CERTIFY, "right.npz", "--method", "x"), "method must be one of"),
    ((*CERTIFY, "right.npz", "--profile", "a,b"), "--profile"),
    ((*CERTIFY, "right.npz", "--json", "right.npz"), "is an input too"),
    ((*CERTIFY, "right.npz", "--sequential", "right.npz"), "is an input too"),
    ((*CERTIFY, "right.npz", "--sequential", "lab.npz"), "is not JSON"),
    ((*CERTIFY, "noids.npz", "--sequential", "s.json"), "no 'ids'"),
    ((*CERTIFY, "lab.npz", "--sequential", "s.json", "--method", "auto"), "--method does not go with"),
    (("plan",), "--target is needed"),
    (("plan", "--target", "0.9"), "expected is needed"),
    (("plan", "--target", "0.9", "--expected", "0.8"), "must be above target"),
    ((*SELECT, "10"), "--select needs"),
    ((*SELECT, "900", "--out", "x.csv"), "N must be a whole number from 1 to 800"),
    ((*SELECT, "10", "--out", "x.txt"), ".csv or .npz"),
    ((*SELECT, "10", "--out", "cal.npz"), "is an input too"),
    ((*SELECT, "10", "--out", "x.csv", "--target", "0.9"), "without it"),
]


@pytest.mark.parametrize(("command", "message"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input_is_one_line_and_exit_code_2(
    infimum: Run, here: Path, command: tuple[str, ...], message: str
) -> None:
    before = sorted(p.name for p in here.rglob("*"))
    done = infimum(*command, cwd=here)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("infimum: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(p.name for p in here.rglob("*")) == before
