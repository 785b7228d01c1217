"""Labels of data in the numbers of a network: by the names of the classes, where both sides have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import Batch, Data
from infimum.errors import InputError
from infimum.models._cut import Cut


class NetworkLabels:
    """Data whose labels are numbered as a network numbers its classes.

    Labels that are positions among the data's own class names (folders of images, say) go by those names where the
    network knows the names of its classes too. Without names on the network's side they stay as they are.
    """

    def __init__(self, data: Data, cut: Cut) -> None:
        self.data = data
        self.name, self.n, self.bad = data.name, data.n, data.bad
        # Labels that a model was trained with are names where they are text, and where folders are named as they are.
        trained = tuple(map(str, cut.classes))
        self.known = cut.class_names or (trained if _names_of(cut.classes, data) else ())
        self._classes = np.asarray(cut.classes)
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
        return self._classes[places] if self._raw else places

    def _by_name(self, labels: Array) -> Array:
        if not self.known:
            raise InputError(
                f"{self.name}: {str(labels[0])!r} is not a class index 0..K-1, and neither the data nor the network "
                "name the classes; give labels as class indices"
            )
        places = np.array([self._place.get(self._fold(name), -1) for name in labels.tolist()], dtype=np.int64)
        if (places < 0).any():
            unknown = str(labels[int((places < 0).argmax())])
            raise InputError(
                f"{self.name}: the class {unknown!r} is none of the network's ({_shown(self.known)}); rename the "
                "classes, or pass labels apart as class indices 0..K-1 (a CSV, an .npy file), or none "
                '(labels="none"; extract --labels none, assess --labels operation=none)'
            )
        return places


def _names_of(classes: tuple[Any, ...], data: Data) -> bool:
    """Whether labels of a model are names too. InputError where data number classes otherwise than the model.

    Positions among the data's class names are the model's labels only if these are 0, 1, 2, ….
    """
    if all(isinstance(label, str) for label in classes):
        return True
    if data.class_names is None or set(data.class_names) <= set(map(str, classes)):
        return data.class_names is not None
    if classes != tuple(range(len(classes))):
        raise InputError(
            f"{data.name} names the classes {_shown(data.class_names)}, but the model was trained with the labels "
            f"{_shown(tuple(map(str, classes)))}; name the classes so, or pass labels apart (a CSV, an .npy file), or "
            'none (labels="none"; extract --labels none, assess --labels operation=none)'
        )
    return False


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def fold(name: str) -> str:
    """A class name as it is compared: without case and outer blanks.

    >>> fold(" Dog")
    'dog'
    """
    return name.strip().casefold()
