"""Arrays that lie in files, read by rows as they are asked for, whatever their size.

They are not mapped: whoever cuts a mapped file short ends, by SIGBUS and without a word, the process that reads it.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import EllipsisType
from typing import IO, Any

import numpy as np

from infimum._checks import Array, check_text
from infimum.errors import InputError


class StoredArray:
    """An array (n, …) whose numbers begin at the byte `start` of a file: `stored[rows]` reads these rows.

    Rows are a slice, an array of row numbers, one number, or `...` for all. InputError where the file was changed
    after this object was made, or cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numbers"
    ...     _ = path.write_bytes(np.arange(6.0).tobytes())
    ...     StoredArray(path, 0, (3, 2), np.dtype(float))[1:]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(
        self, path: Path, start: int, shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool = False
    ) -> None:
        self.path, self.start, self.shape, self.dtype = path, start, shape, dtype
        self.fortran = fortran and len(shape) > 1
        self._version = _version(os.stat(path))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Array | int | EllipsisType) -> Array:
        if rows is ... or not self.shape:
            return self._read(0, self.shape[0] if self.shape else 1).reshape(self.shape)
        if isinstance(rows, slice):
            begin, end, step = rows.indices(len(self))
            return self._read(begin, max(begin, end)) if step == 1 else self[...][rows]
        wanted = np.asarray(rows)
        if wanted.size == 0:
            return self._read(0, 0)
        first = int(wanted.min())
        if first < 0:
            return np.asarray(self[...][wanted])
        return np.asarray(self._read(first, int(wanted.max()) + 1)[wanted - first])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = self[...]
        return whole if dtype is None else whole.astype(dtype)

    def mapped(self) -> Array:
        """The array as a map of the file: only for files of this process's own, which nobody else cuts short.

        A plain view, which keeps the map open: numpy.memmap's own type would be copied about by every slice.
        """
        if self.size == 0:
            return self[...]
        order: Any = "F" if self.fortran else "C"
        return np.asarray(np.memmap(self.path, self.dtype, "r", self.start, self.shape, order))

    def _read(self, begin: int, end: int) -> Array:
        """Rows `begin` to `end`."""
        row = self.dtype.itemsize * (self.size // max(1, len(self)) if self.shape else 1)
        shape = (end - begin, *self.shape[1:])
        if self.dtype.itemsize == 0 or 0 in shape:
            return np.empty(shape, self.dtype)
        try:
            with self.path.open("rb", buffering=0) as file:
                if _version(os.fstat(file.fileno())) != self._version:
                    raise InputError(f"{self.path} was changed while it was read; begin anew")
                if not self.fortran:
                    data = np.empty(shape, self.dtype)
                    self._fill(file, self.start + begin * row, data)
                    return check_text(data, str(self.path))
                # Its bytes are those of the transposed array: a row's numbers lie far apart.
                columns = np.empty((row // self.dtype.itemsize, end - begin), self.dtype)
                for number, column in enumerate(columns):
                    self._fill(file, self.start + (number * len(self) + begin) * self.dtype.itemsize, column)
                table = np.ascontiguousarray(columns.reshape(*self.shape[:0:-1], end - begin).T)
                return check_text(table, str(self.path))
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from error

    def _fill(self, file: IO[bytes], place: int, data: Array) -> None:
        """Fill a contiguous array with the bytes at a place."""
        missing = memoryview(data.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        file.seek(place)
        while missing:
            count = file.readinto(missing)  # type: ignore[attr-defined]
            if not count:
                raise InputError(
                    f"{self.path} was cut short while it was read; {len(missing)} bytes are missing"
                )
            missing = missing[count:]


def _version(status: os.stat_result) -> tuple[int, int]:
    """What tells one version of a file from another."""
    return status.st_size, status.st_mtime_ns
