"""Algorithm 1 in closed form: from the p-values of the two best labels to the success level λ(x).

The paper walks ε = δ, 2δ, … to the first one-label set and gives x the level 1 − ε. |C_ε| = 1 exactly when
p_(2) ≤ ε < p_(1), hence λ(x) = 1 − p_(2) for δ → 0 and max(0, 1 − δ⌈p_(2)/δ⌉) on the grid: no loop.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array, Real, exact_fraction
from infimum.errors import InputError

Empty = Literal["argmax", "zero", "nan"]
"""How an input that never gets a one-label set is read: keep the top label, score it 0, or leave it out."""

Step = Real | str | Fraction | None


def check_empty(empty: str) -> None:
    """Raise unless `empty` is one of the three readings."""
    if empty not in get_args(Empty):
        raise InputError(f"empty must be one of {', '.join(get_args(Empty))}, not {empty!r}")


def step_fraction(step: Step) -> Fraction | None:
    """The paper's δ as an exact fraction in (0, 1); None and "exact" stand for δ → 0."""
    return None if step is None or step == "exact" else exact_fraction(step, "step")


def level_table(n: int, step: Step = None) -> Float[np.ndarray, "{n}+2"]:  # noqa: F821
    """Success level for each value of the runner-up's p-value count, index 0..n+1 (index 0 never occurs).

    With δ = a/b the level is (b − a⌈p/δ⌉)/b.

    >>> level_table(3, 0.25).tolist()
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """
    delta = step_fraction(step)
    if delta is None:
        levels: Array = (n + 1 - np.arange(n + 2)) / (n + 1)
    else:
        a, b = delta.numerator, delta.denominator
        levels = np.maximum(0.0, ((b - a * _steps_up_to(n, delta)) / b).astype(np.float64))
    return levels


def never_singleton(
    count_top: Int[np.ndarray, " n"], count_second: Int[np.ndarray, " n"], n: int, step: Step = None
) -> Bool[np.ndarray, " n"]:
    """Whether no error level (of the grid) gives the input a one-label set.

    Without a grid this is p_(1) = p_(2); on it, the first multiple of δ at or above p_(2) is not below p_(1):
    mδ < p_(1) with m = ⌈p_(2)/δ⌉ whole means m < ⌈p_(1)/δ⌉.

    >>> never_singleton(np.array([4, 3]), np.array([2, 3]), 3).tolist()
    [False, True]
    """
    delta = step_fraction(step)
    if delta is not None:
        steps = _steps_up_to(n, delta)
        count_top, count_second = steps[count_top], steps[count_second]
    never: Array = count_second >= count_top
    return never.astype(bool)


def _steps_up_to(n: int, delta: Fraction) -> Array:
    """⌈p/δ⌉ for p = count/(n+1), count 0..n+1, in whole numbers: ⌈count·b / ((n+1)·a)⌉."""
    a, b = delta.numerator, delta.denominator
    counts = np.arange(n + 2, dtype=np.int64 if (n + 2) * max(a, b) < 2**62 else object)
    steps: Array = -((-counts * b) // ((n + 1) * a))
    return steps


def levels_of(
    count_top: Int[np.ndarray, " n"],
    count_second: Int[np.ndarray, " n"],
    n: int,
    step: Step = None,
    empty: Empty = "argmax",
) -> Float[np.ndarray, " n"]:
    """λ(x) of inputs with these p-value counts, in [0, n/(n+1)]; NaN only where `empty` asks for it.

    >>> levels_of(np.array([4, 3]), np.array([1, 3]), 3, empty="zero").tolist()
    [0.75, 0.0]
    """
    levels: Array = level_by_code(n, step, empty)[level_codes(count_top, count_second, n, step, empty)]
    return levels


def level_by_code(n: int, step: Step = None, empty: Empty = "argmax") -> Float[np.ndarray, "{n}+3"]:  # noqa: F821
    """`level_table`, and after it the level of inputs that never get a one-label set, if they have one of their own.

    >>> level_by_code(3, 0.25, "zero").tolist()
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    check_empty(empty)
    return np.append(level_table(n, step), np.nan if empty == "nan" else 0.0)


def level_codes(
    count_top: Int[np.ndarray, " n"],
    count_second: Int[np.ndarray, " n"],
    n: int,
    step: Step = None,
    empty: Empty = "argmax",
) -> Int[np.ndarray, " n"]:
    """Where the level of each input stands in `level_by_code`: whole numbers, to be counted.

    >>> level_codes(np.array([4, 3]), np.array([1, 3]), 3, empty="zero").tolist()
    [1, 5]
    """
    if empty == "argmax":
        return count_second
    return np.where(never_singleton(count_top, count_second, n, step), n + 2, count_second)
