"""The command line as a user meets it: real processes, exit codes, files, one-line errors."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from command_line import infimum as infimum_outside
from conftest_types import Toy

from infimum import Assessment, Outputs
from infimum.conformal import Calibration, calibrate
from infimum.io.csv_files import read_csv


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    for name, n in (("cal", 300), ("tun", 100), ("ops", 700)):
        toy.outputs(n, rng).save(folder / f"{name}.npz")
    ops = Outputs.load(folder / "ops.npz")
    Outputs(ops.logits, ids=np.array([f"=id,{i}" for i in range(700)])).save(folder / "plain.npz")
    toy.head.save(folder / "head.npz")
    toy.head.save(folder / "head.safetensors")
    np.savez(folder / "feats.npz", features=toy.features(200, rng))
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / "nan.json").write_text('{"schema": NaN}')
    (folder / "part.json").write_text('{"schema": "infimum/assessment/2"}')
    return folder


BASE = ("--calibration", "cal.npz", "--operation", "ops.npz")


def test_assess_prints_and_writes(here: Path) -> None:
    done = infimum_outside("assess", *BASE, "--out", "one", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "λ is an estimate, not a guarantee" in done.stdout
    assert "Clopper–Pearson" in done.stdout
    assert Assessment.load(here / "one").network == "one"
    assert (here / "one" / "report.md").read_text().startswith("# Reliability of one")
    before = (here / "one" / "assessment.json").stat().st_ino
    again = infimum_outside("assess", *BASE, "--out", "one", "--seed", 3, cwd=here)
    assert again.returncode == 0
    assert (here / "one" / "assessment.json").stat().st_ino != before  # replaced, not written into
    assert Assessment.load(here / "one").provenance["seed"] == 3
    assert sorted(p.name for p in (here / "one").iterdir()) == ["assessment.json", "report.html", "report.md"]


def test_report_writes_both_pages_again(infimum: Run, here: Path) -> None:
    done = infimum("assess", *BASE, "--out", "again", "--quiet", cwd=here)
    assert done.returncode == 0, done.stderr
    pages = {name: (here / "again" / name).read_bytes() for name in ("report.html", "report.md")}
    assert b"infimum assess --calibration cal.npz" in pages["report.html"]  # the command, as it was given
    for name in pages:
        (here / "again" / name).unlink()
    for given in ("again", "again/assessment.json"):
        done = infimum("report", given, cwd=here)
        assert done.returncode == 0, done.stderr
        assert "again/report.html" in done.stdout
        assert {name: (here / "again" / name).read_bytes() for name in pages} == pages


@pytest.mark.parametrize(("target", "code"), [(0.5, 0), (0.9999, 1), (1.5, 2)])
def test_target_decides_the_exit_code(infimum: Run, here: Path, target: float, code: int) -> None:
    done = infimum("assess", *BASE, "--target", target, "--confidence", 0.95, cwd=here)
    assert done.returncode == code


@pytest.mark.parametrize(
    "options",
    [
        ("--score", "lac"),
        ("--score", "aps", "--levels", "randomize=no"),
        ("--score", "raps:penalty=0.1,k_reg=2"),
        ("--score", "raps:k_reg=auto"),
        ("--score", "raps:k_reg=auto", "--tuning", "tun.npz"),
        ("--score", "saps:weight=0.2", "--levels", "temperature=fit"),
        ("--score", "topk", "--levels", "temperature=1.5,step=0.01"),
        ("--score", "margin", "--tuning", "tun.npz", "--levels", "empty=zero"),
        ("--head", "head.npz", "--sampling", "samples:max_samples=3000,batch=1000"),
        ("--head", "head.safetensors", "--manifold", "gmm:covariance=diag,components=6"),
        (
            "--head",
            "head.npz",
            "--manifold",
            "gmm",
            "--manifold-data",
            "feats.npz",
            "--sampling",
            "se:tol=0.001",
        ),
        ("--head", "head.npz", "--sampling", "time:seconds=0.1", "--manifold", "kernel:bandwidth=0.3"),
        ("--head", "head.npz", "--manifold", "class-gaussians:covariance=shrunk"),
        ("--head", "head.npz", "--sampling", "se:draw=sobol,batch=1000", "--manifold", "gmm"),
        ("--head", "head.npz", "--sampling", "difference:tol=1e-4"),
        ("--head", "head.npz", "--manifold", "kernel:bandwidth=auto"),
        ("--head", "head.npz", "--manifold", "class-gaussians:covariance=spherical"),
        ("--head", "head.npz", "--manifold", "class-gaussians:covariance=lowrank:2"),
        ("--head", "head.npz", "--manifold", "neighbors"),
        ("--head", "head.npz", "--manifold", "tree"),
        ("--head", "head.npz", "--manifold", "auto"),
        ("--head", "head.npz", "--manifold", "none"),
    ],
)
def test_options(infimum: Run, here: Path, options: tuple[str, ...]) -> None:
    done = infimum("assess", *BASE, "--json", "-", *options, cwd=here)
    assert done.returncode == 0, done.stderr
    a = Assessment.from_dict(json.loads(done.stdout))  # nothing else on stdout
    assert 0 < a.lambda_.value < 1
    if "lac" in options or "margin" in options:
        assert not a.calibration.randomize
    if "--tuning" in options and "margin" in options:
        assert any("not used" in note for note in a.notes)
    if "--manifold-data" in options:
        assert a.manifold["n"] == 200


def test_quiet_and_json_file(infimum: Run, here: Path) -> None:
    done = infimum("assess", *BASE, "--quiet", "--json", "x.json", "--name", "net", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Assessment.load(here / "x.json").network == "net"


def test_a_folder_of_parts_is_sampled_from_as_one_file(infimum: Run, here: Path) -> None:
    ops = Outputs.load(here / "ops.npz")
    (here / "parts").mkdir()
    for part, rows in enumerate((slice(0, 123), slice(123, 600), slice(600, 700))):
        ops.taken(rows).save(here / "parts" / f"{part}.npz")
    options = ("--head", "head.npz", "--manifold", "kernel", "--sampling", "samples:max_samples=1000")
    found = []
    for operation in ("ops.npz", "parts"):
        base = ("--calibration", "cal.npz", "--operation", operation)
        done = infimum("assess", *base, *options, "--json", "-", cwd=here)
        assert done.returncode == 0, done.stderr
        found.append(
            {k: v for k, v in json.loads(done.stdout).items() if k not in ("provenance", "checksum")}
        )
    assert found[0]["lambda"]["source"] == "manifold"
    assert found[0] == found[1]


def test_a_bound_from_unlabelled_inputs_may_judge_a_file(infimum: Run, here: Path) -> None:
    done = infimum("assess", *BASE, "--method", "prediction_powered_betting", "--json", "-", cwd=here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["certified"][0]["method"] == "prediction_powered_betting"


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
def test_calibrate_then_score(infimum: Run, here: Path, suffix: str) -> None:
    done = infimum("calibrate", "--calibration", "cal.npz", "--out", f"c.{suffix}", "--seed", 5, cwd=here)
    assert done.returncode == 0, done.stderr
    cal = Calibration.load(here / f"c.{suffix}")
    done = infimum(
        *("score", "--calibration", f"c.{suffix}", "--input", "plain.npz", "--out", f"{suffix}.npz"),
        *("--error", "0.1"),
        cwd=here,
    )
    assert done.returncode == 0, done.stderr
    plain = Outputs.load(here / "plain.npz")
    with np.load(here / f"{suffix}.npz") as out:
        np.testing.assert_array_equal(out["success_levels"], cal.success_levels(plain.logits))
        np.testing.assert_array_equal(out["prediction_sets"], cal.prediction_sets(plain.logits, 0.1))
        np.testing.assert_array_equal(out["ids"], plain.ids)
        np.testing.assert_array_equal(out["predicted"], plain.predicted)
        ordered = np.sort(cal.p_values(plain.logits), axis=1)
        np.testing.assert_array_equal(out["p_top"], ordered[:, -1])
        np.testing.assert_array_equal(out["p_second"], ordered[:, -2])


def test_score_from_labelled_arrays_to_csv(infimum: Run, here: Path) -> None:
    command = (
        "score",
        "--calibration",
        "cal.npz",
        "--input",
        "plain.npz",
        "--out",
        "levels.csv",
        "--error",
        "0.2",
    )
    done = infimum(*command, cwd=here)
    assert done.returncode == 0, done.stderr
    with (here / "levels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    cal, plain = Outputs.load(here / "cal.npz"), Outputs.load(here / "plain.npz")
    made = calibrate(cal.logits, cal.labels)
    assert [float(r["success_levels"]) for r in rows] == made.success_levels(plain.logits).tolist()
    assert rows[5]["ids"] == "'=id,5"  # no formula in a spreadsheet
    assert read_csv(here / "levels.csv")["ids"].tolist() == plain.ids.tolist()
    sets = made.prediction_sets(plain.logits, "0.2")
    assert [r["prediction_sets"] for r in rows] == [" ".join(map(str, np.flatnonzero(s))) for s in sets]


def test_a_finished_calibration_fixes_the_score(infimum: Run, here: Path) -> None:
    infimum("calibrate", "--calibration", "cal.npz", "--out", "f.json", cwd=here)
    command = ("score", "--calibration", "f.json", "--input", "ops.npz", "--out", "x.npz", "--score", "lac")
    done = infimum(*command, cwd=here)
    assert done.returncode == 2
    assert "--score" in done.stderr


BAD = [
    (("assess", "--calibration", "no.npz", "--operation", "ops.npz"), "no.npz does not exist"),
    (("assess", "--calibration", ".", "--operation", "ops.npz"), "directory"),
    (("assess", "--calibration", "plain.npz", "--operation", "ops.npz"), "no 'labels'"),
    (("assess", "--calibration", "feats.npz", "--operation", "ops.npz"), "it holds: features"),
    (("assess", *BASE, "--manifold", "kernel"), "needs the prediction layer"),
    (("assess", *BASE, "--manifold", "auto"), "the auto manifold needs the prediction layer"),
    (("assess", *BASE, "--manifold-data", "feats.npz"), "needs the prediction layer"),
    (("assess", *BASE, "--manifold-data", "head.npz", "--head", "head.npz"), "no 'features'"),
    (("assess", *BASE, "--head", "cal.npz"), "no 'weight'"),
    (("assess", *BASE, "--levels", "step=2"), "levels 'step=2': step must be"),
    (
        ("assess", *BASE, "--score", "raps:k_reg=x"),
        "score raps: k_reg must be auto or a whole number, not 'x'",
    ),
    (
        ("assess", *BASE, "--levels", "temperature=hot"),
        "levels: temperature must be fit or none or a finite number",
    ),
    (("assess", *BASE, "--score", "raps:penalty=nan"), "penalty must be a finite number, not 'nan'"),
    (("assess", *BASE, "--sampling", "se:tol=0"), "tolerance must be a finite number above 0"),
    (("assess", *BASE, "--sampling", "se:seconds=5"), "sampling se takes no 'seconds=5'"),
    (
        ("assess", *BASE, "--score", "saps:penalty=1"),
        "its parameters, as KEY=VALUE with commas between: weight",
    ),
    (("assess", *BASE, "--confidence", "1"), "confidence"),
    (("assess", *BASE, "--out", "cal.npz/x"), "is a file"),
    (("assess", *BASE, "--out", "cal.npz"), "is a file"),
    (("score", "--calibration", "cal.npz", "--input", "ops.npz", "--out", "x.txt"), ".npz, .csv or .parquet"),
    (("score", "--calibration", "cal.npz", "--input", "ops.npz", "--out", "x.csv", "--error", "7"), "error"),
    (("calibrate", "--calibration", "cal.npz", "--out", "no/where/x.json"), "no/where"),
    (("calibrate", "--calibration", "cal.npz", "--out", "cal.npz"), "is an input too"),
    (("calibrate", "--calibration", "cal.npz", "--out", "c.txt"), ".json or .safetensors"),
    (("score", "--calibration", "cal.npz", "--input", "ops.npz", "--out", "ops.npz"), "is an input too"),
    (("assess", *BASE, "--json", "ops.npz"), "is an input too"),
    (("report", "nowhere"), "does not exist"),
    (("report", "cal.npz"), "is not JSON"),
    (("report", "deep.json"), "is not JSON"),
    (("report", "nan.json"), "NaN is not a number"),
    (("report", "part.json"), "part.json: it has no 'checksum'"),
    (("assess", *BASE, "--json", "/dev/null"), "device"),
    (("assess", *BASE, "--head", "head.npz", "--manifold", "kernel:bandwidth=1e300"), "bandwidth"),
    (
        ("assess", *BASE, "--head", "head.npz", "--manifold", "kernel:bandwidth=1e-300"),
        "bandwidth must be from 1e-06",
    ),
    (("assess", *BASE, "--manifold", "kernel:bandwidth=wide"), "bandwidth must be auto or a finite number"),
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


def test_a_shifted_operation_is_no_plain_success(infimum: Run, here: Path) -> None:
    ops = Outputs.load(here / "ops.npz")
    Outputs(ops.logits * 0.3).save(here / "shifted.npz")
    command = ("assess", "--calibration", "cal.npz", "--operation", "shifted.npz", "--target", "0.5")
    done = infimum(*command, cwd=here)
    assert done.returncode == 0
    assert "met, but only if labelled and operational inputs are alike" in " ".join(done.stdout.split())
    assert infimum(*command, "--alike", "require", cwd=here).returncode == 1
    assert infimum("assess", *BASE, "--target", "0.5", "--alike", "require", cwd=here).returncode == 0


def test_weights_of_labelled_rows_are_refused(infimum: Run, here: Path) -> None:
    cal = Outputs.load(here / "cal.npz")
    Outputs(cal.logits, cal.labels, weights=np.ones(len(cal))).save(here / "weighted.npz")
    done = infimum("assess", "--calibration", "weighted.npz", "--operation", "ops.npz", cwd=here)
    assert done.returncode == 2
    assert "has weights" in done.stderr


def test_usage_errors_exit_2(infimum: Run, here: Path) -> None:
    for command in (("assess", "--nope"), ("assess", *BASE, "--score", "thr"), ("nothing",)):
        assert infimum(*command, cwd=here).returncode == 2


def test_names_that_are_not_unicode(here: Path) -> None:
    """A Linux file name or argument may hold any bytes."""
    name = os.fsdecode(b"net\xff")
    done = infimum_outside("assess", *BASE, "--name", name, "--out", name, "--json", "a.json", "-q", cwd=here)
    assert done.returncode == 0, done.stderr
    a = Assessment.load(here / name)
    assert a.network == name
    assert a == Assessment.load(here / "a.json")
    assert "net\N{REPLACEMENT CHARACTER}" in (here / name / "report.html").read_text(encoding="utf-8")


def test_ctrl_c_while_sampling_writes_what_there_is(here: Path) -> None:
    code = "from infimum.cli.main import run; run()"
    command = [sys.executable, "-c", code, "-vv", "assess", *BASE, "--head", "head.npz", "--out", "cut"]
    command += ["--sampling", "time:seconds=60,batch=1000,max_samples=1000000000"]
    process = subprocess.Popen(
        command,
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Not before the first batch, which on a busy machine takes its time.
    assert any("DEBUG infimum: sampled" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    a = Assessment.load(here / "cut")
    assert a.interrupted
    assert not a.lambda_.converged
    assert a.lambda_.n > 0
    assert "interrupted" in out


def test_version_and_help(here: Path) -> None:
    import infimum as package

    assert infimum_outside("--version", cwd=here).stdout == f"infimum {package.__version__}\n"
    text = infimum_outside("assess", "--help", cwd=here).stdout
    for option in ("--calibration", "--score", "k_reg=1", "--manifold", "--sampling", "--json", "--quiet"):
        assert option in text


def test_heavy_modules_load_only_when_used() -> None:
    code = (
        "import sys, infimum, infimum.cli.app; "
        "print(sorted({'numpy', 'scipy', 'sklearn', 'matplotlib', 'torch', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.stdout.strip() == "[]"
