"""Lower bounds on the mean of bounded values by betting (Waudby-Smith and Ramdas, JRSS B 2024).

For a candidate mean m a gambler starts with capital 1 and stakes before each value x_t ≥ 0 the share θ_t of it
on x_t being above m: K_t(m) = Π_i (1 − θ_i + θ_i x_i / m), 0 ≤ θ_i < 1. If the mean is at most m, the capital
is a supermartingale, so it ever reaches 1/α with probability at most α (Ville): every m with K_t(m) ≥ 1/α is
rejected. θ_t depends on earlier values only and not on m, so K_t falls in m and log K_t is convex in log m: the
rejected m are an interval, and Newton's method from its left stays inside it, so that stopping early is safe.

How much to stake. Of the values seen (with one pseudo-value, half at 0 and half at 1) the mean μ and the second
moment are kept; the two-point law with them, q at b = E[x²]/μ and the rest at 0, stands in for theirs. Against
the mean m that n values would just reject, n·KL(q ‖ m/b) = log 1/α, Kelly's stake is θ = (μ − m)/(b − m). On
0/1 values the law is exact, which a rule made for the variance alone (aGRAPA) is not: near accuracy 1 it stakes
too much. The stakes decide how tight the bound is, never whether it holds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from infimum._checks import Real, check_positive
from infimum.bounds._bound import LABELS_RIGHT, Bound, MeanBound, check_confidence
from infimum.bounds._observations import check_bounded
from infimum.errors import InputError

SMALLEST = -600.0
"""log m below which a mean counts as 0: exp(600) is still far from overflow."""


def betting(values: Any, confidence: Real = 0.95, low: Real = 0.0, high: Real = 1.0) -> Bound:
    """Lower bound on the mean of independent values in [low, high] from n of them; holds for every n.

    `values` (n,), n ≥ 1, in an order that does not depend on them (the bound depends on it a little): the order
    of drawing. The bets aim at this n; the bound is that of all n values, not the best on the way. On 0/1
    values it is wider than `clopper_pearson`, which is to be preferred there; use it for other bounded values.
    Where low or high are others than 0 and 1 it is a `MeanBound`, whose value may lie elsewhere than in [0, 1].
    Raises InputError for values outside [low, high]. Source: Waudby-Smith and Ramdas (2024), section 4.

    >>> import numpy as np
    >>> from infimum.bounds import betting
    >>> round(betting(np.full(300, 0.8), confidence=0.95).value, 3)
    0.79
    """
    confidence = check_confidence(confidence)
    low, high = _check_range(low, high)
    x = (check_bounded(values, "values", low, high) - low) / (high - low)
    bound = float(betting_bounds(x[None], confidence)[0])
    kind = Bound if (low, high) == (0, 1) else MeanBound
    return kind(
        value=low + (high - low) * bound,
        confidence=confidence,
        method="betting",
        n=len(x),
        assumptions=(
            "the labelled inputs were drawn independently from the operational distribution",
            LABELS_RIGHT,
            "they are given in the order of drawing, or in another that does not depend on the values",
        ),
    )


def betting_bounds(
    values: Float[np.ndarray, "runs n"], confidence: Real = 0.95
) -> Float[np.ndarray, " runs"]:
    """`betting` for many runs of n values in [0, 1] at once: what simulations need.

    >>> import numpy as np
    >>> betting_bounds(np.ones((2, 50)), 0.95).round(3).tolist()
    [0.926, 0.926]
    """
    threshold = -math.log1p(-check_confidence(confidence))
    return lowest_mean(values, stakes(values, threshold / values.shape[1]), threshold)


def betting_sequence(
    values: Any, confidence: Real = 0.95, low: Real = 0.0, high: Real = 1.0, horizon: int | None = None
) -> Float[np.ndarray, " n"]:
    """Lower confidence sequence (n,): with probability `confidence` *all* its entries lie below the mean.

    Entry t is the bound after t + 1 values in their order of drawing: look whenever you like, stop when you
    like. It never falls. `horizon`, chosen beforehand, is the number of values the bets aim at; by default
    they aim at twice the number seen so far. Raises InputError as `betting`.

    >>> import numpy as np
    >>> betting_sequence(np.ones(100), 0.95)[[9, 99]].round(3).tolist()
    [0.681, 0.964]
    """
    threshold = -math.log1p(-check_confidence(confidence))
    low, high = _check_range(low, high)
    x = (check_bounded(values, "values", low, high) - low) / (high - low)
    aim = 2.0 * np.arange(1, len(x) + 1) if horizon is None else check_positive(horizon, "horizon")
    lowest = lowest_so_far(x[None], stakes(x[None], threshold / aim), threshold)[0]
    return np.asarray(low + (high - low) * lowest)


def lowest_so_far(
    x: Float[np.ndarray, "runs n"], theta: Float[np.ndarray, "runs n"], threshold: float
) -> Float[np.ndarray, "runs n"]:
    """Running maximum over t of the m with log K_t(m) = threshold, for many runs at once."""
    lowest = np.zeros(x.shape)
    log_mean, log_capital = np.full(len(x), SMALLEST), np.zeros(len(x))
    for t in range(x.shape[1]):
        log_capital += np.log1p(theta[:, t] * (x[:, t] * np.exp(-log_mean) - 1.0))
        rows = np.flatnonzero(log_capital >= threshold)  # their bound is rejected again: climb
        if len(rows):
            past = x[rows, : t + 1], theta[rows, : t + 1]
            log_mean[rows] = _climb(*past, threshold, log_mean[rows])
            log_capital[rows] = _log_capital(*past, log_mean[rows])[0]
        lowest[:, t] = np.where(log_mean > SMALLEST, np.exp(log_mean), 0.0)
    return lowest


def stakes(
    x: Float[np.ndarray, "runs n"], target: float | Float[np.ndarray, " n"]
) -> Float[np.ndarray, "runs n"]:
    """Share θ_t in [0, 1) of the capital to stake on the t-th value, from the values before it.

    `target` is the growth of log-capital per value at which a mean is just rejected, log(1/α)/n.
    """
    return kelly(running_mean(x), running_mean(x**2), target)


def running_mean(x: Float[np.ndarray, "runs n"]) -> Float[np.ndarray, "runs n"]:
    """Mean of the values before each, and of one pseudo-value of 1/2."""
    mean: Float[np.ndarray, "runs n"] = (0.5 + np.cumsum(x, axis=1) - x) / (1.0 + np.arange(x.shape[1]))
    return mean


def kelly(
    mean: Float[np.ndarray, "runs n"],
    second_moment: Float[np.ndarray, "runs n"],
    target: float | Float[np.ndarray, " n"],
) -> Float[np.ndarray, "runs n"]:
    """Kelly's stake for the two-point law, 0 or b, with these moments, against the mean just rejected."""
    q = np.minimum(mean**2 / second_moment, 1.0 - 1e-12)
    r = _just_rejected(q, np.broadcast_to(target, q.shape))
    theta: Float[np.ndarray, "runs n"] = (q - r) / (1.0 - r)
    return theta


def lowest_mean(
    x: Float[np.ndarray, "runs n"],
    theta: Float[np.ndarray, "runs n"],
    threshold: float | Float[np.ndarray, " runs"],
) -> Float[np.ndarray, " runs"]:
    """The m with log K(m) = threshold, rounded to the rejected side; at most the largest value, 0 if none is.

    `x` ≥ 0, of any size.
    """
    log_mean = _climb(x, theta, threshold, np.full(len(x), SMALLEST))
    return np.where(log_mean > SMALLEST, np.exp(log_mean), 0.0)


def _just_rejected(
    q: Float[np.ndarray, "*shape"], target: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The r < q with KL(q ‖ r) = target, nearly: KL is convex in r, and Newton from the right is then below it."""
    r = q * np.exp(-target / q)
    for _ in range(8):
        kl = q * np.log(q / r) + (1.0 - q) * np.log((1.0 - q) / (1.0 - r))
        slope = np.minimum((r - q) / (r * (1.0 - r)), -1e-12)
        r = np.clip(r - (kl - target) / slope, 1e-3 * r, q)
    return np.asarray(r)


def _log_capital(
    x: Float[np.ndarray, "runs n"], theta: Float[np.ndarray, "runs n"], log_mean: Float[np.ndarray, " runs"]
) -> tuple[Float[np.ndarray, " runs"], Float[np.ndarray, " runs"]]:
    """Logarithm of K(m) and its derivative in log m."""
    won = theta * x * np.exp(-log_mean)[:, None]
    factor = 1.0 - theta + won
    return np.log(factor).sum(axis=1), -(won / factor).sum(axis=1)


def _climb(
    x: Float[np.ndarray, "runs n"],
    theta: Float[np.ndarray, "runs n"],
    threshold: float | Float[np.ndarray, " runs"],
    log_mean: Float[np.ndarray, " runs"],
) -> Float[np.ndarray, " runs"]:
    """Newton's method for log K = threshold from rejected means; where the start is not rejected, the start."""
    largest = np.log(np.maximum(x.max(axis=1), math.exp(SMALLEST)))
    for _ in range(60):
        value, slope = _log_capital(x, theta, log_mean)
        above = np.maximum(value - threshold, 0.0)
        if (above <= 1e-10).all():
            break
        step = np.divide(above, -slope, out=np.zeros_like(above), where=slope < 0)
        log_mean = np.minimum(log_mean + step, largest)
        if (log_mean[above > 1e-10] == largest[above > 1e-10]).all():
            break
    return log_mean


def _check_range(low: Any, high: Any) -> tuple[float, float]:
    numbers = all(isinstance(x, int | float | np.floating | np.integer) for x in (low, high))
    if not (numbers and math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"low and high must be finite numbers, low < high, not {low} and {high}")
    return float(low), float(high)
