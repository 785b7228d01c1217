"""What λ alone guarantees: Success(f) ≥ 1 − √(2(1 − λ)) (METHOD §5)."""

from __future__ import annotations

import math

from infimum.bounds.base import Estimate
from infimum.errors import InputError


def confidence_floor_estimate(lambda_: float) -> Estimate:
    """Plug-in value of the floor under Success(f) given λ in [0, 1] on real inputs (empty = argmax).

    On an error p_(2) ≥ p_Y, and p_Y is super-uniform, so with w = Pr(error): 1 − E[λ(X)] ≥ w²/2.

    >>> round(confidence_floor_estimate(0.98).value, 6)
    0.8
    """
    if not 0 <= lambda_ <= 1:
        raise InputError(f"lambda_ must be between 0 and 1, not {lambda_}")
    return Estimate(
        value=max(0.0, 1.0 - math.sqrt(2.0 * (1.0 - lambda_))),
        method="confidence_floor",
        note="point estimate of what λ alone guarantees; the finite numbers of calibration and operation inputs "
        "are not allowed for",
    )
