"""npy arrays and uncompressed npz members, not read before their rows are asked for, whatever their size."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from infimum._checks import Array, check_text
from infimum.errors import InputError
from infimum.io.memory import check_fits
from infimum.io.npy import NpyHeader, read_npy_header
from infimum.io.npz import Npz, open_archive
from infimum.io.regular import check_regular, open_regular
from infimum.io.stored import StoredArray

ROWWISE = (
    *("logits", "probabilities", "probs", "labels", "features", "ids", "weights"),
    *("id_source", "input_hash"),
)
"""Arrays of outputs that have one entry per input."""


def map_npy(path: str | Path) -> StoredArray:
    """The array of an .npy file, not yet read; InputError for Python objects, or a file cut short.

    >>> map_npy("missing.npy")
    Traceback (most recent call last):
    infimum.errors.InputError: missing.npy does not exist
    """
    path = Path(path)
    with open_regular(path) as file:
        header = read_npy_header(file, str(path), check_regular(path))
    return _map(path, header, 0)


def map_npz(path: str | Path, wanted: Iterable[str] | None = None) -> dict[str, Array | StoredArray]:
    """The arrays of an .npz file by name, only those `wanted` if given: not yet read, or whole where compressed."""
    path = Path(path)
    with open_archive(path) as npz:
        names = [name for name in npz.members if wanted is None or name in wanted]
        arrays = {**_unpacked(npz, names), **_mapped(npz, names)}
    return {name: arrays[name] for name in names}


def _mapped(npz: Npz, names: Iterable[str]) -> dict[str, Array | StoredArray]:
    """Those of the named arrays that are not compressed."""
    found = [name for name in names if name in npz.members and npz.stored(name)]
    return {name: _map(npz.path, npz.header(name), npz.place(name)) for name in found}


def _unpacked(npz: Npz, names: Iterable[str]) -> dict[str, Array]:
    """Those of the named arrays that are compressed."""
    found = [name for name in names if name in npz.members and not npz.stored(name)]
    check_fits(sum(npz.members[name].file_size for name in found), npz.path)
    return {name: npz.read(name) for name in found}


def npz_blocks(
    parts: list[Path],
) -> tuple[int, Callable[[tuple[str, ...], int, int], Iterator[dict[str, Array]]]]:
    """Rows of all parts, and a reader of them block by block (see `stream.Read`).

    A part with compressed arrays is unpacked once. The bytes of a part that is read from its first row to its last
    are held against the file's CRC-32.
    """
    starts = [0]
    for path in parts:
        with open_archive(path) as npz:
            shapes = [npz.header(name).shape for name in ROWWISE if name in npz.members]
        lengths = {shape[0] for shape in shapes if shape}
        if len(lengths) > 1:
            raise InputError(f"{path}: its arrays differ in length ({sorted(lengths)})")
        starts.append(starts[-1] + (lengths.pop() if lengths else 0))

    def read(names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
        for first, stop, path in zip(starts, starts[1:], parts, strict=False):
            if stop <= max(start, first):
                continue
            with open_archive(path) as npz:
                held = _unpacked(npz, names)
            sums = None if start > first else _Sums(path, names)
            for begin in range(max(start, first), stop, rows):
                block = slice(begin - first, min(begin + rows, stop) - first)
                with open_archive(path) as npz:
                    arrays = {**held, **_mapped(npz, names)}
                missing = [name for name in names if name not in arrays]
                if missing:
                    raise InputError(f"{path} lacks {', '.join(missing)}, which the first part holds")
                if any(arrays[name].shape[:1] != (stop - first,) for name in names if name in ROWWISE):
                    raise InputError(
                        f"{path} has not the {stop - first} rows that it had: was it changed meanwhile?"
                    )
                copies = {name: np.asarray(arrays[name][block if name in ROWWISE else ...]) for name in names}
                if sums is not None:
                    sums.add(copies)
                yield {name: check_text(array, f"{path}: {name}") for name, array in copies.items()}
            if sums is not None:
                sums.check()

    return starts[-1], read


class _Sums:
    """CRC-32 of an npz's arrays as their rows are read, in order: whoever maps a file never looks at it."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self._path = path
        self._found: dict[str, int] = {}
        self._written: dict[str, int] = {}
        with open_archive(path) as npz, open_regular(path) as file:
            for name in names:
                if name not in ROWWISE or name not in npz.members or not npz.stored(name):
                    continue
                header = npz.header(name)
                if header.fortran and len(header.shape) > 1:  # its bytes do not lie row by row
                    continue
                file.seek(npz.place(name))
                self._found[name] = zlib.crc32(file.read(header.start))
                self._written[name] = npz.members[name].CRC

    def add(self, arrays: dict[str, Array]) -> None:
        for name, found in self._found.items():
            self._found[name] = zlib.crc32(arrays[name].reshape(-1).view(np.uint8).data, found)

    def check(self) -> None:
        for name, found in self._found.items():
            if found != self._written[name]:
                raise InputError(
                    f"{self._path} is damaged: {name} are not what was written (CRC-32); copy or write it again"
                )


def _map(path: Path, header: NpyHeader, begin: int) -> StoredArray:
    """The array whose header begins at a place of a file."""
    return StoredArray(path, begin + header.start, header.shape, header.dtype, header.fortran)
