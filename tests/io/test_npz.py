"""npz files: only what is asked for is unpacked, and what a zip claims is not believed."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum.data import open_data
from infimum.io.files import array_names, read_arrays
from infimum.io.lazily import map_npz
from infimum.outputs._stream import open_stream

LOGITS = np.random.default_rng(0).normal(size=(40, 3))


def npz(path, members, packed=False):
    """An npz of (name, array or bytes) pairs; names may occur twice."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name, content in members:
            file = io.BytesIO()
            np.save(file, content)
            archive.NameToInfo.pop(name, None)  # it would warn of a name that is there
            archive.writestr(name, file.getvalue())
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_members_that_nobody_asked_for_are_not_unpacked(tmp_path, packed):
    path = npz(tmp_path / "o.npz", [("logits.npy", LOGITS), ("more.npy", np.full(10_000, 0.25))], packed)
    data = bytearray(path.read_bytes())
    data[data.index(b"more.npy") + 180] ^= 1  # so whoever unpacks it says that it is damaged
    path.write_bytes(data)
    np.testing.assert_array_equal(Outputs.load(path).logits, LOGITS)
    blocks = [block.logits for _, block in open_stream(path).blocks()]
    np.testing.assert_array_equal(np.concatenate(blocks), LOGITS)
    np.testing.assert_array_equal(map_npz(path, ["logits"])["logits"], LOGITS)
    assert array_names(path) == ["logits", "more"]
    with pytest.raises(InputError, match=r"o\.npz is damaged"):
        read_arrays(path)


@pytest.mark.parametrize("again", ["logits.npy", "logits"])
@pytest.mark.parametrize(
    "read", [Outputs.load, array_names, map_npz, open_data, lambda path: open_stream(path).blocks()]
)
def test_a_name_that_occurs_twice(tmp_path, again, read):
    path = npz(tmp_path / "o.npz", [("logits.npy", LOGITS), (again, -LOGITS)])
    with pytest.raises(InputError, match="twice"):
        read(path)


def edited(path, offset, value, size=4):
    """The size or the like in the directory of a zip of one member, changed."""
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\1\2") + offset
    data[at : at + size] = value.to_bytes(size, "little")
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("offset", "value", "size", "message"),
    [
        (24, 2**31, 4, "claims 2147483648 bytes"),  # more than deflate can make of it
        (20, 2**31, 4, "claims"),  # more than the file has
        (8, 1, 2, "encrypted"),
        (10, 12, 2, "packed in a way"),
        (10, 99, 2, "packed in a way"),
        (42, 2**31, 4, "damaged or cut short"),
    ],
)
@pytest.mark.parametrize("read", [Outputs.load, map_npz, open_data])
def test_a_directory_that_lies(tmp_path, offset, value, size, message, read):
    path = npz(tmp_path / "o.npz", [("logits.npy", np.zeros((40, 3)))], packed=True)
    edited(path, offset, value, size)
    with pytest.raises(InputError, match=message):
        read(path)


def test_a_member_that_holds_more_than_its_header_says(tmp_path):
    path = npz(tmp_path / "o.npz", [("logits.npy", LOGITS)])
    path.write_bytes(path.read_bytes().replace(b"(40, 3)", b"(39, 3)"))
    for read in (Outputs.load, map_npz, open_stream):
        with pytest.raises(InputError, match="damaged"):
            read(path)


def test_another_member_lies_where_the_directory_says(tmp_path):
    path = npz(tmp_path / "o.npz", [("logits.npy", LOGITS), ("labels.npy", LOGITS)])
    begin = path.read_bytes().index(b"PK\3\4", 1)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2") + 42
    data[at : at + 4] = begin.to_bytes(4, "little")
    path.write_bytes(data)
    for read in (Outputs.load, map_npz, open_stream):
        with pytest.raises(InputError, match="damaged"):
            read(path)
