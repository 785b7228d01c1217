"""Figures by predicted class, and the pairs of predicted and runner-up class that do worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped

from infimum.assessment._diagnostics.records import MOST, ClassFigures, Proportion, Slice
from infimum.assessment._diagnostics.sums import KeyedSums
from infimum.conformal._ranking import CHUNK, COLUMNS_FIRST

SMALLEST = 20
"""Slices of fewer inputs than this say too little to be listed."""


def runner_up(logits: Shaped[np.ndarray, "n K"], predicted: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The class of the second largest logit, ties to the lower index, in chunks.

    >>> runner_up(np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 0.0]]), np.array([0, 0])).tolist()
    [2, 1]
    """
    n, n_classes = logits.shape
    second = np.empty(n, dtype=np.int64)
    for start in range(0, n, size := max(1, CHUNK // n_classes)):
        rows = slice(start, start + size)
        block = logits[rows]
        kind = block.dtype if block.dtype.kind == "f" else np.float64
        if n_classes <= COLUMNS_FIRST:
            second[rows] = _largest_but(np.array(block.T, dtype=kind, order="C"), predicted[rows])
        else:
            block = np.array(block, dtype=kind)
            block[np.arange(len(block)), predicted[rows]] = -np.inf
            second[rows] = block.argmax(axis=1)
    return second


def _largest_but(columns: Shaped[np.ndarray, "K n"], but: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The argmax of each input, one class left out: a column against the best so far, as numpy is slow over short rows.

    `columns` is overwritten.
    """
    columns[but, np.arange(len(but))] = -np.inf
    best, index = columns[0].copy(), np.zeros(len(but), dtype=np.uint8)
    for k, column in enumerate(columns[1:], start=1):
        # Larger only, so that ties stay with the lower index; k rises, so the last one found is the largest.
        np.maximum(index, (column > best).view(np.uint8) * np.uint8(k), out=index)
        np.maximum(best, column, out=best)
    return index.astype(np.int64)


def by_class(
    names: Sequence[str], predicted: KeyedSums, labels: KeyedSums | None, scale: int
) -> tuple[ClassFigures, ...]:
    """Every class, or of more than 1,000 those that do worst, in the order of their numbers.

    Sums by predicted class, with that of the levels times `scale`, and by label.
    """
    n_classes = len(names)
    level = _means(predicted, scale)
    precision: list[Proportion | None] = [None] * n_classes
    recall = precision
    if labels is not None:
        precision, recall = predicted.groups.accuracies(), labels.groups.accuracies()
    inputs = predicted.groups.inputs.tolist()
    figures = [
        ClassFigures(k, names[k], inputs[k], level[k], precision[k], recall[k]) for k in range(n_classes)
    ]
    worst = sorted(figures, key=badness)[: MOST["classes"]]
    return tuple(sorted(worst, key=lambda figure: figure.index))


def badness(figure: ClassFigures) -> tuple[float, float]:
    """Sorts the classes that do worst first: by the lower of precision and recall (upper ends), else the level."""
    known = [p.high for p in (figure.precision, figure.recall) if p is not None]
    level = 2.0 if figure.level is None else figure.level
    return (min(known, default=level), level)


def worst_slices(names: Sequence[str], pairs: KeyedSums, labelled: bool, scale: int) -> tuple[Slice, ...]:
    """The 15 worst pairs (predicted class, runner-up) of at least 20 inputs; a pair's key is K times one + other.

    Sorted by the upper end of the accuracy's interval, so that pairs come first that surely do badly and not
    those of which little is known; without labels, by the mean success level.
    """
    many = np.flatnonzero(pairs.groups.inputs >= SMALLEST)
    groups = pairs.groups.taken(many)
    none: list[Proportion | None] = [None] * len(many)
    accuracies = groups.accuracies() if labelled else none
    level = _means(pairs, scale)
    found = []
    for at, n, accuracy in zip(many.tolist(), groups.inputs.tolist(), accuracies, strict=True):
        pair, mean = int(pairs.keys[at]), level[at]
        if mean is not None:
            first, other = divmod(pair, len(names))
            found.append(Slice(names[first], names[other], n, mean, accuracy))
    found.sort(key=lambda s: (s.level if s.accuracy is None else s.accuracy.high, s.level))
    return tuple(found[:15])


def _means(sums: KeyedSums, scale: int) -> list[float | None]:
    """Mean level of each group."""
    total, weight = sums.values[0].tolist(), sums.groups.weight.tolist()
    return [t / (w * scale) if w > 0 else None for t, w in zip(total, weight, strict=True)]
