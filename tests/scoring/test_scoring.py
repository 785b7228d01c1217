"""Scoring part by part: the levels of all inputs at once; killed and resumed; refused where anything changed."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from conftest_types import Toy

import infimum.scoring.parts as parts
from infimum import InputError, Outputs
from infimum.conformal import Calibration, calibrate
from infimum.io.csv_files import read_csv
from infimum.models._parts import PartFolder
from infimum.scoring.parts import FileSource
from infimum.scoring.scoring import score_to_file
from infimum.scoring.writing import PartMade, PartWriter, local_engine

Made = Generator[PartMade, None, None]

N = 3300  # parts of 1,000 rows: three whole and one short


@pytest.fixture(scope="module")
def cal(toy: Toy) -> Calibration:
    labelled = toy.outputs(200, np.random.default_rng(1))
    return calibrate(labelled.logits, labelled.labels, seed=4)


@pytest.fixture
def ops(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outputs:
    monkeypatch.setattr(parts, "NUMBERS", 4000)
    logits = toy.outputs(N, np.random.default_rng(2)).logits
    made = Outputs(logits, ids=np.array([f"=id,{i}" for i in range(N)]))
    made.save(tmp_path / "ops.npz")
    return made


def expected(cal: Calibration, ops: Outputs) -> dict[str, np.ndarray]:
    counts = cal.top_two(ops.logits)
    return {
        "ids": ops.ids,
        "predicted": ops.predicted,
        "success_levels": cal.success_levels(ops.logits),
        "p_top": counts.count_top / (cal.n + 1),
        "p_second": counts.count_second / (cal.n + 1),
        "prediction_sets": cal.prediction_sets(ops.logits, "0.1"),
    }


def read(path: Path) -> dict[str, np.ndarray]:
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return dict(archive)
    from infimum.io.files import read_arrays

    return read_arrays(path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_parts_are_the_whole(cal: Calibration, ops: Outputs, tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    out = tmp_path / f"levels.{suffix}"
    seen: list[int] = []
    done = score_to_file(
        FileSource(tmp_path / "ops.npz"), cal, out, error="0.1", progress=lambda at, n: seen.append(at)
    )
    want = expected(cal, ops)
    found = read(out)
    assert set(found) == set(want)
    for name, array in want.items():
        np.testing.assert_array_equal(found[name], array)
    assert (done.n, done.resumed) == (N, 0)
    assert done.mean == pytest.approx(want["success_levels"].mean(), abs=1e-14)
    assert seen == [1000, 2000, 3000, N]
    assert not list(tmp_path.glob("*.parts"))


def test_csv_has_a_line_per_input(cal: Calibration, ops: Outputs, tmp_path: Path) -> None:
    score_to_file(FileSource(tmp_path / "ops.npz"), cal, tmp_path / "levels.csv", error=0.1)
    want = expected(cal, ops)
    with (tmp_path / "levels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["success_levels"]) for row in rows] == want["success_levels"].tolist()
    assert [row["ids"] for row in rows] == [f"'{name}" for name in want["ids"].tolist()]  # no formulas
    assert read_csv(tmp_path / "levels.csv")["ids"].tolist() == want["ids"].tolist()
    assert [row["prediction_sets"] for row in rows] == [
        " ".join(map(str, np.flatnonzero(row))) for row in want["prediction_sets"]
    ]


def test_any_engine_gives_every_row_once(cal: Calibration, ops: Outputs, tmp_path: Path) -> None:
    def backwards(writer: PartWriter, starts: Sequence[int]) -> Made:
        for start in [*reversed(starts), starts[0]]:  # a part that comes twice replaces itself
            yield writer.part(start)

    score_to_file(FileSource(tmp_path / "ops.npz"), cal, tmp_path / "a.npz", engine=backwards)
    np.testing.assert_array_equal(read(tmp_path / "a.npz")["success_levels"], cal.success_levels(ops.logits))

    def lazy(writer: PartWriter, starts: Sequence[int]) -> Made:
        yield writer.part(starts[0])

    with pytest.raises(InputError, match="each of the 3300 rows once"):
        score_to_file(FileSource(tmp_path / "ops.npz"), cal, tmp_path / "b.npz", engine=lazy)


def test_a_part_is_the_same_bytes_with_its_neighbours_and_alone(
    cal: Calibration, ops: Outputs, tmp_path: Path
) -> None:
    """Blocks of Parquet are cut where parts end: text is as wide as the part's own longest, not the block's."""
    pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    ids = np.array(["short"] * 1000 + ["a longer one"] * (N - 1000))
    Outputs(ops.logits, ids=ids).save(tmp_path / "ops.parquet")

    def alone(writer: PartWriter, starts: Sequence[int]) -> Made:
        for start in reversed(starts):
            yield writer.part(start)

    found = []
    for name, engine in (("together", None), ("alone", alone)):
        score_to_file(FileSource(tmp_path / "ops.parquet"), cal, tmp_path / name, engine=engine)
        found.append({path.name: path.read_bytes() for path in (tmp_path / name).glob("part-*.npz")})
    assert found[0] == found[1]
    assert [read(path)["ids"].dtype for path in sorted((tmp_path / "alone").glob("part-*"))] == ["U5"] + 3 * [
        "U12"
    ]
    assert (
        score_to_file(FileSource(tmp_path / "ops.parquet"), cal, tmp_path / "alone", resume=True).resumed == 4
    )


def refused_when_changed(path: Path, name: str, again: Callable[[], object]) -> None:
    """One digit of the settings beside, or within, what was written."""
    data = path.read_bytes()
    assert data.count(b'"rows_per_part": 1000') == 1
    path.write_bytes(data.replace(b'"rows_per_part": 1000', b'"rows_per_part": 1001'))
    with pytest.raises(InputError, match=rf"{name}.*its checksum does not match"):
        again()
    path.write_bytes(data)


def test_an_interrupted_run_goes_on(cal: Calibration, ops: Outputs, tmp_path: Path) -> None:
    source, out = FileSource(tmp_path / "ops.npz"), tmp_path / "levels.npz"
    made: list[int] = []

    def fails_at_the_third(writer: PartWriter, starts: Sequence[int]) -> Made:
        for start in (3000, 0):
            made.append(start)
            yield writer.part(start)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_to_file(source, cal, out, engine=fails_at_the_third)
    assert not out.exists()
    with pytest.raises(InputError, match="--resume"):
        score_to_file(source, cal, out)
    with pytest.raises(InputError, match=r"step was 'None', is '0\.1'"):
        score_to_file(source, cal, out, resume=True, step="0.1")
    manifest = tmp_path / "levels.npz.parts" / "_infimum.json"
    refused_when_changed(manifest, "_infimum.json", lambda: score_to_file(source, cal, out, resume=True))

    def rest(writer: PartWriter, starts: Sequence[int]) -> Made:
        made.extend(starts)
        return local_engine(writer, starts)

    done = score_to_file(source, cal, out, resume=True, engine=rest)
    assert (done.resumed, made) == (2, [3000, 0, 1000, 2000])
    np.testing.assert_array_equal(read(out)["success_levels"], cal.success_levels(ops.logits))
    again = score_to_file(source, cal, out, resume=True)  # finished: nothing is made
    assert (again.resumed, again.mean) == (4, done.mean)
    refused_when_changed(out, "levels.npz", lambda: score_to_file(source, cal, out, resume=True))
    np.savez(tmp_path / "ops.npz", logits=ops.logits + 1)
    with pytest.raises(InputError, match="input was"):
        score_to_file(source, cal, out, resume=True)


@pytest.mark.parametrize("name", ["out.npz", "out.csv"])
def test_a_run_that_stopped_while_it_cleared_its_parts(
    cal: Calibration, ops: Outputs, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(self: PartFolder) -> None:
        self.found()[0][2].unlink()
        raise KeyboardInterrupt

    source, out = FileSource(tmp_path / "ops.npz"), tmp_path / name
    with monkeypatch.context() as context:
        context.setattr(PartFolder, "remove", remove)
        with pytest.raises(KeyboardInterrupt):
            score_to_file(source, cal, out)
    before = out.read_bytes()
    done = score_to_file(source, cal, out, resume=True)
    assert done.n == N
    assert done.resumed == (4 if name == "out.npz" else 0)  # a CSV does not say what it was made of
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ops.npz", name]


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_a_part_that_was_damaged_meanwhile_is_not_gone_on_from(
    cal: Calibration, ops: Outputs, tmp_path: Path, suffix: str
) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    source, out = FileSource(tmp_path / "ops.npz"), tmp_path / f"levels.{suffix}"

    def stops(writer: PartWriter, starts: Sequence[int]) -> Made:
        yield writer.part(0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_to_file(source, cal, out, engine=stops)
    (part,) = (out if suffix == "parquet" else tmp_path / f"levels.{suffix}.parts").glob("part-*")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    with pytest.raises(InputError, match=r"part-.* is damaged .*--resume makes it anew"):
        score_to_file(source, cal, out, resume=True)
    part.unlink()
    assert score_to_file(source, cal, out, resume=True).resumed == 0


def test_a_killed_command_goes_on_with_resume(cal: Calibration, toy: Toy, tmp_path: Path) -> None:
    """SIGKILL as soon as a part is there; --resume ends with the bits of an undisturbed run."""
    logits = np.tile(toy.outputs(2000, np.random.default_rng(2)).logits, (20, 1))
    np.savez(tmp_path / "ops.npz", logits=logits)
    cal.save(tmp_path / "cal.json")
    arguments = ["score", "--calibration", "cal.json", "--input", "ops.npz", "--out", "levels.npz"]
    slow = (
        "import time, infimum.scoring.parts as s; s.NUMBERS = 4000; old = s.PartScorer._table\n"
        "def table(self, *a):\n    time.sleep(0.02)\n    return old(self, *a)\n"
        "s.PartScorer._table = table\nfrom infimum.cli.main import run; run()"
    )
    process = subprocess.Popen([sys.executable, "-c", slow, *arguments], cwd=tmp_path)
    made = tmp_path / "levels.npz.parts"
    deadline = time.monotonic() + 60
    while not list(made.glob("part-*.npz")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "levels.npz").exists()
    done = subprocess.run(
        [sys.executable, "-c", slow.replace("0.02", "0"), *arguments, "--resume"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "parts were there already" in done.stdout
    np.testing.assert_array_equal(read(tmp_path / "levels.npz")["success_levels"], cal.success_levels(logits))
    assert not made.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--input"),
        (("--input", "ops.npz", "--data", "x.npy"), "--input"),
        (("--data", "x.npy"), "belong together"),
        (("--input", "ops.npz", "--model", "net.onnx"), "belong together"),
        (("--input", "three.npz"), "3 classes"),
    ],
)
def test_bad_commands(
    cal: Calibration, ops: Outputs, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    cal.save(tmp_path / "cal.json")
    np.savez(tmp_path / "three.npz", logits=np.eye(3))
    done = run("score", "--calibration", "cal.json", "--out", "out.npz", *arguments, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert not list(tmp_path.glob("out*"))
