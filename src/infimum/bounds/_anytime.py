"""A lower bound on an accuracy that holds at every time: look after each label, stop when you like.

For a candidate accuracy m let p follow Jeffreys' law Beta(1/2, 1/2), restricted to p > m. After k right of n

    M_n(m) = E[p^k (1 − p)^(n−k) | p > m] / (m^k (1 − m)^(n−k)).

For each p > m the factor of one label, p/m when right and (1 − p)/(1 − m) when wrong, has a mean of at most 1 if
the accuracy is at most m. So M_n(m) is then a supermartingale, and ever reaches 1/α with probability at most α
(Ville 1939; mixtures: Robbins 1970). The true accuracy a is therefore never rejected, except with probability α,
and any m all of whose m' ≤ m were rejected at one time or another lies below a. M depends on the counts only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import betaincc, betaln, xlog1py, xlogy

from infimum._checks import Real
from infimum.bounds._bound import DRAWN_ALIKE, Bound, check_confidence
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._observations import check_correct

Counts = Float[np.ndarray, "*shape"]

HALVINGS = 40
"""Of [0, 1]: what remains is far below any figure printed."""


def anytime(correct: Any, confidence: Real = 0.95, label_errors: Any = None) -> Bound:
    """Lower bound on Success(f) that may be looked at after every label; wider than Clopper–Pearson's.

    `correct` (n,) boolean or 0/1, in the order of labelling. The largest bound on the way is taken, which Ville's
    inequality allows. Holds for every n, and for all together. `label_errors` as for `clopper_pearson`, of all
    labels at the time. Raises InputError for other input.

    >>> round(anytime([1] * 300).value, 3)
    0.987
    """
    right, errors = check_correct(correct), LabelErrors.of(label_errors)
    confidence = check_confidence(confidence)
    uncorrected = _largest(right, confidence)
    bound = Bound(
        value=_largest(errors.fewer(right), confidence) if errors.count else uncorrected,
        confidence=confidence,
        method="anytime",
        n=len(right),
        successes=int(right.sum()),
        assumptions=(
            *DRAWN_ALIKE,
            "they are given in an order that does not depend on whether they are right",
        ),
    )
    return errors.corrected(bound, uncorrected)


def _largest(right: Bool[np.ndarray, " n"], confidence: float) -> float:
    """The largest bound on the way."""
    # A right label raises M, so the largest bound stands before a wrong one or at the end.
    last = np.append(np.flatnonzero(~right), len(right))
    last = last[last > 0]
    return float(bound_of_counts(np.cumsum(right)[last - 1], last, confidence).max())


def anytime_sequence(correct: Any, confidence: Real = 0.95) -> Float[np.ndarray, " n"]:
    """Lower confidence sequence (n,): with probability `confidence` *all* its entries lie below the accuracy.

    Entry t is the bound after t + 1 labels; it never falls. Raises InputError as `anytime`.

    >>> anytime_sequence([1] * 100)[[9, 99]].round(3).tolist()
    [0.686, 0.963]
    """
    right = check_correct(correct)
    k, n = np.cumsum(right), np.arange(1, len(right) + 1)
    return np.maximum.accumulate(bound_of_counts(k, n, check_confidence(confidence)))


def log_capital(k: Any, n: Any, m: Any) -> Counts:
    """Logarithm of M_n(m) for k right of n, elementwise, 0 ≤ m < 1; −∞ where k = 0 and m = 0 make it 0/0.

    Under Jeffreys' law Pr(p > m) = (2/π) arcsin √(1 − m), and its normaliser is π.
    """
    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    a, b = 0.5 + k, 0.5 + n - k
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = betaln(a, b) + np.log(betaincc(a, b, m)) - np.log(2.0 * np.arcsin(np.sqrt(1.0 - m)))
        log_ratio -= xlogy(k, m) + xlog1py(n - k, -m)
    return np.where(np.isnan(log_ratio), -np.inf, log_ratio)


def bound_of_counts(k: Any, n: Any, confidence: float) -> Float[np.ndarray, "*shape"]:
    """The largest m ≤ (k − 1/2)/n with M_n(m) ≥ 1/(1 − confidence), elementwise; 0 where there is none.

    There log M falls in m: raising m costs k/m − (n − k)/(1 − m) ≥ 1/(2m(1 − m)), and what the restriction p > m
    gains is at most the hazard rate of Jeffreys' law, which with 1 − m = sin²t is sin 2t/(4t m(1 − m)) ≤ 1/(2m(1 − m)).
    So halving finds it; the end that is rejected is returned.
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    threshold = -math.log1p(-confidence)
    low, high = np.zeros(k.shape), np.maximum(k - 0.5, 0.0) / n
    for _ in range(HALVINGS):
        m = (low + high) / 2.0
        rejected = log_capital(k, n, m) >= threshold
        low, high = np.where(rejected, m, low), np.where(rejected, high, m)
    return low
