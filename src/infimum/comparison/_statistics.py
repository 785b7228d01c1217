"""Differences of two networks: tests and intervals, on the same inputs (paired) and on figures alone (unpaired).

Intervals are two-sided with a chance `miss` to lie beside the truth. Those of accuracies hold for every n; those
of λ hold in the limit of many inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infimum._arrays import effective_number
from infimum._checks import Array
from infimum.bounds._clopper_pearson import binomial_lower

SIGN_SHARE = 0.9
"""Share of `miss` spent on which network is better where they differ; the rest on how often they differ."""

SMALLEST_P = 1e-12
"""Unpaired p-values are searched down to this."""


class Found(NamedTuple):
    """An interval for a difference, and the p-value of "there is none"."""

    low: float
    high: float
    p: float


def mcnemar(first_only: int, second_only: int) -> float:
    """Exact two-sided p-value of "both are equally often right" from the inputs that only one gets right.

    Given their number, `first_only` ~ Binomial(first_only + second_only, 1/2) (McNemar 1947, exact form).

    >>> round(mcnemar(1, 9), 4), mcnemar(0, 0)
    (0.0215, 1.0)
    """
    from scipy.special import bdtr

    fewer, discordant = min(first_only, second_only), first_only + second_only
    return min(1.0, 2.0 * float(bdtr(fewer, discordant, 0.5)))


def paired_accuracies(first_only: int, second_only: int, n: int, miss: float) -> Found:
    """Accuracy of the first network minus that of the second, on the same n labelled inputs.

    The difference is ψ (2θ − 1): ψ the probability that only one is right, θ that it is the first. Given how many
    such inputs there are, `first_only` is binomial with θ, so two Clopper–Pearson intervals, for θ with 0.9 and
    for ψ with 0.1 of `miss`, give an interval that holds for every n (Bonferroni). It excludes 0 just when the
    exact McNemar test rejects at 0.9 `miss`. p is McNemar's.

    >>> low, high, p = paired_accuracies(40, 10, 1000, 0.05)
    >>> round(low, 4), round(high, 4), p < 0.001
    (0.0104, 0.0582, True)
    """
    theta_low, theta_high = _binomial(first_only, first_only + second_only, SIGN_SHARE * miss)
    psi_low, psi_high = _binomial(first_only + second_only, n, (1 - SIGN_SHARE) * miss)
    low, high = 2 * theta_low - 1, 2 * theta_high - 1
    return Found(
        low * (psi_low if low > 0 else psi_high),
        high * (psi_high if high > 0 else psi_low),
        mcnemar(first_only, second_only),
    )


def unpaired_accuracies(right: tuple[int, int], n: tuple[int, int], miss: float) -> Found:
    """Difference of two accuracies of which only `right` of `n` is known for each.

    Two Clopper–Pearson intervals, each with half of `miss`: it holds for every n and however the two depend on
    one another, as they do on the same inputs. p is the smallest `miss` at which the interval excludes 0.

    >>> found = unpaired_accuracies((950, 900), (1000, 1000), 0.05)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0121, 0.0875)
    """

    def interval(miss: float) -> tuple[float, float]:
        (a_low, a_high), (b_low, b_high) = (_binomial(k, m, miss / 2) for k, m in zip(right, n, strict=True))
        return a_low - b_high, a_high - b_low

    return Found(*interval(miss), _smallest_miss(interval))


def paired_means(
    levels: tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]],
    weights: Float[np.ndarray, " m"] | None,
    exceeded: tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]],
    miss: float,
) -> Found:
    """λ of the first network minus that of the second: success levels of the same m inputs, the same n calibrated on.

    λ = (1/(n+1)) Σ_i G(s_i) is a two-sample statistic (docs/method.md §3), and so is the difference: it varies with
    the inputs, by the spread of λ_1(x) − λ_2(x), and with the calibration, by that of `exceeded`
    G_1(s_i) − G_2(s_i), the share of the inputs whose runner-up scores above s_i. An interval from the inputs
    alone would shrink to nothing as they grow in number. Student's t with min(n, m) − 1 degrees of freedom.
    """
    inputs, calibration = levels[0] - levels[1], exceeded[0] - exceeded[1]
    w = np.full(len(inputs), 1 / len(inputs)) if weights is None else weights / weights.sum()
    mean = float(w @ inputs)
    effective, n = float(effective_number(1.0, w @ w)), len(calibration)
    spread = float(w**2 @ (inputs - mean) ** 2) * effective / max(effective - 1, 1e-9)
    error = math.sqrt(spread + float(np.var(calibration, ddof=1)) * n / (n + 1) ** 2)
    return _student(mean, error, max(1.0, min(float(n), effective) - 1), miss)


def paired_weighted(correct: tuple[Array, Array], weights: Float[np.ndarray, " m"], miss: float) -> Found:
    """Difference of weighted accuracies on the same inputs; Student's t, in the limit of many inputs."""
    difference = correct[0].astype(np.float64) - correct[1]
    w = weights / weights.sum()
    mean = float(w @ difference)
    effective = float(effective_number(1.0, w @ w))
    error = math.sqrt(float(w**2 @ (difference - mean) ** 2) * effective / max(effective - 1, 1e-9))
    return _student(mean, error, max(1.0, effective - 1), miss)


def unpaired_means(difference: float, errors: tuple[float, float], miss: float) -> Found:
    """A difference of which only the two standard errors are known: they add up at worst, which is assumed.

    >>> unpaired_means(0.1, (0.02, 0.03), 0.05).low.__round__(4)
    0.002
    """
    return _student(difference, errors[0] + errors[1], math.inf, miss)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values: rejecting those ≤ α errs anywhere with probability at most α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [1.0] * len(p), 0.0
    for rank, i in enumerate(np.argsort(p, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def _binomial(successes: int, n: int, miss: float) -> tuple[float, float]:
    """Two-sided Clopper–Pearson interval."""
    return (
        float(binomial_lower(successes, n, miss / 2)),
        1.0 - float(binomial_lower(n - successes, n, miss / 2)),
    )


def _student(mean: float, error: float, freedom: float, miss: float) -> Found:
    from scipy.stats import t

    if error == 0:
        # No spread was seen: either both say the same of every input, or there are too few inputs to judge by.
        return Found(0.0, 0.0, 1.0) if mean == 0 else Found(-1.0, 1.0, 1.0)
    half = float(t.isf(miss / 2, freedom)) * error
    return Found(mean - half, mean + half, float(2 * t.sf(abs(mean) / error, freedom)))


def _smallest_miss(interval: Callable[[float], tuple[float, float]]) -> float:
    """Smallest chance of error at which the interval, which shrinks as it grows, excludes 0; 1 if none does."""
    low, high = math.log(SMALLEST_P), 0.0
    if not _excludes_zero(interval(1.0)):
        return 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _excludes_zero(interval(math.exp(middle))) else (middle, high)
    return math.exp(high)


def _excludes_zero(interval: tuple[float, float]) -> bool:
    return interval[0] > 0 or interval[1] < 0
