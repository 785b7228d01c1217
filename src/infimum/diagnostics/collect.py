"""diagnose(): from the outputs of the operation and their success levels to the figures of a report."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infimum.checks import Array
from infimum.conformal.fitting import true_ranks
from infimum.diagnostics.base import MOST, Diagnostics, LowInput
from infimum.diagnostics.classes import by_class, runner_up, worst_slices
from infimum.diagnostics.levels import LevelTable, RiskCoverage, histogram, reliability
from infimum.diagnostics.sums import KeyedSums
from infimum.outputs import Outputs

FEW_PAIRS = 2**16
"""With no more pairs of classes than this, all have a place; else those that occur."""

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
    collector = Collector(operation)
    collector.add(operation, levels, operation.weights)
    return collector.diagnostics(samples, target)


class Collector:
    """What `diagnose` counts, of inputs that come block by block, in the order of their rows.

    Memory does not grow with the inputs, but for the distinct levels and the pairs of classes that occur. Every
    block has labels, or ids, if `like` has.
    """

    def __init__(self, like: Outputs) -> None:
        n_classes = like.n_classes
        self.names = class_names(like)
        self.labelled = like.labels is not None
        self.weighted = False
        self.undefined = 0
        self.levels = KeyedSums(np.empty(0), 2 if self.labelled else 0)
        """By level: the sums of the true label's position in the row (0: predicted) and of its square."""
        self._predicted = KeyedSums(np.arange(n_classes), 1)
        self._labels = KeyedSums(np.arange(n_classes))
        few = n_classes**2 <= FEW_PAIRS
        self._pairs = KeyedSums(np.arange(n_classes**2) if few else np.empty(0, dtype=np.int64), 1)
        self._lowest: list[LowInput] = []

    def add(
        self, block: Outputs, levels: Float[np.ndarray, " n"], weights: Array | None, first_row: int = 0
    ) -> None:
        """Count the inputs of rows first_row, first_row + 1, …; `weights` (n,) are theirs, not the block's own."""
        known = np.isfinite(levels)
        self.undefined += len(levels) - int(known.sum())
        self.weighted = weights is not None
        if weights is not None:
            known &= weights > 0
            weights = weights[known]
        rows = np.flatnonzero(known)
        predicted = block.predicted
        second = runner_up(block.logits, predicted)[rows]
        self._keep_lowest(block, predicted, levels, rows, first_row)
        levels, predicted = levels[rows], predicted[rows]
        correct: Array | None = None
        positions: tuple[Array, ...] = ()
        if block.labels is not None:
            labels = block.labels[rows]
            correct = predicted == labels
            position = (true_ranks(block.logits, block.labels)[rows] - 1).astype(np.float64)
            positions = (position, position**2)
            self._labels.add(labels, weights, correct)
        self.levels.add(levels, weights, correct, *positions)
        self._predicted.add(predicted, weights, correct, levels)
        self._pairs.add(predicted * len(self.names) + second, weights, correct, levels)

    def diagnostics(
        self, samples: tuple[Array, Array] | None = None, target: float | None = None
    ) -> Diagnostics:
        """The figures of all inputs added; the rest as in `diagnose`."""
        table = LevelTable(self.levels.keys, self.levels.groups)
        n = int(table.groups.inputs.sum())
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
            classes=by_class(self.names, self._predicted, self._labels if self.labelled else None),
            slices=worst_slices(self.names, self._pairs, self.labelled),
            lowest=tuple(self._lowest),
        )

    def _keep_lowest(
        self, block: Outputs, predicted: Array, levels: Array, rows: Array, first_row: int
    ) -> None:
        """The inputs of lowest level so far, ties in the order of their rows."""
        most = MOST["lowest"]
        if len(self._lowest) == most:
            rows = rows[levels[rows] < self._lowest[-1].level]
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
        self._lowest = sorted([*self._lowest, *found], key=lambda low: low.level)[:most]


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
