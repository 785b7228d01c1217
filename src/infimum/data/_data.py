"""What every reader gives: batches of inputs with their labels and ids, and a fingerprint of the whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.regular import check_regular, open_regular
from infimum.io.stored import StoredArray

LABEL_NAMES = ("labels", "label", "y", "targets", "target")
ID_NAMES = ("ids", "id")


@dataclass(frozen=True, eq=False)
class Batch:
    """Inputs (n, …), or a dict of them by name, with labels (n,) and ids (n,) where known.

    `stop` is the position in the data after the last one read: reading can begin again there. `positions` (n,)
    is where each row came from; bad inputs that were skipped leave gaps. `columns` names the inputs' columns, where
    they come from a table of single numbers. `id_source`: where ids are relative paths, a fingerprint of what they are
    relative to. `input_hash` (n,) of the inputs as read, before preprocessing.
    """

    inputs: Any
    positions: Array
    stop: int
    labels: Array | None = None
    ids: Array | None = None
    columns: tuple[str, ...] | None = None
    id_source: int | None = None
    input_hash: Array | None = None

    def __len__(self) -> int:
        return len(self.positions)


@runtime_checkable
class Data(Protocol):
    """A data set that is read in order."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    @property
    def n(self) -> int | None:
        """How many positions it has; None: not known before the end."""
        ...

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes, where its labels came with names."""
        ...

    @property
    def bad(self) -> list[str]:
        """The inputs skipped so far, each with what is wrong with it."""
        ...

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Batches of `size` inputs (the last may be smaller), from position `start` on."""
        ...

    def fingerprint(self) -> str:
        """Text that differs when the data differ; InputError where that cannot be told."""
        ...


class BadInputs:
    """Inputs that cannot be read: an error, or, where `skip` is set, a growing list of their names."""

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.names: list[str] = []

    def meet(self, name: str, problem: str) -> None:
        """Note a bad input, or raise."""
        if not self.skip:
            raise InputError(
                f"{name}: {problem}; mend or remove it, or leave such inputs out (skip_bad=True, "
                "--network skip_bad=yes)"
            )
        self.names.append(f"{name}: {problem}")


def count_rows(inputs: Any) -> int:
    """Inputs in a batch: an array's length, or that of several arrays (a tuple, or a mapping by name).

    Raises InputError if several arrays differ in length, or there are none.

    >>> count_rows({"ids": np.zeros((3, 8)), "mask": np.zeros((3, 8))})
    3
    """
    if not isinstance(inputs, Mapping | tuple):
        return len(inputs)
    arrays = dict(inputs) if isinstance(inputs, Mapping) else dict(enumerate(inputs))
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(f"the inputs of a batch must have one number of rows, not {lengths}")
    return next(iter(lengths.values()))


def to_numpy(values: Any) -> Any:
    """An array, or a torch tensor of any device and kind, as numpy; bfloat16, which numpy lacks, as float32.

    Raises InputError for a masked array, whose mask a network does not see.

    >>> to_numpy([1, 2]).tolist()
    [1, 2]
    """
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(
            "a masked array was given, and a network does not see its mask; fill it: values.filled(0)"
        )
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    return np.asarray(values)


def take_rows(inputs: Any, rows: Any) -> Any:
    """Some rows of a batch, copied or read; dicts by name."""
    if isinstance(inputs, dict):
        return {name: take_rows(array, rows) for name, array in inputs.items()}
    return inputs[rows] if isinstance(inputs, StoredArray) else np.array(inputs[rows])


def named(arrays: Iterable[str], names: tuple[str, ...], what: str) -> str | None:
    """The one of `names` that is among the arrays, if any; InputError for several."""
    found = [name for name in arrays if name in names]
    if len(found) > 1:
        raise InputError(f"{what} has several arrays of one kind: {', '.join(found)}; keep one of them")
    return found[0] if found else None


def file_fingerprint(path: Path) -> str:
    """Size, time of change, and a hash of the first and last MiB: a changed file is told without reading it all."""
    edge = 2**20
    check_regular(path)
    try:
        status = path.stat()
        with open_regular(path) as file:
            digest = hashlib.sha256(file.read(edge))
            if status.st_size > edge:
                file.seek(max(edge, status.st_size - edge))
                digest.update(file.read(edge))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return f"{status.st_size} bytes, {status.st_mtime_ns}, sha256 {digest.hexdigest()}"


def folder_fingerprint(folder: Path) -> str:
    """A hash of the names, sizes and times of change of all files in a folder."""
    digest = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            status = os.lstat(os.path.join(place, name))
            relative = os.path.relpath(os.path.join(place, name), folder)
            digest.update(
                f"{relative}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape")
            )
    return f"folder, sha256 {digest.hexdigest()}"


def path_fingerprint(path: str | Path) -> str:
    """Fingerprint of a file or a folder."""
    path = Path(path)
    return folder_fingerprint(path) if path.is_dir() else file_fingerprint(path)
