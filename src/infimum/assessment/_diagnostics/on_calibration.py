"""Accuracy by success level on the calibration rows: what can be shown of λ(x) where the operation has no labels."""

from __future__ import annotations

import numpy as np

from infimum.assessment._diagnostics.levels import LevelTable, RiskCoverage, reliability
from infimum.assessment._diagnostics.records import Curves
from infimum.assessment._diagnostics.sums import KeyedSums
from infimum.conformal import Calibration
from infimum.conformal._left_out import calibration_rows, left_out_counts
from infimum.conformal._success import Empty, Step, levels_of
from infimum.outputs._outputs import Outputs


def curves_on_calibration(
    conformal: Calibration,
    labelled: Outputs,
    step: Step = None,
    empty: Empty = "argmax",
    target: float | None = None,
) -> Curves | None:
    """Accuracy against λ(x) of the rows that made a calibration, each scored by the n − 1 others.

    Leaving a row's own score out makes its λ(x) mean what that of an operation input means, but for one row fewer.
    None where no row has a level. `target` is a wanted accuracy in (0, 1).

    >>> from infimum.conformal import LAC, calibrate
    >>> z, y = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 1])
    >>> found = curves_on_calibration(calibrate(z, y, score=LAC()), Outputs(z, y))
    >>> found.n, found.risk_coverage[-1].accuracy.value
    (3, 0.6666666666666666)
    """
    counts = left_out_counts(conformal, labelled.logits, labelled.known_labels)
    levels = levels_of(counts.count_top, counts.count_second, conformal.n - 1, step, empty)
    known = np.isfinite(levels)
    if not known.any():
        return None
    rows = calibration_rows(conformal, len(labelled))[known]
    sums = KeyedSums(np.empty(0))
    sums.add(levels[known], None, labelled.correct[rows])
    table = LevelTable(sums.keys, sums.groups)
    curve = RiskCoverage.of(table)
    return Curves(
        n=len(rows),
        undefined=int((~known).sum()),
        reliability=reliability(table),
        risk_coverage=curve.points(),
        aurc=curve.area(),
        wanted=curve.wanted(target),
    )
