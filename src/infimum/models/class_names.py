"""Labels of data in the numbers of a network: by the names of the classes, where both sides have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from infimum.checks import Array
from infimum.data.base import Batch, Data
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.models.adapter import Cut


class NetworkLabels:
    """Data whose labels are numbered as a network numbers its classes.

    Labels that are positions among the data's own class names (folders of images, say) go by those names where the
    network knows the names of its classes too. Without names on the network's side they stay as they are.
    """

    def __init__(self, data: Data, cut: Cut) -> None:
        self.data = data
        self.name, self.n, self.bad = data.name, data.n, data.bad
        # Names of a scikit-learn model are the labels themselves.
        trained = tuple(c for c in cut.classes if isinstance(c, str))
        self.known = cut.class_names or (trained if len(trained) == len(cut.classes) else ())
        self._raw = bool(cut.classes)
        self.class_names = (self.known or data.class_names) if data.class_names is not None else None
        self._fold = fold if len(set(map(fold, self.known))) == len(self.known) else str
        self._place = {self._fold(name): index for index, name in enumerate(self.known)}

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The data's batches with labels as the network numbers them."""
        for batch in self.data.batches(size, start):
            yield dataclasses.replace(batch, labels=self._labels_of(batch))

    def fingerprint(self) -> str:
        """Of the data."""
        return self.data.fingerprint()

    def _labels_of(self, batch: Batch) -> Array | None:
        labels, names = batch.labels, self.data.class_names
        if labels is None or labels.ndim != 1:
            return labels
        if labels.dtype.kind == "U":
            return labels if self._raw else self._by_name(labels)
        if names is None or not self.known or labels.dtype.kind not in "iu":
            return labels
        outside = np.flatnonzero((labels < 0) | (labels >= len(names)))
        if len(outside):
            row = int(batch.positions[outside[0]])
            raise InputError(
                f"{self.name}: the label of input {row} is {labels[outside[0]]}, but {len(names)} classes are named"
            )
        named = np.asarray(names)[labels]
        places = self._by_name(named)
        return np.asarray(self.known)[places] if self._raw else places

    def _by_name(self, labels: Array) -> Array:
        if not self.known:
            raise InputError(
                f"{self.name}: {str(labels[0])!r} is not a class index 0..K-1, and neither the data nor the network "
                "name the classes; give labels as class indices"
            )
        places = np.array([self._place.get(self._fold(name), -1) for name in labels.tolist()], dtype=np.int64)
        if (places < 0).any():
            shown = ", ".join(self.known[:10]) + (", …" if len(self.known) > 10 else "")
            unknown = str(labels[int((places < 0).argmax())])
            raise InputError(
                f"{self.name}: the class {unknown!r} is none of the network's ({shown}); rename the classes, or pass "
                'labels apart as class indices 0..K-1 (a CSV, an .npy file), or none (labels="none", --labels none)'
            )
        return places


def fold(name: str) -> str:
    """A class name as it is compared: without case and outer blanks.

    >>> fold(" Dog")
    'dog'
    """
    return name.strip().casefold()
