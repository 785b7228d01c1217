"""Exact power of the Clopper–Pearson bound: with what probability n labels reach a target, and how many do.

With c errors among n labels the bound is at least T if and only if Pr(Binomial(n, 1 − T) ≤ c) ≤ α, hence from
some n_c on. Between n_c and n_{c+1} − 1 exactly c errors are allowed: the power jumps up at n_c and falls until
the next jump, a saw-tooth. So "how many labels" has two answers: the first n that suffices, and the n from which
on every n does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import bdtr, betainc

from infimum._checks import Real, exact_fraction
from infimum.bounds._bound import check_confidence
from infimum.errors import InputError

MOST_ERRORS = 1_000_000
"""Allowed errors beyond which a plan is refused: target and expectation are then practically equal."""


class Labels(NamedTuple):
    """Labels needed: the `first` number that suffices, and from which on `always`."""

    first: int
    always: int


def fewest_labels(
    errors: Int[np.ndarray, " c"], target: Real, confidence: Real = 0.95
) -> Int[np.ndarray, " c"]:
    """Smallest n with which so many errors (c,) still give a Clopper–Pearson bound of at least `target`.

    >>> fewest_labels(np.array([0, 1]), 0.95, 0.95).tolist()
    [59, 93]
    """
    target, alpha = check_chance(target, "target"), 1.0 - check_confidence(confidence)
    return first_met(errors, lambda n: betainc(n - errors, errors + 1, target) <= alpha)


def first_met(
    errors: Int[np.ndarray, " c"], met: Callable[[Int[np.ndarray, " c"]], Bool[np.ndarray, " c"]]
) -> Int[np.ndarray, " c"]:
    """The smallest n > c at which `met(n)` holds, for each number of errors c; once met it must stay so.

    >>> first_met(np.array([0, 5]), lambda n: n >= 9).tolist()
    [9, 9]
    """
    low, high = errors, errors + 1
    while not (enough := met(high)).all():
        low, high = np.where(enough, low, high), np.where(enough, high, 2 * high)
    while (high - low > 1).any():
        middle = (low + high + 1) // 2  # high itself where nothing is left between
        enough = met(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high, dtype=np.int64)


def power(n: Any, target: Real, expected: Real, confidence: Real = 0.95) -> Float[np.ndarray, "*shape"]:
    """Probability that the Clopper–Pearson bound of n labels reaches `target` if the success rate is `expected`.

    `n` whole numbers of any shape; exact. Raises InputError for chances outside (0, 1).

    >>> power([58, 59], 0.95, 0.99).round(3).tolist()
    [0.0, 0.553]
    """
    expected = check_chance(expected, "expected", one=True)
    n = np.asarray(n, dtype=np.int64)
    count = 16
    while (steps := fewest_labels(np.arange(count), target, confidence))[-1] <= n.max():
        count *= 2
    allowed = np.searchsorted(steps, n, side="right") - 1
    reached: Float[np.ndarray, "*shape"] = np.where(
        allowed >= 0, bdtr(np.maximum(allowed, 0), n, 1.0 - expected), 0.0
    )
    return reached


def sample_size(success: Real, target: Real, expected: Real, confidence: Real = 0.95) -> Labels:
    """Labels with which Clopper–Pearson reaches `target` with probability `success`, if Success(f) is `expected`.

    Exact, saw-tooth included. Raises InputError unless target < expected, or when they are too close to plan.

    >>> sample_size(0.9, 0.95, 0.99)
    Labels(first=153, always=181)
    """
    target, expected = check_chance(target, "target"), check_chance(expected, "expected", one=True)
    goal, alpha = check_chance(success, "success"), 1.0 - check_confidence(confidence)
    if expected <= target:
        raise InputError(
            f"expected ({expected:g}) must be above target ({target:g}): no number of labels shows a reliability that "
            "is not there"
        )
    enough = _surely_enough(goal, target, expected, alpha)
    if enough * (1.0 - target) > MOST_ERRORS:
        raise InputError(
            f"target ({target:g}) and expected ({expected:g}) are so close that about {enough:.1g} labels are needed"
        )
    allowed = np.arange(math.ceil(enough * (1.0 - target)) + 2)
    starts = fewest_labels(allowed, target, confidence)
    at_start = bdtr(allowed[:-1], starts[:-1], 1.0 - expected) >= goal
    # Equal starts happen for low targets only, where one more label allows two more errors.
    at_end = bdtr(allowed[:-1], np.maximum(starts[1:] - 1, starts[:-1]), 1.0 - expected) >= goal
    first = int(starts[:-1][at_start][0])
    failing = np.flatnonzero(~at_end & (starts[1:] > starts[:-1]))
    if not len(failing):
        return Labels(first, first)
    c = int(failing[-1])
    # Within the last failing tooth, n falls short from somewhere on; the next tooth starts anew.
    return Labels(first, int(starts[c + 1]))


def _surely_enough(goal: float, target: float, expected: float, alpha: float) -> float:
    """A number from which on every n suffices, by Chernoff's bound on both sides of a rate between the two."""
    q0, q = 1.0 - target, 1.0 - expected
    rate = np.linspace(q, q0, 1002)[1:-1]
    need = np.maximum(-math.log(alpha) / _divergence(rate, q0), -math.log1p(-goal) / _divergence(rate, q))
    return float(need.min())


def _divergence(r: Float[np.ndarray, " r"], q: float) -> Float[np.ndarray, " r"]:
    if q == 0.0:
        return np.full(len(r), np.inf)
    divergence: Float[np.ndarray, " r"] = r * np.log(r / q) + (1.0 - r) * np.log((1.0 - r) / (1.0 - q))
    return divergence


def check_chance(value: Any, what: str, one: bool = False) -> float:
    """A probability strictly between 0 and 1, or 1 itself where that is allowed."""
    if one and value == 1:
        return 1.0
    return float(exact_fraction(value, what))
