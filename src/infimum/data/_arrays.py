"""Inputs in arrays: in memory, an .npy file, or an .npz file, whose rows are read, or unpacked, as they are needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import ID_NAMES, LABEL_NAMES, Batch, file_fingerprint, named, take_rows
from infimum.errors import InputError
from infimum.io.checksums import check_sums
from infimum.io.lazily import map_npy, map_npz
from infimum.io.npz import open_archive

ABOUT_INPUTS = (*LABEL_NAMES, *ID_NAMES, "class_names", "weights")


class PackedArray:
    """An array in a compressed npz, unpacked row by row from its beginning: `len`, `dtype`, `batches`."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        with open_archive(path) as npz:
            header = npz.header(name)
        self.shape, self.dtype = header.shape, header.dtype
        if header.fortran and len(self.shape) > 1:
            raise InputError(
                f"{path}: {name} is compressed and in Fortran order, so it cannot be read row by row; "
                "save it with np.savez, or in C order: np.ascontiguousarray"
            )

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def batches(self, size: int, start: int) -> Iterator[Array]:
        """Rows from `start` on, `size` at a time; what lies before is unpacked and dropped."""
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        with open_archive(self.path) as npz, npz.archive.open(npz.members[self.name]) as file:
            file.seek(npz.header(self.name).start + start * row)
            for begin in range(start, len(self), size):
                count = min(size, len(self) - begin)
                data = file.read(count * row)
                if len(data) != count * row:
                    raise InputError(f"{self.path}: {self.name} is cut short at row {begin}")
                yield np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])


class ArrayData:
    """Arrays in memory, in files or packed: `inputs` is one array (n, …) or a dict of them by name.

    >>> import numpy as np
    >>> data = ArrayData(np.arange(6).reshape(3, 2), labels=np.array([0, 1, 1]))
    >>> [(batch.labels.tolist(), batch.stop) for batch in data.batches(2)]
    [([0, 1], 2), ([1], 3)]
    """

    def __init__(
        self,
        inputs: Any,
        labels: Any = None,
        ids: Any = None,
        *,
        class_names: Any = None,
        name: str = "the data",
        path: Path | None = None,
        zipped: bool = False,
    ) -> None:
        self.name, self.path, self.inputs, self._zipped = name, path, inputs, zipped
        self.labels, self.ids = labels, ids
        self.class_names = (
            None if class_names is None else tuple(map(str, np.asarray(class_names).reshape(-1)))
        )
        self.bad: list[str] = []
        arrays = inputs if isinstance(inputs, dict) else {"the inputs": inputs}
        lengths = {key: _length(array, f"{name}: {key}") for key, array in arrays.items()}
        for key, array in (("labels", labels), ("ids", ids)):
            if array is not None:
                lengths[key] = _length(array, f"{name}: {key}")
        if len(set(lengths.values())) != 1:
            found = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise InputError(f"{name}: the arrays differ in length ({found}); one row per input is needed")
        self.n: int = next(iter(lengths.values()))
        if self.n == 0:
            raise InputError(f"{name} is empty")

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Batches in order of rows, copied out of the file, whose checksums are seen to before the first."""
        if self._zipped and self.path is not None:
            check_sums(self.path)
        packed = {
            key: array.batches(size, start) for key, array in self._named() if isinstance(array, PackedArray)
        }
        for begin in range(start, self.n, size):
            stop = min(begin + size, self.n)
            rows = slice(begin, stop)
            parts = {
                key: next(packed[key]) if key in packed else take_rows(array, rows)
                for key, array in self._named()
            }
            yield Batch(
                inputs=parts if isinstance(self.inputs, dict) else parts[""],
                positions=np.arange(begin, stop),
                stop=stop,
                labels=None if self.labels is None else take_rows(self.labels, rows),
                ids=None if self.ids is None else take_rows(self.ids, rows),
            )

    def fingerprint(self) -> str:
        """Of the file; arrays in memory are told by a hash of their shapes and bytes."""
        if self.path is not None:
            return file_fingerprint(self.path)
        import hashlib

        digest = hashlib.sha256()
        for key, array in (*self._named(), ("labels", self.labels), ("ids", self.ids)):
            if array is not None:
                digest.update(f"{key} {array.dtype} {array.shape}".encode())
                for begin in range(0, len(array), step := max(1, 2**24 // max(1, array[:1].nbytes))):
                    digest.update(np.ascontiguousarray(array[begin : begin + step]).tobytes())
        return f"arrays, sha256 {digest.hexdigest()}"

    def _named(self) -> list[tuple[str, Any]]:
        return list(self.inputs.items()) if isinstance(self.inputs, dict) else [("", self.inputs)]


def _length(array: Any, what: str) -> int:
    if not array.shape:
        raise InputError(f"{what} is a single number; one row per input is needed")
    if array.dtype.hasobject:
        raise InputError(f"{what} holds Python objects; pass numbers or text")
    return len(array)


def open_npy(path: Path) -> ArrayData:
    """Inputs (n, …) in an .npy file."""
    return ArrayData(map_npy(path), name=str(path), path=path)


def open_npz(path: Path) -> ArrayData:
    """Inputs in an .npz file: the arrays beside labels (`labels`, `y`, …) and `ids`; several go by their names."""
    with open_archive(path) as npz:
        stored = [name for name in npz.members if npz.stored(name)]
        foreign = [info.filename for info in npz.members.values() if not info.filename.endswith(".npy")]
        names = list(npz.members)
    if foreign:
        raise InputError(f"{path} is a zip file but not an npz; it holds {', '.join(foreign[:5])}")
    whole = map_npz(path, [name for name in names if name in stored or name in ABOUT_INPUTS])
    arrays = {name: whole[name] if name in whole else PackedArray(path, name) for name in names}
    return from_named(arrays, str(path), path)


def from_named(arrays: Mapping[str, Any], name: str, path: Path | None = None) -> ArrayData:
    """Arrays by name: labels and ids by their usual names, the rest are the inputs."""
    label, identity = named(arrays, LABEL_NAMES, name), named(arrays, ID_NAMES, name)
    inputs = {key: array for key, array in arrays.items() if key not in ABOUT_INPUTS}
    if not inputs:
        raise InputError(f"{name} holds no inputs beside {', '.join(arrays) or 'nothing'}")
    if "weights" in arrays:
        raise InputError(
            f"{name} holds weights, which running a network does not carry: leave them out here, and add them to its "
            "outputs as Outputs(..., weights=weights); an input of that name needs another"
        )
    if label is not None and arrays[label].ndim > 1:
        raise InputError(
            f"{name}: {label!r} is read as the labels, but has shape {tuple(arrays[label].shape)}, not (n,); an input "
            "of that name needs another, and one-hot labels need labels.argmax(axis=1)"
        )
    return ArrayData(
        inputs=next(iter(inputs.values())) if len(inputs) == 1 else inputs,
        labels=None if label is None else arrays[label],
        ids=None if identity is None else arrays[identity],
        class_names=arrays.get("class_names"),
        name=name,
        path=path,
        zipped=path is not None,
    )
