"""Headers of npy arrays: what is written by numpy is read, and nothing else gets as far as memory."""

from __future__ import annotations

import io

import numpy as np
import pytest

from infimum import InputError
from infimum._checks import check_text
from infimum.io.lazily import map_npy
from infimum.io.npy import read_npy_header


def npy(shape="(2, 3)", descr="'<f8'", fortran="False", data=bytes(48), version=1, header=None):
    text = (header or f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}").encode()
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + len(text).to_bytes(2 if version == 1 else 4, "little")
        + text
        + data
    )


def header_of(data: bytes):
    return read_npy_header(io.BytesIO(data), "x", len(data))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("shape", ["(2, 3)", "(2L, 3L)", "(2,3,)", "( 2 , 3 )"])
def test_every_version_and_spelling(version, shape):
    assert header_of(npy(shape, version=version)).shape == (2, 3)


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "f8", "?", "u1", "<i8", "<U3", "S4", "M8[ns]", "c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_comes_back(tmp_path, dtype, order):
    array = np.asarray(np.arange(6).reshape(2, 3), dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    found = map_npy(tmp_path / "x.npy")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_keys_may_stand_in_any_order():
    assert header_of(npy(header="{'shape': (6,), \"fortran_order\": True, 'descr': '<f8'}")).shape == (6,)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy("(-1, 4)"), "not a readable npy array"),
        (npy("(True, True)"), "not a readable npy array"),
        (npy("(" + "1, " * 100 + ")"), "its shape is"),
        (npy("(" + "9" * 400 + ",)"), "its shape is"),
        (npy("(9999999999, 9999999999)"), "cut short"),
        (npy("(0, 1000000000000000000)", data=b""), "its shape is"),
        (npy("(2)"), "not a readable npy array"),
        (npy("[2, 3]"), "not a readable npy array"),
        (npy("(2.0, 3)"), "not a readable npy array"),
        (npy("(٢, 3)"), "not a readable npy array"),
        (npy("(2, 2)"), "damaged: an array of shape .* needs 32 bytes, 48 are there"),
        (npy("(2, 4)"), "cut short: an array of shape .* needs 64 bytes, 48 are there"),
        (npy(descr="'|O'"), "Python objects"),
        (npy(descr="[('a', '<f8')]"), "records"),
        (npy(descr="'<f3'"), "of the kind"),
        (npy(descr="'<U0'"), "of the kind"),
        (npy(descr="'<U999999999999'"), "of the kind"),
        (npy(descr="'(2,)<f8'"), "of the kind"),
        (npy(fortran="1"), "not a readable npy array"),
        (npy(header="{" * 5000), "not a readable npy array"),
        (npy(header="("), "not a readable npy array"),
        (npy(header="__import__('os')"), "not a readable npy array"),
        (
            npy(header="{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (6,)}"),
            "not a readable",
        ),
        (npy(header="{'descr': '<f8', 'shape': (6,)}"), "not a readable npy array"),
        (npy(version=2, header="x" * 20_000), "too long"),
        (npy(version=4), "version 1, 2 or 3"),
        (b"\x93NUMPY\1\0\xff\xff{", "cut short"),
        (b"\x93NUM", "does not begin"),
        (b"", "does not begin"),
    ],
)
def test_what_cannot_be_is_refused(data, message):
    with pytest.raises(InputError, match=message) as caught:
        header_of(data)
    assert len(str(caught.value)) < 300


def test_text_of_signs_that_are_no_letters():
    text = np.array([0x41, 0x110000], np.uint32).view("<U1")
    with pytest.raises(InputError, match="no letters"):
        check_text(text, "ids")
    check_text(text[:1], "ids")
    with pytest.raises(InputError, match="not ASCII"):
        check_text(np.array([b"a", b"\xff"]), "ids")
    check_text(np.array(["a", "\U0010ffff"], dtype=">U2"), "ids")
