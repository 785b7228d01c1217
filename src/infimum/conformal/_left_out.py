"""Labelled rows scored like operation inputs: each by the calibration without itself (leave-one-out)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from infimum._checks import Array
from infimum.conformal._calibration import Calibration, TopTwo
from infimum.conformal._fitting import set_aside, true_ranks


def calibration_rows(calibration: Calibration, n: int) -> Int[np.ndarray, " rows"]:
    """Which of the n labelled rows given to `calibrate` the calibration holds: all but those set aside to tune.

    >>> import numpy as np
    >>> from infimum.conformal import calibrate
    >>> calibration_rows(calibrate(np.eye(3), np.arange(3)), 3).tolist()
    [0, 1, 2]
    """
    return np.arange(n) if calibration.n == n else set_aside(n, calibration.seed)[0]


def left_out_counts(calibration: Calibration, logits: Array, labels: Array) -> TopTwo:
    """Predicted class and n·p of the two best labels of each calibration row, by the n − 1 other scores.

    `logits` (N, K) and `labels` (N,) are the rows that `calibrate` was given; the result has `calibration_rows`
    of them. With the row's own score left in, a wrong row's runner-up p-value would be one count higher because
    the row is wrong: its label would leak. The own score is at least S_(2) unless the label is the predicted one;
    then it is S_(1), below S_(2) or equal to it.

    >>> import numpy as np
    >>> from infimum.conformal import LAC, calibrate
    >>> z, y = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 1])
    >>> left_out_counts(calibrate(z, y, score=LAC()), z, y).count_second.tolist()
    [1, 1, 1]
    """
    rows = calibration_rows(calibration, len(logits))
    draws = calibration.draws(len(logits), None, 0, "calibration")
    u = None if isinstance(draws, int | float) else draws[rows]
    inside = logits if len(rows) == len(logits) else logits[rows]
    counts = calibration.top_two(inside, u, stream="calibration")
    own_below = (true_ranks(inside, labels[rows]) == 1) & (counts.count_top > counts.count_second)
    return TopTwo(counts.predicted, counts.count_top - 1, counts.count_second - ~own_below)
