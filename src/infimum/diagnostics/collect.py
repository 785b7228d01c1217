"""diagnose(): from the outputs of the operation and their success levels to the figures of a report."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infimum.checks import Array
from infimum.diagnostics.base import MOST, Diagnostics, LowInput
from infimum.diagnostics.classes import by_class, runner_up, worst_slices
from infimum.diagnostics.levels import LevelTable, RiskCoverage, histogram, reliability
from infimum.outputs import Outputs

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
    known = np.isfinite(levels)
    undefined = len(levels) - int(known.sum())
    if operation.weights is not None:
        known &= operation.weights > 0
    rows = np.flatnonzero(known)
    predicted = operation.predicted
    second = runner_up(operation.logits, predicted)[rows]
    names = class_names(operation)
    lowest = _lowest(operation, names, predicted, levels, rows)
    predicted, levels = predicted[rows], levels[rows]
    labels = None if operation.labels is None else operation.labels[rows]
    weights = None if operation.weights is None else operation.weights[rows]
    table = LevelTable.of(levels, weights, None if labels is None else predicted == labels)
    curve = RiskCoverage.of(table) if labels is not None and len(rows) else None
    return Diagnostics(
        n=len(rows),
        undefined=undefined,
        weighted=weights is not None,
        labelled=labels is not None,
        levels=histogram(table, labels is not None, samples) if len(rows) else (),
        reliability=() if curve is None else reliability(table),
        risk_coverage=() if curve is None else curve.points(),
        aurc=None if curve is None else curve.area(),
        wanted=() if curve is None else curve.wanted(target),
        classes=by_class(names, predicted, labels, levels, weights),
        slices=worst_slices(names, predicted, second, labels, levels, weights),
        lowest=lowest,
    )


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


def _lowest(
    operation: Outputs, names: list[str], predicted: Array, levels: Array, rows: Array
) -> tuple[LowInput, ...]:
    """The inputs of lowest level, ties in the order of their rows."""
    n = min(MOST["lowest"], len(rows))
    if not n:
        return ()
    edge = np.partition(levels[rows], n - 1)[n - 1]
    candidates = rows[levels[rows] <= edge]
    chosen = candidates[np.argsort(levels[candidates], kind="stable")][:n].tolist()
    labels, ids = operation.labels, operation.ids
    return tuple(
        LowInput(
            row=row,
            id=None if ids is None else shortened(str(ids[row])),
            level=float(levels[row]),
            predicted=names[predicted[row]],
            label=None if labels is None else names[labels[row]],
        )
        for row in chosen
    )
