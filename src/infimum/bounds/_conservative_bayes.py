"""Conservative Bayesian inference: what n demands say of the probability of failure on demand (pfd).

An assessor often believes no more than Pr(pfd ≤ p₀) = θ. Many priors fit that; the claim made is the one that
holds for the worst of them, so no prior has to be chosen (Bishop, Bloomfield, Littlewood, Povyakalo and Wright
2011; Strigini and Povyakalo 2013, with p₀ = 0: fault-freeness; Zhao, Salako, Strigini, Robu and Flynn 2020).
After k failures in n independent demands the likelihood is L(p) = p^k (1 − p)^(n−k).

The posterior confidence in a claim p ≥ p₀ is a ratio, linear in the prior above and below, so its minimum lies
at a two-point prior: θ at the x in [p_l, p₀] where L is least (an end of it, L having one peak), the rest at the
y ≥ p where L is largest (max(p, k/n)):

    Pr(pfd ≤ p | k, n) ≥ θ L(x) / (θ L(x) + (1 − θ) L(y)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from infimum._checks import Real, exact_fraction
from infimum.bounds._bound import Bound, check_confidence
from infimum.errors import InputError


def conservative_bayes(
    n_demands: int,
    failures: int = 0,
    *,
    prior_bound: Real,
    prior_confidence: Real,
    confidence: Real = 0.95,
    lowest: Real = 0.0,
) -> Bound:
    """Lower bound on the probability of success on demand, held with posterior probability `confidence`.

    The prior is known only by Pr(pfd ≤ `prior_bound`) = `prior_confidence` and Pr(pfd ≥ `lowest`) = 1, all in
    [0, 1]; prior_bound = 0 is the belief in fault-freeness. Without failures and for prior_confidence θ below
    `confidence` c, pfd ≤ 1 − (1 − p₀) [θ(1 − c) / ((1 − θ)c)]^(1/n). With failures `lowest` must be above 0:
    else the worst prior has its θ at 0, which the first failure refutes. Raises InputError.

    A belief goes in, so it is no coverage guarantee: it is as good as the prior statement.

    >>> round(1 - conservative_bayes(10_000, prior_bound=1e-4, prior_confidence=0.8).value, 6)
    0.000256
    """
    n, k, p0, theta, low = _check_prior(n_demands, failures, prior_bound, prior_confidence, lowest)
    confidence = check_confidence(confidence)
    pfd = _claim(n, k, p0, theta, low, confidence)
    return Bound(
        value=max(0.0, 1.0 - pfd),
        confidence=confidence,
        method="conservative_bayes",
        n=n,
        successes=n - k,
        assumptions=(
            f"before the demands, Pr(pfd ≤ {p0:g}) = {theta:g} was believed"
            + (f", and pfd ≥ {low:g} for certain" if low else ""),
            "the demands are independent and drawn from the operational distribution, and every failure is seen",
            "the confidence is a posterior probability, for the worst prior that fits this belief",
        ),
        details={
            "failures": k,
            "prior_bound": p0,
            "prior_confidence": theta,
            "lowest": low,
        },
    )


def conservative_confidence(
    claim: Real,
    n_demands: int,
    failures: int = 0,
    *,
    prior_bound: Real,
    prior_confidence: Real,
    lowest: Real = 0.0,
) -> float:
    """Posterior confidence in pfd ≤ `claim` for the worst prior that fits, in [0, 1]; arguments as above.

    It is 0 for a claim below `prior_bound`: the worst prior has nothing there (Zhao et al. 2020, theorem 1).

    >>> round(conservative_confidence(1e-3, 5000, prior_bound=1e-4, prior_confidence=0.5), 3)
    0.989
    """
    n, k, p0, theta, low = _check_prior(n_demands, failures, prior_bound, prior_confidence, lowest)
    p = float(exact_fraction(claim, "claim", inside=False))
    if p < p0:
        return 0.0
    if p >= 1.0:
        return 1.0
    log_odds = _log_odds(theta) + _least(n, k, low, p0) - _log_likelihood(max(p, k / n if n else 0.0), n, k)
    return 1.0 / (1.0 + math.exp(-min(log_odds, 700.0))) if log_odds > -700.0 else 0.0


def conservative_pfd(n_demands: int, *, prior_bound: Real, prior_confidence: Real) -> float:
    """Upper bound on the probability that the next demand fails, after `n_demands` without a failure.

    The worst posterior mean of the pfd over all priors with Pr(pfd ≤ p₀) = θ (Bishop et al. 2011): the root t of
    θ (t − p₀)(1 − p₀)^n = (1 − θ) (p* − t)(1 − p*)^n with p* = (1 + nt)/(n + 1), the prior being θ at p₀ and
    1 − θ at p*. With p₀ = 0 it is the fault-freeness prediction of Strigini and Povyakalo (2013).

    >>> round(conservative_pfd(1000, prior_bound=1e-4, prior_confidence=0.9), 6)
    0.000139
    """
    from scipy.optimize import brentq

    n, _, p0, theta, _ = _check_prior(n_demands, 0, prior_bound, prior_confidence, 0.0)
    if n == 0:
        return theta * p0 + 1.0 - theta
    left = _log_odds(theta) + n * math.log1p(-p0)
    # p* − t = (1 − t)/(n + 1) and 1 − p* = n(1 − t)/(n + 1); both sides as logarithms.
    right = n * math.log(n / (n + 1)) - math.log(n + 1)

    def excess(t: float) -> float:
        return left + math.log(t - p0) - right - (n + 1) * math.log1p(-t)

    lowest, highest = np.nextafter(p0, 1.0), np.nextafter(1.0, 0.0)
    if excess(lowest) >= 0:
        return float(lowest)
    return float(brentq(excess, lowest, highest, xtol=1e-18, rtol=1e-13))


def _claim(n: int, k: int, p0: float, theta: float, low: float, confidence: float) -> float:
    """The smallest p ≥ p₀ in which the worst posterior confidence is at least `confidence`."""
    from scipy.optimize import brentq

    most = _least(n, k, low, p0) + _log_odds(theta) - _log_odds(confidence)  # L(y) may be this at most
    start = max(p0, k / n if n else 0.0)
    if _log_likelihood(start, n, k) <= most:
        return p0
    if n == k:
        return 1.0
    if k == 0:
        return -math.expm1(most / n)
    return float(
        brentq(lambda p: _log_likelihood(p, n, k) - most, start, np.nextafter(1.0, 0.0), xtol=1e-15)
        if _log_likelihood(float(np.nextafter(1.0, 0.0)), n, k) < most
        else 1.0
    )


def _log_likelihood(p: float, n: int, k: int) -> float:
    if (p <= 0.0 and k) or (p >= 1.0 and n > k):
        return -math.inf
    return (k * math.log(p) if k else 0.0) + ((n - k) * math.log1p(-p) if n > k else 0.0)


def _least(n: int, k: int, low: float, high: float) -> float:
    return min(_log_likelihood(low, n, k), _log_likelihood(high, n, k))


def _log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _check_prior(
    n_demands: Any, failures: Any, prior_bound: Any, prior_confidence: Any, lowest: Any
) -> tuple[int, int, float, float, float]:
    for what, value in (("n_demands", n_demands), ("failures", failures)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise InputError(f"{what} must be a whole number, 0 or more, not {value!r}")
    if failures > n_demands:
        raise InputError(f"there are more failures ({failures}) than demands ({n_demands})")
    p0 = float(exact_fraction(prior_bound, "prior_bound", inside=False))
    theta = float(exact_fraction(prior_confidence, "prior_confidence"))
    low = float(exact_fraction(lowest, "lowest", inside=False))
    if p0 >= 1.0:
        raise InputError("prior_bound must be below 1: a pfd of at most 1 says nothing")
    if low > p0:
        raise InputError(f"lowest ({low:g}) must not be above prior_bound ({p0:g})")
    if failures and not low:
        raise InputError(
            "with failures, lowest must be above 0: the worst prior puts its belief in pfd = 0, which a failure "
            "refutes, and nothing could be claimed; give the smallest pfd you hold possible"
        )
    return int(n_demands), int(failures), p0, theta, low
