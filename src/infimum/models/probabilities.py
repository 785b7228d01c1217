"""Logits or probabilities? What a network of unknown ending gives is told by its numbers."""

from __future__ import annotations

import numpy as np

from infimum.checks import Array

ROWS_NEEDED = 8
"""Fewer rows may look like probabilities by chance (two logits in [0, 1] that happen to sum to 1)."""


def look_like_probabilities(outputs: Array) -> bool:
    """Whether all rows of (n, K) hold numbers from 0 to 1 that sum to 1, as no network's logits do.

    >>> look_like_probabilities(np.array([[0.25, 0.75], [1.0, 0.0]]))
    True
    >>> look_like_probabilities(np.array([[0.25, 0.75], [1.0, 2.0]]))
    False
    """
    if outputs.ndim != 2 or outputs.shape[1] < 2 or outputs.dtype.kind != "f":
        return False
    tolerance = 1e-2 if outputs.dtype == np.float16 else 1e-3
    total = outputs.sum(axis=1, dtype=np.float64)
    return bool((outputs >= 0).all() and (np.abs(total - 1) <= tolerance).all())


def two_logits(single: Array) -> Array:
    """The logits [0, z] (n, 2) of a single sigmoid output z (n, 1): softmax gives [1 − σ(z), σ(z)].

    >>> two_logits(np.array([[3.0]])).tolist()
    [[0.0, 3.0]]
    """
    z = single.reshape(-1)
    return np.stack([np.zeros_like(z), z], axis=1)


def two_classes(weight: Array, bias: Array) -> tuple[Array, Array]:
    """Weight (1, d) and bias (1,) of a single sigmoid output, stacked to the weight (2, d) and bias (2,) of [0, z].

    >>> two_classes(np.array([[3.0]]), np.array([1.0]))[0].tolist()
    [[0.0], [3.0]]
    """
    return np.concatenate([np.zeros_like(weight), weight]), np.concatenate([np.zeros_like(bias), bias])
