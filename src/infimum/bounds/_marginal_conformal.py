"""What marginal coverage alone says: Success(f) ≥ Pr(p_(2)(X) ≤ ε) − Pr(p_Y(X) ≤ ε) for every ε (docs/method.md §5).

On an error the true label is not the top one, so p_Y ≤ p_(2). Hence an error with p_(2) ≤ ε has p_Y ≤ ε, and
Pr(error) ≤ Pr(p_(2) > ε) + Pr(p_Y ≤ ε), all given the calibration. For ε = k/(n+1):

- p_Y ≤ ε means that S_Y exceeds the k-th largest of the n calibration scores. Given the calibration this has a
  probability that is stochastically at most Beta(k, n + 1 − k) (with equality for continuous scores), which
  gives an upper bound with a chance of error a_k;
- p_(2) ≤ ε occurs in h_k of the m unlabelled inputs, a binomial count given the calibration, whose
  Clopper–Pearson bound has a chance of error b_k.

A grid of k fixed by n alone, and a_k + b_k = (1 − confidence)/(number of k), make all of them hold together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from infimum._checks import Array, Real, check_kind, check_numbers
from infimum.bounds._bound import LABELS_RIGHT, Bound, check_confidence, split_miss
from infimum.bounds._clopper_pearson import binomial_lower
from infimum.bounds._label_errors import LabelErrors
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration

ALIKE = (
    "the calibration rows and the unlabelled inputs were drawn independently from the operational distribution",
    "neither were used to train, to select or to tune the network or its score",
    LABELS_RIGHT,
    "the network decides for the class with the largest logit",
)


def marginal_conformal(
    calibration: Calibration, operation_logits: Array, confidence: Real = 0.95, label_errors: Any = None
) -> Bound:
    """Certified max over a grid of ε of Pr(p_(2) ≤ ε) − ε, from a calibration and unlabelled inputs.

    `operation_logits` (m, K) finite, unweighted: every input counts once, since the calibration is of the same
    distribution. `details["error_level"]` is the ε that attains it. The score matters: those that are small for
    every correct prediction (LAC, Margin) give more than randomised APS and RAPS. `label_errors` as for
    `clopper_pearson`, of the calibration's labels. Raises InputError.

    >>> import numpy as np
    >>> from infimum.conformal import Margin, calibrate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 3000)
    >>> z = 5 * np.eye(3)[y] + rng.normal(size=(3000, 3))
    >>> bound = marginal_conformal(calibrate(z[:1000], y[:1000], score=Margin()), z[1000:])
    >>> round(bound.value, 2), bound.details["error_level"] < 0.01
    (0.99, True)
    """
    counts = runner_up_counts(calibration, operation_logits)
    return marginal_conformal_of_counts(counts, confidence, label_errors)


def marginal_conformal_of_counts(
    counts: Int[np.ndarray, " bins"], confidence: Real = 0.95, label_errors: Any = None
) -> Bound:
    """The same from the number of unlabelled inputs with (n+1)p_(2) = 0, 1, …, n+1 (`runner_up_counts`).

    >>> marginal_conformal_of_counts(np.array([0, 5000, *[0] * 1000])).value > 0.98
    True
    """
    confidence, errors = check_confidence(confidence), LabelErrors.of(label_errors)
    counts, n, m = check_counts(counts)
    grid = _grid(n)
    of_calibration, of_inputs = split_miss((1.0 - confidence) / len(grid), n, m)
    # 1 − the lower bound of a binomial with n + 1 − k of n right is the upper quantile of Beta(k, n + 1 − k).
    # j wrong labels move at most j calibration scores past any point, so that k counts as k + j.
    miscoverage, if_right = (
        1.0 - binomial_lower(np.maximum(0, n + 1 - grid - j), n, of_calibration) for j in (errors.count, 0)
    )
    share = binomial_lower(np.cumsum(counts)[grid], m, of_inputs)
    best = int(np.argmax(share - miscoverage))
    bound = Bound(
        value=max(0.0, float(share[best] - miscoverage[best])),
        confidence=confidence,
        method="marginal_conformal",
        n=n,
        assumptions=ALIKE,
        details={
            "error_level": int(grid[best]) / (n + 1),
            "unlabelled": m,
            "share_below": float(share[best]),
            "miscoverage": float(miscoverage[best]),
        },
    )
    return errors.corrected(bound, max(0.0, float((share - if_right).max())))


def runner_up_counts(calibration: Calibration, operation_logits: Array) -> Int[np.ndarray, " bins"]:
    """Number of inputs with (n+1)p_(2) = 0, 1, …, n+1 (0 never occurs), in chunks: shape (n + 2,)."""
    from infimum.conformal import Calibration

    check_kind(calibration, Calibration, "calibration", "a Calibration, as `calibrate` makes it")
    counts = calibration.top_two(operation_logits)
    histogram: Array = np.bincount(counts.count_second, minlength=calibration.n + 2)
    return histogram


def check_counts(counts: Int[np.ndarray, " bins"]) -> tuple[Int[np.ndarray, " bins"], int, int]:
    """A histogram of runner-up counts, its calibration rows n and its unlabelled inputs m."""
    array = check_numbers(counts, "counts")
    whole = array.ndim == 1 and array.dtype.kind in "iu" and len(array) >= 3
    if not whole or array[0] or (array < 0).any() or not array.any():
        raise InputError(
            "counts must hold the number of inputs with (n+1)p_(2) = 0, 1, …, n+1; the first is 0, not all are"
        )
    return array, len(array) - 2, int(array.sum())


def _grid(n: int) -> Int[np.ndarray, " levels"]:
    """1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, … up to (n+1)/2: steps of a quarter, fixed before any data is seen.

    Finer steps cost more in the number of levels than they find, coarser ones may miss the best level by far.

    >>> _grid(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15]
    """
    levels = [1]
    while (k := levels[-1] + max(1, levels[-1] // 4)) <= (n + 1) // 2:
        levels.append(k)
    return np.array(levels)
