"""Arrays in files, read by rows: what numpy would give, and one line where the file is cut while it is read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum.data import open_data
from infimum.io.lazily import map_npy, map_npz
from infimum.io.stored import StoredArray
from infimum.outputs._stream import open_stream

RNG = np.random.default_rng(0)
ARRAYS = {
    "numbers": RNG.normal(size=(9, 4)),
    "vector": np.arange(9),
    "pictures": RNG.integers(0, 255, (9, 3, 2, 5), dtype=np.uint8),
    "big-endian": np.arange(18, dtype=">i4").reshape(9, 2),
    "text": np.array([f"input {i}" for i in range(9)]),
    "days": np.arange("2020-01-01", "2020-01-10", dtype="datetime64[D]"),
    "nothing": np.zeros((9, 0)),
    "no rows": np.zeros((0, 3)),
}
ROWS = [..., slice(None), slice(2, 5), slice(7, 99), slice(5, 2), slice(None, None, 3), slice(-3, None)]
ROWS += [np.array([4, 2, 2, 8]), np.array([-1, 0]), np.array([], np.int64), 5]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ARRAYS)
def test_rows_are_those_of_numpy(name: str, order: str, tmp_path: Path) -> None:
    array = np.asarray(ARRAYS[name], order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", before=np.zeros(3), x=array)
    for stored in (map_npy(tmp_path / "x.npy"), map_npz(tmp_path / "x.npz")["x"]):
        assert isinstance(stored, StoredArray)
        assert (stored.shape, stored.dtype, stored.ndim, stored.size) == (
            array.shape,
            array.dtype,
            array.ndim,
            array.size,
        )
        for rows in ROWS if len(array) else ROWS[:3]:
            np.testing.assert_array_equal(stored[rows], array[rows])
        np.testing.assert_array_equal(np.asarray(stored), array)
        np.testing.assert_array_equal(stored.mapped(), array)


def test_a_single_number(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(3.0))
    assert map_npy(tmp_path / "x.npy")[...] == 3


def cut(path: Path, size: int) -> None:
    """Cut a file short as another process would, its time of change kept."""
    status = path.stat()
    os.truncate(path, size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", ["cut", "written", "gone"])
@pytest.mark.parametrize("kind", ["npy", "npz", "fortran"])
def test_inputs_that_change_while_they_are_read(kind: str, change: str, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    x = np.asarray(RNG.normal(size=(2000, 50)), order="F" if kind == "fortran" else "C")
    with path.open("wb") as file:
        np.savez(file, x=x) if kind == "npz" else np.save(file, x)
    batches = open_data(path).batches(100)
    np.testing.assert_array_equal(next(batches).inputs, x[:100])
    if change == "cut":
        cut(path, 100_000)
    elif change == "written":
        path.write_bytes(path.read_bytes()[::-1])
    else:
        path.unlink()
    with pytest.raises(InputError, match=r"x\.bin (was changed|cannot be read)"):
        list(batches)


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_outputs_that_are_cut_while_they_are_streamed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infimum.outputs._stream.BLOCK", 40_000)
    path = tmp_path / f"o.{kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    Outputs(RNG.normal(size=(400_000, 4))).save(path)
    blocks = open_stream(path).read(0)  # without the thread that reads ahead
    next(blocks)
    cut(path, 300_000)
    with pytest.raises(InputError, match=rf"o\.{kind} .*(cut short|damaged|changed)"):
        list(blocks)


def test_tables_that_are_cut_while_they_are_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow import parquet

    table = pa.table({"a": RNG.normal(size=50_000), "b": RNG.normal(size=50_000)})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=5000)
    folder = tmp_path / "saved"
    folder.mkdir()
    with pa.OSFile(str(folder / "data.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    for place, path in ((tmp_path / "x.parquet", tmp_path / "x.parquet"), (folder, folder / "data.arrow")):
        batches = open_data(place).batches(100)
        next(batches)
        cut(path, 200_000)
        with pytest.raises(InputError, match="cut short"):
            list(batches)
