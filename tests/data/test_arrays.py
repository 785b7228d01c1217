"""Arrays in memory, npy, npz: mapped, unpacked row by row, and what cannot be read."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from infimum import InputError
from infimum.data import open_data
from infimum.data._arrays import PackedArray
from infimum.io.lazily import map_npz
from infimum.io.stored import StoredArray

X = np.arange(7 * 3, dtype=np.float32).reshape(7, 3)
Y = np.array([0, 1, 2, 0, 1, 2, 0])


def read(data, size=3, start=0):
    batches = list(data.batches(size, start))
    return np.concatenate([b.inputs for b in batches]), [b.stop for b in batches], batches


@pytest.mark.parametrize("kind", ["memory", "npy", "npz", "compressed"])
@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("start", [0, 3])
def test_rows_come_in_order_from_any_start(tmp_path, kind, size, start):
    path = tmp_path / "x.bin"  # told by content, not by name
    if kind == "memory":
        data = open_data(X)
    else:
        with path.open("wb") as file:
            {
                "npy": lambda: np.save(file, X),
                "npz": lambda: np.savez(file, x=X, y=Y),
                "compressed": lambda: np.savez_compressed(file, x=X, y=Y, ids=np.array(list("abcdefg"))),
            }[kind]()
        data = open_data(path)
    inputs, stops, batches = read(data, size, start)
    np.testing.assert_array_equal(inputs, X[start:])
    assert stops[-1] == data.n == 7
    assert max(len(b) for b in batches) <= size
    if kind in ("npz", "compressed"):
        np.testing.assert_array_equal(np.concatenate([b.labels for b in batches]), Y[start:])
    if kind == "compressed":
        assert "".join(np.concatenate([b.ids for b in batches])) == "abcdefg"[start:]


def test_files_are_read_or_unpacked_as_they_are_needed(tmp_path):
    np.savez(tmp_path / "plain.npz", x=X)
    np.savez_compressed(tmp_path / "packed.npz", x=X)
    assert isinstance(map_npz(tmp_path / "plain.npz")["x"], StoredArray)
    assert isinstance(open_data(tmp_path / "packed.npz").inputs, PackedArray)


def test_several_arrays_go_by_name(tmp_path):
    np.savez(tmp_path / "x.npz", input_ids=X, attention_mask=X > 2, labels=Y)
    batch = next(open_data(tmp_path / "x.npz").batches(2))
    assert sorted(batch.inputs) == ["attention_mask", "input_ids"]
    np.testing.assert_array_equal(batch.inputs["attention_mask"], X[:2] > 2)


def test_labels_and_ids_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "x.npz", x=X, y=Y[:5])
    with pytest.raises(InputError, match=r"differ in length.*7, labels 5"):
        open_data(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", x=X, y=Y, labels=Y)
    with pytest.raises(InputError, match="several arrays of one kind"):
        open_data(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", labels=Y)
    with pytest.raises(InputError, match="no inputs"):
        open_data(tmp_path / "x.npz")


def test_pairs_dicts_and_tensors_like():
    assert next(open_data((X, Y)).batches(7)).labels.tolist() == Y.tolist()
    assert next(open_data({"x": X, "label": Y}).batches(7)).labels.tolist() == Y.tolist()


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_truncated_files_are_named(tmp_path, name):
    path = tmp_path / name
    (np.save if name == "x.npy" else np.savez)(path, np.zeros((1000, 10)))
    whole = path.read_bytes()
    for cut in (len(whole) // 2, 70, 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=name):
            read(open_data(path))


def test_damaged_compressed_data_are_named(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(1000, 10)))
    data = bytearray(path.read_bytes())
    data[5000:5100] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.npz is damaged"):
        read(open_data(path))


def test_header_that_claims_more_than_the_file_has(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (2**62, 2**62)}
    )
    (tmp_path / "x.npy").write_bytes(header.getvalue() + bytes(100))
    with pytest.raises(InputError, match="cut short"):
        open_data(tmp_path / "x.npy")


def test_pickles_are_refused(tmp_path):
    objects = np.array([{}, []], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InputError, match="Python objects"):
            open_data(tmp_path / name)


def test_what_is_no_data(tmp_path):
    (tmp_path / "text").write_text("hello world")
    with pytest.raises(InputError, match="not data that can be read"):
        open_data(tmp_path / "text")
    with pytest.raises(InputError, match="does not exist"):
        open_data(tmp_path / "nothing")
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(InputError, match="not an npz"):
        open_data(tmp_path / "z")
    with pytest.raises(InputError, match="is empty"):
        open_data(np.zeros((0, 3)))
    with pytest.raises(InputError, match="not data that can be read"):
        open_data(3)


def test_fingerprints_tell_changed_data(tmp_path):
    np.save(tmp_path / "x.npy", X)
    before = open_data(tmp_path / "x.npy").fingerprint()
    assert open_data(tmp_path / "x.npy").fingerprint() == before
    np.save(tmp_path / "x.npy", X + 1)
    assert open_data(tmp_path / "x.npy").fingerprint() != before
    assert open_data(X).fingerprint() == open_data(X.copy()).fingerprint() != open_data(X + 1).fingerprint()


def test_text_that_is_not_utf8_has_a_hash():
    from infimum.io.hashing import input_hashes

    hashes = input_hashes(np.array(["a\udcff", "a\udcfe", "a\udcff"]))
    assert hashes[0] == hashes[2] != hashes[1]
