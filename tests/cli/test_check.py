"""`infimum check` and `assess --junit`: gates, exit codes, and a check file that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command_line import Run
from conftest_types import Toy

from infimum import Assessment, assess

BASIC = """
out = "results"
junit = "results/junit.xml"

[method]
score = "lac"
seed = 3

[[network]]
name = "toy"
calibration = "cal.npz"
operation = "ops.npz"
target = 0.5
"""


@pytest.fixture
def here(toy: Toy, tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    toy.outputs(300, rng).save(tmp_path / "cal.npz")
    toy.outputs(500, rng).save(tmp_path / "ops.npz")
    toy.head.save(tmp_path / "head.npz")
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "infimum.toml").write_text(text, encoding="utf-8")


def cases(path: Path) -> dict[str, list[str]]:
    root = ElementTree.parse(path).getroot()  # noqa: S314
    return {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}


def test_passes_without_flags(here: Path, infimum: Run) -> None:
    write(here, BASIC)
    done = infimum("check", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "passed  target: at least" in done.stdout
    assert done.stdout.endswith("all gates passed\n")
    a = Assessment.load(here / "results" / "toy")
    assert a.calibration.score == {"name": "lac"}
    assert (a.calibration.seed, a.network) == (3, "toy")
    assert cases(here / "results" / "junit.xml") == {"target": []}


def test_inputs_that_are_not_alike(here: Path, infimum: Run) -> None:
    with np.load(here / "ops.npz") as arrays:
        shifted = {**arrays, "logits": arrays["logits"] * 0.5}
    np.savez(here / "ops.npz", **shifted)
    write(here, BASIC)
    done = infimum("check", cwd=here)
    assert done.returncode == 0
    assert "alike, which a test REJECTS" in done.stdout
    write(here, BASIC + 'alike = "require"\n')
    done = infimum("check", cwd=here)
    assert done.returncode == 1
    assert "FAILED  alike: Calibration against operation: NOT alike" in done.stdout
    assert done.stdout.endswith("1 of 2 gates failed\n")
    assert cases(here / "results" / "junit.xml") == {"target": [], "alike": ["failure"]}
    summary = (here / "results" / "summary.md").read_text(encoding="utf-8")
    assert "| toy | alike | FAILED |" in summary
    command = ("assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--target", 0.5, "-q")
    assert infimum(*command, "--junit", "r.xml", cwd=here).returncode == 0
    assert cases(here / "r.xml") == {"target": []}
    assert infimum(*command, "--junit", "r.xml", "--alike", "require", cwd=here).returncode == 1
    assert cases(here / "r.xml") == {"target": [], "alike": ["failure"]}
    assert infimum(*command, "--junit", "r.xml", "--alike", "skip", cwd=here).returncode == 0
    assert cases(here / "r.xml") == {"target": []}


def test_the_bound_that_judges_is_named_in_the_file(here: Path, infimum: Run) -> None:
    write(here, BASIC.replace('score = "lac"', 'method = "prediction_powered_betting"'))
    done = infimum("check", cwd=here)
    assert done.returncode == 0, done.stderr
    assert Assessment.load(here / "results" / "toy").target.by == "prediction_powered_betting"
    command = ("assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--target", 0.999, "-q")
    done = infimum(*command, "--method", "prediction_powered", "--junit", "r.xml", cwd=here)
    assert done.returncode == 1, done.stderr
    assert cases(here / "r.xml") == {"target": ["failure"]}


def test_paths_are_relative_to_the_file(
    here: Path, tmp_path_factory: pytest.TempPathFactory, infimum: Run
) -> None:
    write(here, BASIC)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = infimum("check", here / "infimum.toml", "--quiet", cwd=elsewhere)
    assert (done.returncode, done.stdout) == (0, "")
    assert (here / "results" / "toy" / "report.md").exists()
    assert list(elsewhere.iterdir()) == []


def test_a_missed_target_and_a_fallen_bound(here: Path, infimum: Run) -> None:
    write(here, BASIC)
    assert infimum("check", "-q", cwd=here).returncode == 0
    (here / "results" / "toy").rename(here / "released")
    failing = BASIC.replace("target = 0.5", 'target = 0.999\nbaseline = "released"\ntolerance = 0.0')
    write(here, failing)
    done = infimum("check", cwd=here)
    assert done.returncode == 1
    assert "FAILED  target: " in done.stdout
    assert "passed  baseline: " in done.stdout
    assert done.stdout.endswith("1 of 2 gates failed\n")
    assert cases(here / "results" / "junit.xml") == {"target": ["failure"], "baseline": []}
    with np.load(here / "cal.npz") as arrays:
        half = {name: array[:150] for name, array in arrays.items()}
    np.savez(here / "cal.npz", **half)
    done = infimum("check", cwd=here)
    assert "FAILED  baseline: " in done.stdout
    assert "does not show that the network is worse" in done.stdout


def test_every_option_of_the_method(here: Path, infimum: Run) -> None:
    method = """
method = "clopper_pearson"
identity = "ids"
score = "raps:penalty=0.02,k_reg=2"
levels = "temperature=fit,randomize=no,step=0.01,empty=zero"
manifold = "gmm:components=4,covariance=diag"
sampling = "samples:draw=sobol,max_samples=2000,batch=1000,seed=2"
seed = 1
"""
    text = BASIC.replace('score = "lac"\nseed = 3\n', method)
    text = text.replace("target", 'tuning = "cal.npz"\nhead = "head.npz"\nmanifold_data = "ops.npz"\ntarget')
    write(here, text)
    done = infimum("check", cwd=here)
    assert done.returncode == 0, done.stderr
    a = Assessment.load(here / "results" / "toy")
    assert a.calibration.score == {"name": "raps", "penalty": 0.02, "k_reg": 2}
    assert (a.lambda_.n, a.lambda_.stopping["rule"], a.step, a.empty) == (2000, "samples", "0.01", "zero")
    assert a.manifold["covariance"] == "diag"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("target = 0.5", "taget = 0.5", "network 1: unknown key 'taget'; did you mean 'target'?"),
        ("score =", "scores =", "[method]: unknown key 'scores'; did you mean 'score'?"),
        ("[method]", "[methods]", "unknown key 'methods'; did you mean 'method'?"),
        ("[[network]]", "[network]", "names no network"),
        ("target = 0.5", "target = '0.5'", "target must be a number, not '0.5'"),
        ("target = 0.5", "target = true", "target must be a number, not True"),
        ("target = 0.5", "target = 0.5\nalike = 1", "alike must be text, not 1"),
        ("target = 0.5", "target = 0.5\nalike = 'skip'", "alike must be test or require, not 'skip'"),
        ('name = "toy"', 'name = "summary.md"', "not summary.md"),
        ("target = 0.5", "target = 1.5", "target must be strictly between 0 and 1"),
        ("target = 0.5", "target = nan", "target must be"),
        ("target = 0.5", "confidence = 0.9", "neither target nor baseline"),
        ("target = 0.5", 'baseline = "x"', "baseline and tolerance go together"),
        ("target = 0.5", 'baseline = "nowhere"\ntolerance = 0.1', "nowhere does not exist\n"),
        (
            "target = 0.5",
            'baseline = "results/toy"\ntolerance = 0.1',
            "lies where its new assessment is written",
        ),
        ('name = "toy"', 'name = "../toy"', "usable as a folder's"),
        ('name = "toy"', 'name = ".."', "usable as a folder's"),
        ('name = "toy"', 'name = ""', "usable as a folder's"),
        ('name = "toy"', "", "network 1 has no name"),
        ('"cal.npz"', '"none.npz"', "none.npz does not exist"),
        ('out = "results"', 'out = "../results"', "out must lie inside the folder"),
        ('junit = "results/', 'junit = "/elsewhere/', "junit must lie inside the folder"),
        ('score = "lac"', 'score = "thr"', "score must be one of lac, aps"),
        ('score = "lac"', "components = 3", "[method]: unknown key 'components'"),
        (
            'score = "lac"',
            'manifold = "gmm:components=1.5"',
            "[method]: manifold gmm: components must be none or a whole number, not '1.5'",
        ),
        ('score = "lac"', 'sampling = "never"', "sampling must be one of se, difference, samples, time"),
        ('score = "lac"', 'levels = "step=2"', "levels 'step=2': step must"),
        ('score = "lac"', 'method = "best"', "method must be one of clopper_pearson"),
        ("[method]", "[method", "is not TOML"),
        ("seed = 3", "seed = -3", "seed"),
        ("seed = 3", "seed = 1" + "0" * 400, "seed must lie between -2^63 and 2^63 - 1"),
        ("seed = 3", "seed = 0x" + "f" * 9000, "a number of 36000 bits"),
        ("seed = 3", "seed = 1" + "0" * 9000, "is not TOML"),
        ("seed = 3", "a" + ".a" * 100_000 + " = 1", "has more than 50 dots"),
        ("seed = 3", "x = " + "[" * 90 + "]" * 90, "unknown key 'x'"),
        ('"cal.npz"', '"cal\\u0000.npz"', "calibration holds a NUL character"),
        ('out = "results"', 'out = "a\\u0000"', "out holds a NUL character"),
        ('"cal.npz"', '"/dev/zero"', "/dev/zero is a pipe, socket or device"),
    ],
)
def test_a_wrong_check_file_is_one_line_and_exit_code_2(
    here: Path, old: str, new: str, message: str, infimum: Run
) -> None:
    assert old in BASIC
    write(here, BASIC.replace(old, new))
    done = infimum("check", cwd=here)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_two_networks(here: Path, infimum: Run) -> None:
    second = BASIC[BASIC.index("[[network]]") :]
    write(here, BASIC + second)
    assert "two networks are named 'toy'" in infimum("check", cwd=here).stderr
    write(here, BASIC + second.replace('"toy"', '"other"').replace("0.5", "0.9999"))
    done = infimum("check", cwd=here)
    assert done.returncode == 1
    root = ElementTree.parse(here / "results" / "junit.xml").getroot()  # noqa: S314
    assert [(s.get("name"), s.get("failures")) for s in root] == [("toy", "0"), ("other", "1")]


def test_ctrl_c_leaves_the_other_networks(here: Path, infimum: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    second = BASIC[BASIC.index("[[network]]") :].replace('"toy"', '"other"')
    write(here, BASIC + second)
    names = []

    def stopped(*arguments: object, **options: object) -> Assessment:
        names.append(options["name"])
        return replace(assess(*arguments, **options), interrupted=True)

    monkeypatch.setattr("infimum.assess", stopped, raising=False)
    done = infimum("check", cwd=here)
    assert (done.returncode, names) == (130, ["toy"])
    assert done.stderr == "interrupted: 1 of 2 networks were assessed\n"
    assert cases(here / "results" / "junit.xml") == {"target": []}


def test_a_folder_in_place_of_the_check_file(here: Path, infimum: Run) -> None:
    done = infimum("check", ".", cwd=here)
    assert done.returncode == 2
    assert "name the TOML file in it, as infimum.toml" in done.stderr


def test_no_check_file(tmp_path: Path, infimum: Run) -> None:
    done = infimum("check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "infimum: infimum.toml does not exist\n")


@pytest.mark.parametrize(("target", "tags"), [(0.5, []), (0.9999, ["failure"]), (None, ["skipped"])])
def test_assess_writes_junit(here: Path, target: float | None, tags: list[str], infimum: Run) -> None:
    command = ["assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--junit", "r.xml"]
    done = infimum(*command, *(() if target is None else ("--target", target)), "--quiet", cwd=here)
    assert done.returncode == (1 if tags == ["failure"] else 0)
    assert cases(here / "r.xml") == {"target": tags}
    done = infimum(*command[:-1], "cal.npz", cwd=here)
    assert done.returncode == 2
    assert "is an input too" in done.stderr
