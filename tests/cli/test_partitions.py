"""A hive-partitioned folder in place of one file: each command finds the same in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from conftest_types import Toy

from infimum import Outputs

pytest.importorskip("pyarrow", reason="Parquet is an optional extra")


@pytest.fixture
def here(toy: Toy, tmp_path: Path) -> Path:
    rng = np.random.default_rng(8)
    toy.outputs(300, rng).save(tmp_path / "cal.parquet")
    ops = toy.outputs(900, rng)
    Outputs(ops.logits, ops.labels, ids=np.arange(900).astype(str)).save(tmp_path / "ops.parquet")
    ops = Outputs.load(tmp_path / "ops.parquet")
    for day, region, rows in (
        (1, "eu", slice(0, 250)),
        (1, "us", slice(250, 600)),
        (2, "eu", slice(600, 900)),
    ):
        place = tmp_path / f"ops/date=2026-01-0{day}/region={region}"
        place.mkdir(parents=True)
        Outputs(ops.logits[rows], ops.labels[rows], ids=ops.ids[rows]).save(place / "part-0.parquet")
    return tmp_path


def test_assess(here: Path, infimum: Run) -> None:
    found = []
    for operation in ("ops", "ops.parquet"):
        command = ("assess", "--calibration", "cal.parquet", "--operation", operation, "--manifold", "none")
        done = infimum(*command, "--name", "a", "--json", "-", cwd=here)
        assert done.returncode in (0, 1), done.stderr
        found.append(json.loads(done.stdout))
    for key in ("lambda", "success", "certified"):
        assert found[0][key] == found[1][key]


def test_score(here: Path, infimum: Run) -> None:
    for operation in ("ops", "ops.parquet"):
        command = ("score", "--calibration", "cal.parquet", "--input", operation, "--out", f"{operation}.npz")
        done = infimum(*command, cwd=here)
        assert done.returncode == 0, done.stderr
    with np.load(here / "ops.npz") as partitioned, np.load(here / "ops.parquet.npz") as whole:
        assert partitioned.files == whole.files
        for name in whole.files:
            np.testing.assert_array_equal(partitioned[name], whole[name])


def test_compare(here: Path, infimum: Run) -> None:
    command = (
        "compare",
        "--calibration",
        "cal.parquet",
        "--calibration",
        "cal.parquet",
        "--operation",
        "ops",
    )
    done = infimum(
        *command, "--operation", "ops.parquet", "--name", "a", "--name", "b", "--json", "-", cwd=here
    )
    assert done.returncode in (0, 1), done.stderr
    one, other = (network["lambda_"] for network in json.loads(done.stdout)["networks"])
    assert one is not None
    assert one == other


def test_a_folder_of_two_levels_is_one_line(here: Path, infimum: Run) -> None:
    (here / "ops/date=2026-01-02/part-1.parquet").write_bytes((here / "ops.parquet").read_bytes())
    done = infimum("score", "--calibration", "cal.parquet", "--input", "ops", "--out", "o.npz", cwd=here)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Parquet files and partitions at one level" in done.stderr
