"""Labels that lie beside the data: a CSV (`file,label` or `id,label`), an .npy file, or an array."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import Batch, Data, file_fingerprint, to_numpy
from infimum.errors import InputError
from infimum.io.csv_files import check_header, csv_rows, plain_cell
from infimum.io.files import read_bytes
from infimum.io.lazily import map_npy
from infimum.io.stored import StoredArray

LONGEST = 18
"""Digits of a class index that an int64 holds for certain."""

IMAGES = frozenset(["bmp", "gif", "jpeg", "jpg", "png", "ppm", "tif", "tiff", "webp"])
"""Endings that an id column often leaves out. Others may be part of the id: v1.2."""


class LabelledData:
    """Data with labels from elsewhere: an array (n,) by position, or a table by id. `labels=None` takes them away.

    `class_names` are those of the data where the table gave classes by these names.
    """

    def __init__(
        self,
        data: Data,
        labels: Array | StoredArray | dict[str, int] | dict[str, str] | None,
        source: str,
        fingerprint: str,
        class_names: tuple[str, ...] | None = None,
    ) -> None:
        self.data, self.labels, self.source = data, labels, source
        self.name, self.n, self.bad = data.name, data.n, data.bad
        self.class_names = class_names
        self._fingerprint = fingerprint
        self._stems: dict[str, str] = {}
        if not isinstance(labels, dict | None):
            if labels.ndim != 1 or labels.dtype.hasobject:
                raise InputError(f"{source} must hold one whole number per input, not shape {labels.shape}")
            if data.n is not None and len(labels) != data.n:
                raise InputError(f"{source} has {len(labels)} labels, but {data.name} has {data.n} inputs")

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The data's batches with these labels."""
        read = start
        for batch in self.data.batches(size, start):
            read = batch.stop
            yield dataclasses.replace(batch, labels=self._labels_of(batch))
        if self.labels is not None and not isinstance(self.labels, dict) and read < len(self.labels):
            raise InputError(
                f"{self.source} has {len(self.labels)} labels, but {self.name} gave {read} inputs"
            )

    def fingerprint(self) -> str:
        """Of the data and the labels."""
        return f"{self.data.fingerprint()}; labels: {self._fingerprint}"

    def _labels_of(self, batch: Batch) -> Array | None:
        if self.labels is None:
            return None
        if not isinstance(self.labels, dict):
            if len(batch.positions) and int(batch.positions[-1]) >= len(self.labels):
                raise InputError(
                    f"{self.source} has {len(self.labels)} labels, but {self.name} has more inputs"
                )
            return np.asarray(self.labels[batch.positions])
        keys = batch.positions if batch.ids is None else batch.ids
        found = [self._label_of(key, self.labels) for key in map(str, keys.tolist())]
        return np.array(found) if found and isinstance(found[0], str) else np.array(found, np.int64)

    def _label_of(self, key: str, labels: dict[str, int] | dict[str, str]) -> int | str:
        label: int | str | None = labels.get(key)
        stem, _, ending = key.rpartition(".")
        if label is None and ending.lower() in IMAGES and stem in labels:
            if self._stems.setdefault(stem, key) != key:
                raise InputError(
                    f"{self.source} has a label for {stem!r}, which may be that of {self._stems[stem]!r} or of "
                    f"{key!r}; write the endings too"
                )
            label = labels[stem]
        if label is None:
            raise InputError(f"{self.source} has no label for {key!r} of {self.name}")
        return label


def with_labels(data: Data, labels: Any) -> Data:
    """Data with labels from a CSV, an .npy file or an array; "none" drops the labels that the data have."""
    if isinstance(labels, str) and labels == "none":
        return LabelledData(data, None, "none", "none")
    if not isinstance(labels, str | Path):
        array = to_numpy(labels)
        return LabelledData(
            data, array, "labels", f"an array, sha256 {hashlib.sha256(array.tobytes()).hexdigest()}"
        )
    path = Path(labels)
    if read_bytes(path, 6) == b"\x93NUMPY":
        return LabelledData(data, map_npy(path), str(path), file_fingerprint(path))
    labels, named = read_label_csv(path, data.class_names)
    return LabelledData(data, labels, str(path), file_fingerprint(path), data.class_names if named else None)


def read_label_csv(
    path: Path, class_names: tuple[str, ...] | None = None
) -> tuple[dict[str, int] | dict[str, str], bool]:
    """Labels by file or id, and whether they were names of `class_names`, whose positions they then are.

    Labels are class indices 0..K−1, or names; names that the data do not say remain names, for the network to know.
    Raises InputError naming the line of a missing, doubled or unreadable entry.
    """
    index = {name: i for i, name in enumerate(class_names or ())}
    labels: dict[str, int | str] = {}
    named = False
    rows = csv_rows(path)
    columns = check_header(next(rows, (1, []))[1], path)
    key = next((name for name in ("file", "id") if name in columns), None)
    if key is None or "label" not in columns:
        raise InputError(
            f"{path} must begin with a line that names its columns, file,label or id,label; "
            f"it begins with {','.join(columns)[:80]!r}"
        )
    for line, entries in rows:
        where = f"{path}: line {line}"
        if len(entries) > len(columns):
            raise InputError(f"{where} has {len(entries)} entries, but there are {len(columns)} columns")
        row = dict(zip(columns, entries, strict=False))
        name, text = (plain_cell(row.get(column, "")) for column in (key, "label"))
        text = text.strip()
        if not name or not text:
            raise InputError(f"{where} is not complete; {key} and label are needed")
        name = name.replace("\\", "/").removeprefix("./")
        if name in labels:
            raise InputError(f"{where}: {name!r} is there twice")
        named = named or text in index
        labels[name] = _class_of(text, index, where)
    if not labels:
        raise InputError(f"{path} holds no labels")
    numbers = {name: label for name, label in labels.items() if isinstance(label, int)}
    names = {name: label for name, label in labels.items() if isinstance(label, str)}
    if numbers and names:
        raise InputError(
            f"{path} holds class indices and names, as {next(iter(numbers.values()))} and "
            f"{next(iter(names.values()))!r}; give all by index or all by name"
        )
    return numbers or names, named


def _class_of(text: str, index: dict[str, int], where: str) -> int | str:
    # Names come first: class folders may be called 1, 2, 3.
    if text in index:
        return index[text]
    if text.isascii() and text.isdecimal() and not any(name.isdecimal() for name in index):
        if len(text) > LONGEST:
            raise InputError(f"{where}: {text[:40]!r} is not a class index 0..K-1")
        return int(text)
    if index:
        raise InputError(f"{where}: {text!r} is none of the classes {', '.join(list(index)[:10])}")
    if text.removeprefix("-").replace(".", "").isdecimal():
        raise InputError(f"{where}: {text!r} is not a class index 0..K-1")
    return text
