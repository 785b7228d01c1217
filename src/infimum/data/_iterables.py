"""Batches that Python code gives: a list, a generator, a torch DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from infimum.data._data import LABEL_NAMES, Batch, count_rows, to_numpy
from infimum.errors import InputError


class IterableData:
    """An iterable of batches: inputs, (inputs,), (inputs, labels), (inputs, labels, ids), or a dict that names labels.

    Batches come in the size they have. Reading can begin in the middle where the iterable can be gone through
    again (a DataLoader, not a generator) and gives the same batches (no shuffling).

    >>> data = IterableData([(np.zeros((2, 3)), [0, 1])])
    >>> [(len(batch), batch.labels.tolist()) for batch in data.batches(64)]
    [(2, [0, 1])]
    """

    n = None
    class_names = None

    def __init__(self, batches: Iterable[Any]) -> None:
        self.name = f"the {type(batches).__name__}"
        self.bad: list[str] = []
        self._batches = batches
        self._used = False

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The batches as they come; `size` is theirs, not the caller's."""
        if self._used and iter(self._batches) is self._batches:
            raise InputError(f"{self.name} can be read only once; pass a list or a DataLoader instead")
        self._used = True
        position = 0
        for given in self._batches:
            inputs, labels, ids = batch_parts(given)
            n = count_rows(inputs)
            begin, position = position, position + n
            if position <= start or n == 0:
                continue
            if begin < start:
                raise InputError(
                    f"{self.name} gives batches of other sizes than before; it cannot be resumed"
                )
            yield Batch(
                inputs=inputs,
                positions=np.arange(begin, position),
                stop=position,
                labels=None if labels is None else _labels(labels),
                ids=None if ids is None else to_numpy(ids),
            )

    def fingerprint(self) -> str:
        """Python objects cannot be told apart from outside: what they give is compared instead."""
        return f"iterable {type(self._batches).__name__}"


def batch_parts(given: Any) -> tuple[Any, Any, Any]:
    """Inputs, labels and ids of a batch as Python code gives it; None for what it lacks.

    >>> batch_parts(([[1.0]], [0]))
    ([[1.0]], [0], None)
    """
    if isinstance(given, Mapping):
        label = next((name for name in LABEL_NAMES if name in given), None)
        inputs = {name: array for name, array in given.items() if name not in (label, "ids")}
        if not inputs:
            raise InputError("a batch is a dict without inputs beside its labels")
        return inputs, given.get(label) if label else None, given.get("ids")
    # A DataLoader of inputs alone gives lists of one tensor.
    if isinstance(given, tuple | list) and 1 <= len(given) <= 3:
        inputs, labels, ids = (*given, None, None)[:3]
        return inputs, labels, ids
    return given, None, None


def _labels(values: Any) -> Any:
    labels = to_numpy(values)
    if labels.ndim == 2 and labels.shape[1] > 1 and labels.dtype.kind == "f":
        raise InputError(
            f"a batch is (inputs, labels) or (inputs, labels, ids), but its second part has shape {labels.shape}, not "
            "(n,); give several inputs as a tuple, ((a, b), labels), or as a dict by name; one-hot labels as "
            "labels.argmax(axis=1)"
        )
    return labels
