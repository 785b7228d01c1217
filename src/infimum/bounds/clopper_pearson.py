"""The exact binomial lower bound on labelled data (Clopper and Pearson, 1934)."""

from __future__ import annotations

from typing import Any

import numpy as np

from infimum.bounds.base import Bound, check_confidence
from infimum.checks import Real
from infimum.errors import InputError


def clopper_pearson(correct: Any, confidence: Real = 0.95) -> Bound:
    """One-sided Clopper–Pearson bound on Success(f) from which labelled inputs were classified correctly.

    `correct` (n,) boolean or 0/1, n ≥ 1. The bound is the p with Pr(Binomial(n, p) ≥ k) = 1 − confidence, a
    Beta quantile; 0 when nothing was correct. Holds for every n. Raises InputError for other input.

    >>> import numpy as np
    >>> from infimum.bounds import clopper_pearson
    >>> round(clopper_pearson(np.ones(58, dtype=bool), confidence=0.95).value, 3)
    0.95
    """
    from scipy.special import betaincinv

    confidence = check_confidence(confidence)
    array = np.asarray(correct)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"correct must be one-dimensional and not empty, not of shape {array.shape}")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InputError("correct must hold true/false (or 1/0) for each labelled input")
    n, k = len(array), int(array.sum())
    value = float(betaincinv(k, n - k + 1, 1.0 - confidence)) if k else 0.0
    return Bound(
        value=value,
        confidence=confidence,
        method="clopper_pearson",
        n=n,
        assumptions=(
            "the labelled inputs were drawn independently from the operational distribution",
            "they were used neither to train nor to select the network",
        ),
    )
