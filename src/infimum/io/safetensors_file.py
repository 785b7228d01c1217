"""A safetensors file, its header read strictly: where each array lies, without a map of the file (see `stored`).

The format: eight bytes with the length of the header, the header (JSON: type, shape and place of each array), the
numbers one array after another, without gaps.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from infimum.errors import InputError
from infimum.io.documents import parse_json
from infimum.io.regular import check_regular, open_regular
from infimum.io.stored import StoredArray

TYPES = {
    **{f"F{bits}": np.dtype(f"<f{bits // 8}") for bits in (16, 32, 64)},
    **{f"I{bits}": np.dtype(f"<i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"<u{bits // 8}") for bits in (8, 16, 32, 64)},
    "BOOL": np.dtype(bool),
}
"""Types of numbers in safetensors that numpy has too."""

LONGEST = 100_000_000
"""Bytes of a header, as the library has it."""


def open_safetensors(
    path: Path, wanted: set[str] | None = None
) -> tuple[dict[str, StoredArray], dict[str, str]]:
    """The arrays of a file by name, only those `wanted` if given, not yet read, and its metadata.

    Raises InputError where it is damaged, cut short or something else, and for wanted numbers that numpy does not have.

    >>> import tempfile
    >>> from infimum.io.files import write_safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.safetensors"
    ...     write_safetensors(path, {"x": np.arange(3.0)}, {"made": "here"})
    ...     arrays, metadata = open_safetensors(path)
    ...     arrays["x"][1:], metadata
    (array([1., 2.]), {'made': 'here'})
    """
    start, header = _header(path)
    metadata = _text_by_name(header.pop("__metadata__", {}), path)
    places = {name: _place(entry, name, path) for name, entry in header.items()}
    end = start
    for name, (kind, shape, begin, stop) in sorted(places.items(), key=lambda item: item[1][2:]):
        size = math.prod(shape) * TYPES[kind].itemsize if kind in TYPES else stop - begin
        if start + begin != end or stop - begin != size or size < 0:
            raise _damaged(path, f"{name!r} does not lie where its shape and those before it say")
        end += size
    if end != path.stat().st_size:
        raise _damaged(path, f"it should have {end} bytes, and has {path.stat().st_size}")
    arrays = {}
    for name, (kind, shape, begin, _) in places.items():
        if wanted is not None and name not in wanted:
            continue
        if kind not in TYPES:
            raise InputError(
                f"{path}: {name} is of type {kind[:20]}, which is not read; write it as float32: tensor.float()"
            )
        arrays[name] = StoredArray(path, start + begin, shape, TYPES[kind])
    return arrays, metadata


def safetensors_names(path: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the arrays, and the metadata."""
    _, header = _header(path)
    metadata = header.pop("__metadata__", {})
    return tuple(header), _text_by_name(metadata, path)


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    """Where the numbers begin, and what the header says."""
    size = check_regular(path)
    with open_regular(path) as file:
        try:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(LONGEST, size - 8):
                raise _damaged(path, f"its header should have {length} bytes")
            text = file.read(length)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    header = parse_json(text, f"the header of {path}")
    if not isinstance(header, dict):
        raise _damaged(path, "its header does not hold an object")
    return 8 + length, header


def _text_by_name(metadata: Any, path: Path) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise _damaged(path, "its metadata are not text")
    return metadata


def _place(entry: Any, name: str, path: Path) -> tuple[str, tuple[int, ...], int, int]:
    """Type, shape, and first and last place of an array's bytes, counted from the end of the header."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"{name!r} has not a type, a shape and a place")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2:
        raise _damaged(path, f"the type, shape or place of {name!r} cannot be")
    return kind, tuple(shape), offsets[0], offsets[1]


def _sizes(values: Any) -> bool:
    """Whether these are whole numbers that an array's sizes and places may be."""
    return (
        isinstance(values, list)
        and len(values) <= 32
        and all(type(value) is int and 0 <= value < 2**62 for value in values)
    )


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is not a readable npz, safetensors or Parquet file, or is damaged: {why}")
