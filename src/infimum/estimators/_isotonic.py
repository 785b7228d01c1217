"""Isotonic regression of correctness on a score, and its mean over operation as a weighted sum of its values.

It depends on the order of the scores only: between two calibration scores the two fitted values are averaged,
so any increasing function of the score gives the same estimate.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array
from infimum.bounds import Estimate
from infimum.estimators._estimate import estimate_of, mean, standard_error


def recalibrated(
    scores: Float[np.ndarray, " n"],
    correct: Bool[np.ndarray, " n"],
    operation_scores: Float[np.ndarray, " m"],
    weights: Array | None,
    seed: int,
    method: str,
    about: str,
    squared: Array | None = None,
) -> Estimate:
    """Mean over operation of the isotonic regression of `correct` on `scores` (larger = more surely correct).

    `weights` may be summed over inputs of one score; `squared` then holds the sums of their squares.
    """
    knots, group = np.unique(scores, return_inverse=True)
    left = np.searchsorted(knots, operation_scores, side="right") - 1
    right = np.searchsorted(knots, operation_scores, side="left")
    left, right = np.maximum(left, 0), np.minimum(right, len(knots) - 1)

    fit = isotonic_values(group, correct, np.ones(len(scores), dtype=np.int64))
    levels = (fit[left] + fit[right]) / 2
    share = np.bincount(left, weights, len(knots)) + np.bincount(right, weights, len(knots))
    share = share / share.sum()

    def refit(counts: Int[np.ndarray, " n"]) -> float:
        return float(share @ isotonic_values(group, correct, counts))

    error = standard_error(refit, len(scores), levels, weights, seed, squared)
    return estimate_of(mean(levels, weights), error, method, about)


def isotonic_values(
    group: Int[np.ndarray, " n"], correct: Bool[np.ndarray, " n"], counts: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " g"]:
    """Increasing levels of the groups 0..g−1 that fit `correct` best in least squares, row i counted counts[i] times.

    Groups without a row are interpolated between their neighbours. (Ayer et al., 1955: pool adjacent violators.)

    >>> import numpy as np
    >>> isotonic_values(np.array([0, 1, 2, 2]), np.array([True, False, True, True]), np.ones(4, int)).tolist()
    [0.5, 0.5, 1.0]
    """
    from sklearn.isotonic import isotonic_regression

    n_groups = int(group.max()) + 1
    total = np.bincount(group, counts, n_groups)
    present = np.flatnonzero(total)
    share = np.bincount(group, counts * correct, n_groups)[present] / total[present]
    fit = isotonic_regression(share, sample_weight=total[present], y_min=0.0, y_max=1.0)
    values: Array = np.interp(np.arange(n_groups), present, fit)
    return values
