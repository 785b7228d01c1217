"""The header of an npy array, read strictly: numbers or text, a shape that can be, and as many bytes as follow it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError

MAGIC = b"\x93NUMPY"

LONGEST = 10_000
"""Bytes of a header, as in numpy."""

DIMENSIONS = 32
"""What every numpy can hold."""

_LENGTH = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
"""Bytes of the header's length, by version."""

_ENTRY = re.compile(
    r"""\s*['"](?P<key>\w+)['"]\s*:\s*(?P<value>'[^']*'|"[^"]*"|True|False|\([^()]*\)|\[.*\])\s*(?:,|$)""",
    re.DOTALL,
)
_SHAPE = re.compile(r"\(\s*\)|\(\s*\d+L?\s*,\s*\)|\(\s*\d+L?(?:\s*,\s*\d+L?)+\s*,?\s*\)", re.ASCII)
"""Python 2 wrote an L behind long numbers."""


@dataclass(frozen=True)
class NpyHeader:
    """What a header says; `start` is how many bytes it takes itself, `size` how many the numbers take."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    size: int

    def array(self, data: Array) -> Array:
        """The array whose bytes `data` (size,) are."""
        return data.view(self.dtype).reshape(self.shape, order="F" if self.fortran else "C")


def read_npy_header(file: Any, what: str, length: int) -> NpyHeader:
    """The header of the npy data of `length` bytes that begin here; `what` is what errors call them.

    Raises InputError for Python objects (a pickle), for records, for what is no header, and where the bytes behind
    it are not as many as it says: nothing of that size needs to be made to see it.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((3, 2)))
    >>> length = file.tell()
    >>> _ = file.seek(0)
    >>> read_npy_header(file, "x.npy", length).shape
    (3, 2)
    """
    start, text = _text(file, what)
    shape, fortran, dtype = _parsed(text, what)
    size = math.prod(shape) * dtype.itemsize  # Python's integers do not overflow
    if start + size != length:
        wrong = "cut short" if start + size > length else "damaged"
        raise InputError(
            f"{what} is {wrong}: an array of shape {_shown(shape)} needs {_shown(size)} bytes, "
            f"{length - start} are there"
        )
    if math.prod(max(1, n) for n in shape) * dtype.itemsize >= 2**62:  # of shape (0, 10**18), say
        raise InputError(f"{what} is not a readable npy array: its shape is {_shown(shape)}")
    return NpyHeader(shape, fortran, dtype, start, size)


def _text(file: Any, what: str) -> tuple[int, str]:
    """How many bytes the header takes, and its text."""
    start = file.read(8)
    digits = _LENGTH.get(start[6:])
    if start[:6] != MAGIC or digits is None:
        raise InputError(f"{what} is not a readable npy array: it does not begin as one of version 1, 2 or 3")
    length = int.from_bytes(file.read(digits), "little")
    data = file.read(min(length, LONGEST))
    if length > LONGEST or len(data) < length:
        raise InputError(
            f"{what} is not a readable npy array: its header is cut short, or too long ({length} bytes)"
        )
    return 8 + digits + length, data.decode("utf-8" if start[6] == 3 else "latin-1", "replace")


def _parsed(text: str, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    inside = text.strip()
    found: dict[str, str] = {}
    at, end = 1, len(inside) - 1
    while inside[:1] == "{" and inside[-1:] == "}" and (entry := _ENTRY.match(inside, at, end)):
        if entry["key"] in found:
            break
        found[entry["key"]] = entry["value"]
        at = entry.end()
    if found.get("descr", "")[:1] == "[":
        raise InputError(
            f"{what} holds records of several fields; save one array of numbers or text for each"
        )
    wrong = inside[at:end].strip() or found.keys() != {"descr", "fortran_order", "shape"}
    if wrong or found["fortran_order"] not in ("True", "False") or not _SHAPE.fullmatch(found["shape"]):
        raise InputError(f"{what} is not a readable npy array: its header is {text[:80]!r}")
    numbers = re.findall(r"\d+", found["shape"])
    if len(numbers) > DIMENSIONS or any(len(number) > 30 for number in numbers):
        raise InputError(f"{what} is not a readable npy array: its shape is {found['shape'][:80]}")
    return tuple(map(int, numbers)), found["fortran_order"] == "True", _dtype(found["descr"], what)


def _dtype(descr: str, what: str) -> np.dtype[Any]:
    kind = re.fullmatch(r"[<>|=]?([?a-zA-Z])(\d{0,9})(?:\[\w+\])?", descr[1:-1], re.ASCII)
    if kind is not None and kind[1] == "O":
        raise InputError(
            f"{what} holds Python objects (a pickle), which can run code when read; save numbers or text, for example "
            "ids as strings: np.asarray(ids, dtype=str)"
        )
    try:
        dtype: np.dtype[Any] | None = None if kind is None else np.dtype(descr[1:-1])
    except (TypeError, ValueError, OverflowError):
        dtype = None
    if dtype is None or dtype.itemsize == 0:
        raise InputError(f"{what} is not a readable npy array: its numbers are of the kind {descr[:80]}")
    return dtype


def _shown(value: object) -> str:
    return text if len(text := str(value)) <= 80 else f"{text[:80]}…"
