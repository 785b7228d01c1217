"""Parquet files and folders, and datasets saved to disk: every kind of column, every start."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

from infimum import InputError  # noqa: E402
from infimum.data import ImageOptions, open_data  # noqa: E402

N = 11
X = np.arange(N * 6, dtype=np.float32).reshape(N, 6)
Y = np.arange(N) % 3


def table(**columns):
    return pa.table({"label": Y, "id": [f"row {i}" for i in range(N)], **columns})


def nested():
    return pa.array(X.reshape(N, 2, 3).tolist(), pa.list_(pa.list_(pa.float32())))


def tensor():
    kind = pa.fixed_shape_tensor(pa.float32(), (2, 3))
    return pa.ExtensionArray.from_storage(kind, pa.FixedSizeListArray.from_arrays(X.reshape(-1), 6))


@pytest.mark.parametrize("make", [nested, tensor])
@pytest.mark.parametrize("size", [1, 3, 4, 100])
@pytest.mark.parametrize("start", [0, 3, 8])
def test_rows_in_order_across_row_groups_and_files(tmp_path, make, size, start):
    whole = table(x=make())
    pq.write_table(whole.slice(0, 7), tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(whole.slice(7), tmp_path / "b.parquet", row_group_size=3)
    batches = list(open_data(tmp_path).batches(size, start))
    np.testing.assert_array_equal(np.concatenate([b.inputs for b in batches]), X.reshape(N, 2, 3)[start:])
    np.testing.assert_array_equal(np.concatenate([b.labels for b in batches]), Y[start:])
    assert np.concatenate([b.ids for b in batches]).tolist() == [f"row {i}" for i in range(start, N)]
    assert batches[-1].stop == N
    assert all(len(b) == size for b in batches[:-1])


def test_columns_of_numbers_are_one_matrix(tmp_path):
    pq.write_table(table(a=X[:, 0], b=X[:, 1], note=["text"] * N), tmp_path / "x.parquet")
    (batch,) = open_data(tmp_path / "x.parquet").batches(100)
    np.testing.assert_array_equal(batch.inputs, X[:, :2])


def test_several_lists_and_text_alone(tmp_path):
    pq.write_table(table(input_ids=X.tolist(), attention_mask=(X > 3).tolist()), tmp_path / "x.parquet")
    (batch,) = open_data(tmp_path / "x.parquet").batches(100)
    assert sorted(batch.inputs) == ["attention_mask", "input_ids"]
    pq.write_table(table(text=[f"sentence {i}" for i in range(N)]), tmp_path / "t.parquet")
    (batch,) = open_data(tmp_path / "t.parquet").batches(100)
    assert batch.inputs[1] == "sentence 1"


def png(value):
    Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")
    file = io.BytesIO()
    Image.new("L", (4, 4), value).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("struct", [False, True])
def test_images_as_bytes(tmp_path, struct):
    values = [png(20 * i) for i in range(N)]
    values[4] = b"broken"
    column = [{"bytes": v, "path": None} for v in values] if struct else values
    pq.write_table(table(image=column), tmp_path / "x.parquet")
    options = ImageOptions(resize=None, crop=None, mode="gray", mean=(0,), std=(1,))
    with pytest.raises(InputError, match="image: row 4: it is not an image"):
        list(open_data(tmp_path / "x.parquet", images=options).batches(3))
    data = open_data(tmp_path / "x.parquet", images=options, skip_bad=True)
    batches = list(data.batches(3))
    kept = [i for i in range(N) if i != 4]
    assert np.concatenate([b.positions for b in batches]).tolist() == kept
    np.testing.assert_array_equal(np.concatenate([b.labels for b in batches]), Y[kept])
    values = np.concatenate([b.inputs for b in batches])[:, 0, 0, 0]
    np.testing.assert_allclose(values * 255, [20 * i for i in kept], atol=1e-3)
    assert len(data.bad) == 1


def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(table(x=[[1.0]] * (N - 1) + [[1.0, 2.0]]), path)
    with pytest.raises(InputError, match="x: the lists differ in length"):
        list(open_data(path).batches(100))
    pq.write_table(table(x=[1.0] * (N - 1) + [None]), path)
    with pytest.raises(InputError, match=r"x: 1 of the values.*missing"):
        list(open_data(path).batches(100))
    pq.write_table(table(x=X.tolist()), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"x\.parquet is not a readable"):
        open_data(path)
    pq.write_table(pa.table({"label": Y}), path)
    with pytest.raises(InputError, match="no inputs"):
        open_data(path)
    pq.write_table(table(x=X[:, 0]).slice(0, 0), path)
    with pytest.raises(InputError, match="is empty"):
        open_data(path)
    pq.write_table(table(x=X[:, 0]), tmp_path / "y.parquet")
    pq.write_table(table(z=X[:, 0]), tmp_path / "z.parquet")
    path.unlink()
    with pytest.raises(InputError, match="other columns"):
        open_data(tmp_path)


def saved_dataset(folder, names=("data-0.arrow", "data-1.arrow")):
    """What `Dataset.save_to_disk` writes: a stream file per shard, its list, and the features."""
    folder.mkdir()
    whole = table(x=nested())
    for name, part in zip(names, (whole.slice(0, 7), whole.slice(7)), strict=True):
        with pa.ipc.new_stream(folder / name, part.schema) as writer:
            writer.write_table(part, max_chunksize=2)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    features = {"label": {"names": ["ant", "bee", "cat"], "_type": "ClassLabel"}}
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


@pytest.mark.parametrize("start", [0, 3, 8])
def test_a_dataset_saved_to_disk(tmp_path, start):
    data = open_data(saved_dataset(tmp_path / "d"))
    assert data.class_names == ("ant", "bee", "cat")
    assert data.n == N
    batches = list(data.batches(4, start))
    np.testing.assert_array_equal(np.concatenate([b.inputs for b in batches]), X.reshape(N, 2, 3)[start:])


def test_a_saved_dataset_names_no_files_elsewhere(tmp_path):
    folder = saved_dataset(tmp_path / "d")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../secret.arrow"}]}))
    with pytest.raises(InputError, match="not a file in this folder"):
        open_data(folder)
    (folder / "state.json").write_text("{}")
    with pytest.raises(InputError, match="does not list"):
        open_data(folder)
    (tmp_path / "d" / "dataset_dict.json").write_text("{}")
    with pytest.raises(InputError, match="several data sets"):
        open_data(folder)


def test_a_saved_dataset_cut_short(tmp_path):
    folder = saved_dataset(tmp_path / "d")
    shard = folder / "data-1.arrow"
    shard.write_bytes(shard.read_bytes()[:300])
    with pytest.raises(InputError, match="damaged or cut short"):
        list(open_data(folder).batches(100))


def test_a_file_name_that_is_not_text(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.parquet")
    try:
        pq.write_table(pa.table({"x": [1.0]}), tmp_path / "x.parquet")
        (tmp_path / "x.parquet").rename(path)
    except OSError:
        pytest.skip("this file system takes names that are text only")
    with pytest.raises(InputError, match="not UTF-8; rename"):
        open_data(path)
