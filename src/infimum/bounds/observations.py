"""Checks of what was observed on labelled inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool

from infimum.errors import InputError


def check_correct(correct: Any) -> Bool[np.ndarray, " n"]:
    """Which labelled inputs were classified correctly: (n,) booleans or 0/1, n ≥ 1.

    >>> check_correct([1, 0]).tolist()
    [True, False]
    """
    array = np.asarray(correct)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"correct must be one-dimensional and not empty, not of shape {array.shape}")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InputError("correct must hold true/false (or 1/0) for each labelled input")
    return array.astype(bool)
