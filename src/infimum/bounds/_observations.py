"""Checks of what was observed on labelled inputs: right or wrong, and bounded values."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from infimum._arrays import as_array
from infimum._checks import Array, check_finite
from infimum.errors import InputError


def check_correct(correct: Any) -> Bool[np.ndarray, " n"]:
    """Which labelled inputs were classified correctly: (n,) booleans or 0/1, n ≥ 1.

    >>> check_correct([1, 0]).tolist()
    [True, False]
    """
    array = as_array(correct, "correct")
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"correct must be one-dimensional and not empty, not of shape {array.shape}")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InputError("correct must hold true/false (or 1/0) for each labelled input")
    return array.astype(bool)


def check_bounded(
    values: Any, what: str, low: float = 0.0, high: float = 1.0, n: int | None = None
) -> Float[np.ndarray, " n"]:
    """Finite numbers (n,) in [low, high], n ≥ 1, as float64; `n` fixes their number.

    >>> check_bounded([0, 0.5], "values").tolist()
    [0.0, 0.5]
    """
    array = as_array(values, what)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{what} must be one-dimensional and not empty, not of shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must hold numbers, not {array.dtype}")
    if n is not None and len(array) != n:
        raise InputError(f"{what} has {len(array)} entries, but there are {n} labelled inputs")
    check_finite(array, what)
    outside = np.flatnonzero((array < low) | (array > high))
    if len(outside):
        row = int(outside[0])
        raise InputError(f"{what}: row {row} is {array[row]}, outside [{low:g}, {high:g}]")
    result: Array = array.astype(np.float64)
    return result
