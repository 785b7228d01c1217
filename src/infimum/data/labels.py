"""Labels that lie beside the data: a CSV (`file,label` or `id,label`), an .npy file, or an array."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.data.base import Batch, Data, file_fingerprint
from infimum.errors import InputError
from infimum.files import read_bytes
from infimum.mapped import map_npy


class Labelled:
    """Data with labels from elsewhere: an array (n,) by position, or a table by id. `labels=None` takes them away."""

    def __init__(
        self, data: Data, labels: Array | dict[str, int] | None, source: str, fingerprint: str
    ) -> None:
        self.data, self.labels, self.source = data, labels, source
        self.name, self.n, self.bad = data.name, data.n, data.bad
        self.class_names = None
        self._fingerprint = fingerprint
        if not isinstance(labels, dict | None):
            if labels.ndim != 1 or labels.dtype.hasobject:
                raise InputError(f"{source} must hold one whole number per input, not shape {labels.shape}")
            if data.n is not None and len(labels) != data.n:
                raise InputError(f"{source} has {len(labels)} labels, but {data.name} has {data.n} inputs")

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The data's batches with these labels."""
        for batch in self.data.batches(size, start):
            yield dataclasses.replace(batch, labels=self._labels_of(batch))

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
        found = np.empty(len(keys), np.int64)
        for row, key in enumerate(map(str, keys.tolist())):
            label = self.labels.get(key)
            if label is None and "." in key:  # an id column often leaves the file's ending out
                label = self.labels.get(key.rpartition(".")[0])
            if label is None:
                raise InputError(f"{self.source} has no label for {key!r} of {self.name}")
            found[row] = label
        return found


def with_labels(data: Data, labels: Any) -> Data:
    """Data with labels from a CSV, an .npy file or an array; "none" drops the labels that the data have."""
    if isinstance(labels, str) and labels == "none":
        return Labelled(data, None, "none", "none")
    if not isinstance(labels, str | Path):
        array = np.asarray(labels)
        return Labelled(
            data, array, "labels", f"an array, sha256 {hashlib.sha256(array.tobytes()).hexdigest()}"
        )
    path = Path(labels)
    if read_bytes(path, 6) == b"\x93NUMPY":
        return Labelled(data, map_npy(path), str(path), file_fingerprint(path))
    return Labelled(data, read_label_csv(path, data.class_names), str(path), file_fingerprint(path))


def read_label_csv(path: Path, class_names: tuple[str, ...] | None = None) -> dict[str, int]:
    """Labels by file or id. Labels are class indices 0..K−1, or names where the data say the classes' names.

    Raises InputError naming the line of a missing, doubled or unreadable entry.
    """
    index = {name: i for i, name in enumerate(class_names or ())}
    labels: dict[str, int] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or []
            key = next((name for name in ("file", "id") if name in columns), None)
            if key is None or "label" not in columns:
                raise InputError(
                    f"{path} must begin with a line that names its columns, file,label or id,label; "
                    f"it begins with {','.join(columns)[:80]!r}"
                )
            for row in rows:
                name, text = row[key], row["label"]
                where = f"{path}: line {rows.line_num}"
                if not name or text is None or not text.strip():
                    raise InputError(f"{where} is not complete; {key} and label are needed")
                if name in labels:
                    raise InputError(f"{where}: {name!r} is there twice")
                labels[name.replace("\\", "/")] = _class_of(text.strip(), index, where)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is neither a CSV of labels nor an .npy file ({error})") from error
    if not labels:
        raise InputError(f"{path} holds no labels")
    return labels


def _class_of(text: str, index: dict[str, int], where: str) -> int:
    # Names come first: class folders may be called 1, 2, 3.
    if text in index:
        return index[text]
    if text.isascii() and text.isdecimal() and not any(name.isdecimal() for name in index):
        return int(text)
    if index:
        raise InputError(f"{where}: {text!r} is none of the classes {', '.join(list(index)[:10])}")
    raise InputError(f"{where}: {text!r} is not a class index 0..K-1, and the data do not name the classes")
