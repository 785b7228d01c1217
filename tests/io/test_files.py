"""Files of named arrays: memory order, folders of Parquet parts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infimum import Head, InputError, Outputs
from infimum.io.content import sealed
from infimum.io.files import array_names, read_arrays
from infimum.outputs._stream import open_stream


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
def test_arrays_in_fortran_order_come_back_as_they_were(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    logits = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    path = tmp_path / f"o{suffix}"
    Outputs(logits, features=logits[::-1, ::2]).save(path)
    np.testing.assert_array_equal(Outputs.load(path).logits, logits)
    np.testing.assert_array_equal(Outputs.load(path).features, logits[::-1, ::2])
    if suffix != ".parquet":
        Head(logits).save(path)
        np.testing.assert_array_equal(Head.load(path).weight, logits)


def parts(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    folder = tmp_path / "o.parquet"
    folder.mkdir()
    logits = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    for start in (0, 4, 8):
        rows = slice(start, start + 4)
        Outputs(
            logits[rows],
            np.arange(10)[rows] % 3,
            ids=np.arange(10)[rows].astype(str),
            class_names=("a", "b", "c"),
        ).save(folder / f"part-{start}.parquet")
    return folder, logits


def test_a_folder_of_parts_is_one_file(tmp_path):
    folder, logits = parts(tmp_path)
    outputs = Outputs.load(folder)
    np.testing.assert_array_equal(outputs.logits, logits)
    assert outputs.ids.tolist() == [str(i) for i in range(10)]
    assert outputs.class_names == ("a", "b", "c")
    assert array_names(folder) == ["ids", "labels", "logits"]
    assert "logits" not in read_arrays(folder, ["labels"])


def test_parts_that_do_not_fit_are_named(tmp_path):
    folder, logits = parts(tmp_path)
    Outputs(logits[:2]).save(folder / "part-9.parquet")
    with pytest.raises(InputError, match=r"part-9\.parquet has other columns"):
        Outputs.load(folder)
    (folder / "part-9.parquet").write_bytes(b"half")
    with pytest.raises(InputError, match=r"part-9\.parquet"):
        Outputs.load(folder)
    (folder / "part-9.parquet").unlink()
    (folder / "part-9.parquet").symlink_to(folder / "part-0.parquet")
    with pytest.raises(InputError, match="is a link"):
        Outputs.load(folder)
    (folder / "part-9.parquet").unlink()
    (folder / "_infimum.json").write_text(
        json.dumps(sealed({"schema": "infimum/extraction/1", "complete": False}))
    )
    with pytest.raises(InputError, match=r"not finished.*--resume"):
        Outputs.load(folder)


def test_a_folder_without_parts(tmp_path):
    with pytest.raises(InputError, match="directory"):
        Outputs.load(tmp_path)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["logits", "logits"], "two columns 'logits'"),
        (
            ["logits_0", "logits_1", "logits_2", "logits_3", "logits_03"],
            "'logits_3' and 'logits_03', both of number 3",
        ),
        (["logits_0", "logits_1", "logits_0"], "'logits_0' and 'logits_0', both of number 0"),
        (["logits", "logits_0", "logits_1"], "which of them are meant"),
    ],
)
def test_parquet_columns_that_may_mean_two_things(tmp_path, names, message):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "o.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([0.0, 1.0])] * len(names), names=names), path)
    for read in (Outputs.load, open_stream, array_names):
        with pytest.raises(InputError, match=message):
            read(path)


def test_numbers_of_parquet_columns_may_have_zeros_before_them(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet as pq

    columns = {f"logits_{k:02}": [float(k), 0.0] for k in range(12)}
    pq.write_table(pa.table(dict(sorted(columns.items(), reverse=True))), tmp_path / "o.parquet")
    assert Outputs.load(tmp_path / "o.parquet").logits[0].tolist() == list(range(12))


def test_parquet_that_unpacks_to_more_than_memory(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    Outputs(np.zeros((50_000, 2))).save(tmp_path / "o.parquet")
    assert (tmp_path / "o.parquet").stat().st_size < 100_000  # one value, and how often
    monkeypatch.setattr("infimum.io.memory.physical_memory", lambda: 700_000)
    with pytest.raises(InputError, match="memory"):
        Outputs.load(tmp_path / "o.parquet")
    monkeypatch.setattr("infimum.io.memory.physical_memory", lambda: 900_000)
    assert len(Outputs.load(tmp_path / "o.parquet")) == 50_000


def test_a_safetensors_name_twice(tmp_path):
    Outputs(np.eye(2), np.array([0, 1])).save(tmp_path / "o.safetensors")
    data = (tmp_path / "o.safetensors").read_bytes()
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    assert b'"labels"' in header
    (tmp_path / "o.safetensors").write_bytes(data.replace(b'"labels"', b'"logits"'))
    with pytest.raises(InputError, match="'logits' occurs twice"):
        Outputs.load(tmp_path / "o.safetensors")
