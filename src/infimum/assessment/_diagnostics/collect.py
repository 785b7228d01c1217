"""diagnose(): from the outputs of the operation and their success levels to the figures of a report."""

from __future__ import annotations

from copy import copy

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array
from infimum.assessment._diagnostics.classes import by_class, runner_up, worst_slices
from infimum.assessment._diagnostics.levels import LevelTable, RiskCoverage, histogram, reliability
from infimum.assessment._diagnostics.records import MOST, Diagnostics, LowInput
from infimum.assessment._diagnostics.sums import KeyedSums
from infimum.conformal._fitting import true_ranks
from infimum.errors import InputError
from infimum.outputs._outputs import Outputs

FEW_PAIRS = 2**16
"""With no more pairs of classes than this, all have a place; else those that occur."""

FINEST = 2**24
"""Levels are counted in parts of this where they are not of a coarser scale: a class's mean level is right to 1e-7, and
sums stay whole numbers up to 500 million inputs."""

BLOCK = 2**16
"""Rows counted at a time."""

LONGEST = 120
"""Characters kept of a class name or id: text from outside must not fill a report."""


def diagnose(
    operation: Outputs,
    levels: Float[np.ndarray, " n"],
    samples: tuple[Array, Array] | None = None,
    target: float | None = None,
) -> Diagnostics:
    """Count what a report shows.

    `levels` (n,) are the success levels of the operation's inputs in [0, 1], NaN where there is none; `samples`
    the levels of a manifold's samples with the weight of each; `target` a wanted accuracy in (0, 1). Inputs of
    weight 0 and without a level enter no figure.

    >>> ops = Outputs(np.array([[2.0, 0.0], [0.0, 1.0]]), labels=np.array([0, 0]), ids=np.array(["a", "b"]))
    >>> found = diagnose(ops, np.array([0.9, 0.6]))
    >>> found.lowest[0].id, found.aurc, [c.predicted for c in found.classes]
    ('b', 0.25, [1, 1])
    """
    table, code = np.unique(levels, return_inverse=True)
    collector = Collector(operation, table, FINEST)
    for start in range(0, len(levels), BLOCK):
        rows = slice(start, start + BLOCK)
        weights = None if operation.weights is None else operation.weights[rows]
        block = operation.taken(rows)
        collector.add(block, code[rows], block.predicted, weights, start)
    return collector.diagnostics(samples, target)


class Collector:
    """What `diagnose` counts, of inputs that come block by block, in the order of their rows.

    Levels are told by their place in `table` (NaN: none), which whole numbers are made of by `scale`, so that all
    sums are of whole numbers: two collectors of different rows add up to one of all, the same bits however the rows
    are split. With weights sums are of floats, and added parts may differ from the whole in the last bits.

    Memory does not grow with the inputs, but for the pairs of classes that occur. Every block has labels, or ids,
    if `like` has.
    """

    def __init__(self, like: Outputs, table: Float[np.ndarray, " codes"], scale: int) -> None:
        n_classes = like.n_classes
        self.names = class_names(like)
        self.labelled = like.labels is not None
        self.weighted = False
        self.undefined = 0
        self._table, self._scale = table, min(scale, FINEST)
        self._units = np.rint(np.nan_to_num(table) * self._scale)
        self._codes = KeyedSums(np.arange(len(table)), 2 if self.labelled else 0)
        self._labels = KeyedSums(np.arange(n_classes))
        few = n_classes**2 <= FEW_PAIRS
        self._pairs = KeyedSums(np.arange(n_classes**2) if few else np.empty(0, dtype=np.int64), 1)
        self._lowest: list[LowInput] = []

    def add(
        self,
        block: Outputs,
        code: Int[np.ndarray, " n"],
        predicted: Int[np.ndarray, " n"],
        weights: Array | None,
        first_row: int = 0,
    ) -> None:
        """Count the inputs of rows first_row, first_row + 1, …, at most 2^20 of them.

        `code` (n,) says which level each has; `weights` (n,) are theirs, not the block's own.
        """
        levels = self._table.take(code)
        known = np.isfinite(levels)
        self.undefined += len(levels) - int(np.count_nonzero(known))
        self.weighted = weights is not None
        if weights is not None:
            known &= weights > 0
        second = runner_up(block.logits, predicted)
        correct: Array | None = None
        positions: tuple[Array, ...] = ()
        if (labels := block.labels) is not None:
            correct = predicted == labels
            wrong = np.flatnonzero(~correct)
            position = np.zeros(len(labels))
            position[wrong] = true_ranks(block.logits[wrong], labels[wrong]) - 1
            positions = (position, position**2)
        self._keep_lowest(block, predicted, np.where(known, levels, np.inf), first_row)
        pairs = predicted * len(self.names) + second
        if not known.all():
            code, pairs = code[known], pairs[known]
            positions = tuple(x[known] for x in positions)
            labels, correct, weights = (None if x is None else x[known] for x in (labels, correct, weights))
        self._codes.add(code, weights, correct, *positions)
        self._pairs.add(pairs, weights, correct, self._units.take(code))
        if labels is not None:
            self._labels.add(labels, weights, correct)

    def __add__(self, other: Collector) -> Collector:
        """The collector of the rows of both; raises InputError unless both count the same things."""
        ours, theirs = ((c.names, c.labelled, c._table.tolist(), c._scale) for c in (self, other))
        if repr(ours) != repr(theirs):  # as text, NaN is itself
            raise InputError("collectors of other classes, levels, or without labels cannot be added")
        both = copy(self)
        both.weighted = self.weighted or other.weighted
        both.undefined = self.undefined + other.undefined
        both._codes = self._codes + other._codes
        both._pairs = self._pairs + other._pairs
        both._labels = self._labels + other._labels
        both._lowest = _lowest([*self._lowest, *other._lowest])
        return both

    @property
    def levels(self) -> KeyedSums:
        """By level: the sums of the true label's position in the row (0: predicted) and of its square."""
        met = self._codes.taken(self._codes.groups.inputs > 0)
        levels = self._table[met.keys]
        return met.by(levels, np.unique(levels))

    def diagnostics(
        self, samples: tuple[Array, Array] | None = None, target: float | None = None
    ) -> Diagnostics:
        """The figures of all inputs added; the rest as in `diagnose`."""
        found = self.levels
        table = LevelTable(found.keys, found.groups)
        n = int(table.groups.inputs.sum())
        n_classes = len(self.names)
        predicted = self._pairs.by(self._pairs.keys // n_classes, np.arange(n_classes))
        curve = RiskCoverage.of(table) if self.labelled and n else None
        return Diagnostics(
            n=n,
            undefined=self.undefined,
            weighted=self.weighted,
            labelled=self.labelled,
            levels=histogram(table, self.labelled, samples) if n else (),
            reliability=() if curve is None else reliability(table),
            risk_coverage=() if curve is None else curve.points(),
            aurc=None if curve is None else curve.area(),
            wanted=() if curve is None else curve.wanted(target),
            classes=by_class(self.names, predicted, self._labels if self.labelled else None, self._scale),
            slices=worst_slices(self.names, self._pairs, self.labelled, self._scale),
            lowest=tuple(self._lowest),
        )

    def _keep_lowest(self, block: Outputs, predicted: Array, levels: Array, first_row: int) -> None:
        """The inputs of lowest level so far; `levels` are infinite where there is none."""
        most = MOST["lowest"]
        below = self._lowest[-1].level if len(self._lowest) == most else np.inf
        rows = np.flatnonzero(levels < below)
        if len(rows) > most:
            rows = rows[levels[rows] <= np.partition(levels[rows], most - 1)[most - 1]]
        rows = rows[np.argsort(levels[rows], kind="stable")][:most]
        labels, ids = block.labels, block.ids
        found = [
            LowInput(
                row=first_row + row,
                id=None if ids is None else shortened(str(ids[row])),
                level=float(levels[row]),
                predicted=self.names[predicted[row]],
                label=None if labels is None else self.names[labels[row]],
            )
            for row in rows.tolist()
        ]
        self._lowest = _lowest([*self._lowest, *found])


def _lowest(inputs: list[LowInput]) -> list[LowInput]:
    """Those of lowest level, ties in the order of their rows."""
    return sorted(inputs, key=lambda low: (low.level, low.row))[: MOST["lowest"]]


def class_names(outputs: Outputs) -> list[str]:
    """Names of the classes, cut to 120 characters; their numbers where there are none."""
    if outputs.class_names is None:
        return [str(k) for k in range(outputs.n_classes)]
    return [shortened(str(name)) for name in outputs.class_names]


def shortened(text: str) -> str:
    """Text of at most 120 characters.

    >>> len(shortened("a" * 900)), shortened("cat")
    (120, 'cat')
    """
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
