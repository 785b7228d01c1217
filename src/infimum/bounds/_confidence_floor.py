"""What λ alone guarantees: Success(f) ≥ 1 − √(2(1 − λ)), in finite samples 1 − η − √(2U) (docs/method.md §5).

Let w = Pr(error), given the calibration. #{i : s_i ≥ S}/n is the empirical survival function of the scores at S
and p_Y is at least that, so with probability 1 − α₁ over the calibration p_Y ≥ V − η, where V (the true survival
function at S_Y) is super-uniform and η = √(ln(1/α₁)/2n) (one-sided Dvoretzky–Kiefer–Wolfowitz, Massart 1990; it
needs α₁ ≤ 1/2). On an error p_(2) ≥ p_Y, therefore

    E[p_(2)] ≥ E[(V − η)₊ ; error] ≥ ∫₀^w (v − η)₊ dv = (w − η)₊²/2,

since a super-uniform V on an event of probability w is least when it fills [0, w]. With U ≥ E[p_(2)] at 1 − α₂
from the unlabelled inputs, w ≤ η + √(2U) at 1 − α₁ − α₂.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from infimum._checks import Array, Real
from infimum.bounds._bound import Bound, check_confidence, split_miss
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._marginal_conformal import ALIKE, check_counts, runner_up_counts

if TYPE_CHECKING:
    from infimum.conformal import Calibration


def confidence_floor(
    calibration: Calibration, operation_logits: Array, confidence: Real = 0.95, label_errors: Any = None
) -> Bound:
    """Certified floor under Success(f) from a calibration and unlabelled inputs; loose, but a theorem about λ.

    `operation_logits` (m, K) finite, unweighted. `details["mean_p_second"]` is U, the upper bound on 1 − λ, and
    `details["eta"]` the allowance η for the calibration. Raises InputError for logits that do not fit.

    >>> import numpy as np
    >>> from infimum.conformal import calibrate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 3000)
    >>> z = 5 * np.eye(3)[y] + rng.normal(size=(3000, 3))
    >>> round(confidence_floor(calibrate(z[:1000], y[:1000]), z[1000:]).value, 2)
    0.79
    """
    counts = runner_up_counts(calibration, operation_logits)
    return confidence_floor_of_counts(counts, confidence, label_errors)


def confidence_floor_of_counts(
    counts: Int[np.ndarray, " bins"], confidence: Real = 0.95, label_errors: Any = None
) -> Bound:
    """The same from the number of unlabelled inputs with (n+1)p_(2) = 0, 1, …, n+1 (`runner_up_counts`).

    >>> confidence_floor_of_counts(np.array([0, 5000, *[0] * 1000])).value > 0.8
    True
    """
    confidence, errors = check_confidence(confidence), LabelErrors.of(label_errors)
    counts, n, m = check_counts(counts)
    of_calibration, of_inputs = split_miss(1.0 - confidence, n, m)
    if_right = math.sqrt(math.log(1.0 / min(of_calibration, 0.5)) / (2 * n))
    eta = (
        if_right + errors.count / n
    )  # the empirical survival function moves by at most 1/n with each wrong label
    upper = _mean_upper(counts, n, m, of_inputs)
    bound = Bound(
        value=max(0.0, 1.0 - eta - math.sqrt(2.0 * upper)),
        confidence=confidence,
        method="confidence_floor",
        n=n,
        assumptions=ALIKE,
        details={"unlabelled": m, "mean_p_second": upper, "eta": eta},
    )
    return errors.corrected(bound, max(0.0, 1.0 - if_right - math.sqrt(2.0 * upper)))


def _mean_upper(counts: Array, n: int, m: int, miss: float) -> float:
    """Empirical-Bernstein upper bound on E[p_(2)] (Maurer and Pontil 2009, theorem 4); it needs counts only."""
    if m < 2:
        return 1.0
    p_second = np.arange(n + 2) / (n + 1)
    mean = float((counts * p_second).sum()) / m
    variance = float((counts * (p_second - mean) ** 2).sum()) / (m - 1)
    log_term = math.log(2.0 / miss)
    return min(1.0, mean + math.sqrt(2.0 * variance * log_term / m) + 7.0 * log_term / (3.0 * (m - 1)))
