"""npy arrays and uncompressed npz members: opened without reading them, whatever their size."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError
from infimum.files import read_arrays, read_bytes
from infimum.stored import StoredArray

ROWWISE = (
    *("logits", "probabilities", "probs", "labels", "features", "ids", "weights"),
    *("id_source", "input_hash"),
)
"""Arrays of outputs that have one entry per input."""

_LOCAL_HEADER = 30
"""Bytes of a zip member's own header before its name; bytes 26–29 hold the lengths of name and extra field."""


def map_npy(path: str | Path) -> StoredArray:
    """The array of an .npy file, not yet read; InputError for Python objects, or a file cut short.

    >>> map_npy("missing.npy")
    Traceback (most recent call last):
    infimum.errors.InputError: missing.npy does not exist
    """
    path = Path(path)
    read_bytes(path, 1)
    with path.open("rb") as file:
        return _map(path, file, path.stat().st_size)


def map_npz(path: str | Path) -> dict[str, Array | StoredArray]:
    """The arrays of an .npz file by name: not yet read, or whole where they are compressed."""
    path = Path(path)
    read_bytes(path, 1)
    arrays: dict[str, Array | StoredArray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is damaged or cut short ({error})") from error
    packed = []
    for member in members:
        name = member.filename.removesuffix(".npy")
        if member.compress_type != zipfile.ZIP_STORED or not member.filename.endswith(".npy"):
            packed.append(name)
            continue
        with path.open("rb") as file:
            arrays[name] = _map(path, file, seek_member(file, member) + member.file_size)
    if packed:
        arrays.update(read_arrays(path, packed))
    return {name: arrays[name] for name in (member.filename.removesuffix(".npy") for member in members)}


def npz_blocks(
    parts: list[Path],
) -> tuple[int, Callable[[tuple[str, ...], int, int], Iterator[dict[str, Array]]]]:
    """Rows of all parts, and a reader of them block by block (see `stream.Read`).

    A part with compressed arrays is unpacked once. The bytes of a part that is read from its first row to its last
    are held against the file's CRC-32.
    """
    starts, packed = [0], []
    for path in parts:
        arrays = map_npz(path)
        packed.append(any(isinstance(array, np.ndarray) for array in arrays.values()))
        lengths = {len(a) for name, a in arrays.items() if name in ROWWISE and a.ndim}
        if len(lengths) > 1:
            raise InputError(f"{path}: its arrays differ in length ({sorted(lengths)})")
        starts.append(starts[-1] + (lengths.pop() if lengths else 0))

    def read(names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
        for first, stop, path, unpacked in zip(starts, starts[1:], parts, packed, strict=False):
            held = map_npz(path) if unpacked and start < stop else None
            sums = None if unpacked or start > first or first == stop else _Sums(path, names)
            for begin in range(max(start, first), stop, rows):
                block = slice(begin - first, min(begin + rows, stop) - first)
                arrays = map_npz(path) if held is None else held
                missing = [name for name in names if name not in arrays]
                if missing:
                    raise InputError(f"{path} lacks {', '.join(missing)}, which the first part holds")
                if any(len(arrays[name]) != stop - first for name in names if name in ROWWISE):
                    raise InputError(
                        f"{path} has not the {stop - first} rows that it had: was it changed meanwhile?"
                    )
                copies = {name: np.asarray(arrays[name][block if name in ROWWISE else ...]) for name in names}
                if sums is not None:
                    sums.add(copies)
                yield copies
            if sums is not None:
                sums.check()

    return starts[-1], read


class _Sums:
    """CRC-32 of an npz's arrays as their rows are read, in order: reading by place does not look at it."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self._path = path
        self._found: dict[str, int] = {}
        self._written: dict[str, int] = {}
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name in names and name in ROWWISE:
                    begin = seek_member(file, member)
                    shape, fortran, _ = read_npy_header(file, str(path))
                    if fortran and len(shape) > 1:  # its bytes do not lie row by row
                        continue
                    length = file.tell() - begin
                    file.seek(begin)
                    self._found[name], self._written[name] = zlib.crc32(file.read(length)), member.CRC

    def add(self, arrays: dict[str, Array]) -> None:
        for name, found in self._found.items():
            self._found[name] = zlib.crc32(arrays[name].data, found)

    def check(self) -> None:
        for name, found in self._found.items():
            if found != self._written[name]:
                raise InputError(
                    f"{self._path} is damaged: {name} are not what was written (CRC-32); copy or write it again"
                )


def seek_member(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Go to the first byte of a zip member's data, and tell where that is."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise InputError(f"{file.name} is damaged: no member begins where {member.filename!r} should")
    return file.seek(
        member.header_offset
        + _LOCAL_HEADER
        + int.from_bytes(header[26:28], "little")
        + int.from_bytes(header[28:30], "little")
    )


def read_npy_header(file: Any, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype of the npy data that begins here."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(file)
    except (ValueError, KeyError, EOFError) as error:
        raise InputError(f"{what} is not a readable npy array ({error})") from error
    if dtype.hasobject:
        raise InputError(
            f"{what} holds Python objects (a pickle), which can run code when read; save numbers or text"
        )
    return shape, fortran, dtype


def _map(path: Path, file: IO[bytes], end: int) -> StoredArray:
    shape, fortran, dtype = read_npy_header(file, str(path))
    start = file.tell()
    # Python integers: a header can claim sizes that overflow numpy's.
    size = dtype.itemsize
    for length in shape:
        size *= length
    if start + size > end:
        raise InputError(
            f"{path} is cut short: an array of shape {shape} needs {size} bytes, {end - start} are there"
        )
    return StoredArray(path, start, shape, dtype, fortran)
