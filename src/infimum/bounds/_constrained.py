"""The binomial likelihood of several strata under a given overall success rate, Σ w_s a_s = m.

ℓ(a) = Σ_s k_s log a_s + (n_s − k_s) log(1 − a_s). With the multiplier η of the constraint, the maximum has in every
stratum k/a − (n − k)/(1 − a) = ηw, a quadratic: ηw a² − (n + ηw) a + k = 0. As η rises from 0, Σ w_s a_s falls from
the estimate Σ w_s k_s/n_s to 0. Only η ≥ 0 is needed for lower bounds.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import xlog1py, xlogy

HALVINGS = 40
"""Of the interval of multipliers; the likelihood is off by the square of what remains."""

ROUNDS = 8
"""Of 63 equal parts each, which leave 63⁻⁸ of the interval."""

Counts = Float[np.ndarray, "*runs S"]


def success_rates(
    multiplier: Float[np.ndarray, "*runs"], k: Counts, n: Float[np.ndarray, " S"], w: Float[np.ndarray, " S"]
) -> Counts:
    """The rates a_s (…, S) that maximise the likelihood for a multiplier η ≥ 0; n_s ≥ 1.

    >>> success_rates(np.array(0.0), np.array([3.0]), np.array([4.0]), np.array([1.0])).tolist()
    [0.75]
    """
    pull = multiplier[..., None] * w
    total = n + pull
    # The smaller root, written so that nothing cancels; (n + p)² − 4pk = (n − p)² + 4p(n − k) ≥ 0.
    return np.asarray(2.0 * k / (total + np.sqrt((n - pull) ** 2 + 4.0 * pull * (n - k))))


def log_likelihood(k: Counts, n: Float[np.ndarray, " S"], a: Counts) -> Float[np.ndarray, "*runs"]:
    """ℓ(a), with 0 log 0 = 0."""
    return np.asarray((xlogy(k, a) + xlog1py(n - k, -a)).sum(axis=-1))


def constrained_rates(
    m: float, k: Float[np.ndarray, "runs S"], n: Float[np.ndarray, " S"], w: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "runs S"]:
    """The rates of greatest likelihood with Σ w_s a_s = m, for m > 0 at most the estimate; else the estimate."""
    low = np.zeros(k.shape[:-1])
    # From the quadratic, ηwa ≤ k: at η = Σk/m the sum is at most m.
    high = k.sum(axis=-1) / m
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        above = success_rates(middle, k, n, w) @ w > m
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return success_rates(low, k, n, w)


def mean_after_drop(
    drop: float, k: Float[np.ndarray, " S"], n: Float[np.ndarray, " S"], w: Float[np.ndarray, " S"]
) -> float:
    """The m below the estimate at which the constrained log-likelihood is `drop` ≥ 0 below its maximum.

    0 when nothing was correct. Rounded to the lower side.
    """
    if not k.any():
        return 0.0
    target = float(log_likelihood(k, n, k / n)) - drop

    def rates(multipliers: Float[np.ndarray, " tried"]) -> Float[np.ndarray, "tried S"]:
        return success_rates(multipliers, np.broadcast_to(k, (len(multipliers), len(k))), n, w)

    low, high = 0.0, float(n.sum())
    while log_likelihood(k[None], n, rates(np.array([high])))[0] > target:
        low, high = high, 2.0 * high
    for _ in range(ROUNDS):
        tried = np.linspace(low, high, 64)
        a = rates(tried)
        dropped = log_likelihood(np.broadcast_to(k, a.shape), n, a) <= target
        dropped[-1] = True  # as was seen before
        first = int(np.argmax(dropped))
        low, high = float(tried[max(first - 1, 0)]), float(tried[first])
    return float(rates(np.array([high]))[0] @ w)
