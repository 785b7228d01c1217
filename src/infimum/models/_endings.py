"""How a network ends (softmax, sigmoid, one output or several) and which logits that means."""

from __future__ import annotations

import warnings

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError

HALF = 2e-2
"""Tolerance of the proof of the cut for a network in float16 or bfloat16, which has two to three digits."""

ROWS_NEEDED = 4
"""Fewer rows may look like probabilities by chance: two logits in [0, 1] sum to 1 within 1e-3 once in 500 rows."""

ROWS_TELLING = 16
"""Of so many rows of logits, some are below 0."""


def classifier_logits(values: Array, what: str, sigmoid: bool, known: bool) -> Array:
    """What a network gives before its softmax or sigmoid as logits (n, K); a single output z is [0, z].

    `sigmoid`: a sigmoid follows. `known`: the values are known to be logits. Raises InputError for several
    sigmoids, and for a single output that may be a logit or a probability.

    >>> classifier_logits(np.array([[3.0]]), "net", sigmoid=True, known=True).tolist()
    [[0.0, 3.0]]
    """
    values = as_rows(values.reshape(-1, 1) if values.ndim == 1 else values)
    if values.ndim == 2 and values.shape[1] == 1:
        if not known:
            raise InputError(
                f"{what} has a single output, and whether it is a probability or a logit cannot be told from its "
                "layers; run it in a function of your own and pass that (any callable)"
            )
        return two_logits(values)
    if sigmoid:
        raise several_sigmoids(what, values.shape[-1])
    return values


def several_sigmoids(what: str, count: int) -> InputError:
    """The refusal of a network for several labels at once.

    >>> str(several_sigmoids("net.onnx", 3))[:28]
    'net.onnx ends in 3 sigmoids:'
    """
    return InputError(
        f"{what} ends in {count} sigmoids: several labels may hold at once, but a classifier with exactly one right "
        "class per input is needed (a softmax, or one sigmoid for two classes)"
    )


def as_rows(values: Array) -> Array:
    """(n, 1, d) or (n, d, 1, 1) as (n, d); anything else as it is.

    >>> as_rows(np.zeros((5, 1, 3))).shape
    (5, 3)
    """
    flat = values.ndim > 2 and len(values) and values[0].size == max(values.shape[1:])
    return values.reshape(len(values), -1) if flat else values


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


def warn_of_posteriors(outputs: Array, what: str) -> None:
    """Warn where outputs (n, K) that are taken as logits are never below 0, as multiples of probabilities are not."""
    if len(outputs) >= ROWS_TELLING and bool((outputs >= 0).all()):
        warnings.warn(
            f"no output of {what} is below 0, yet they are taken as logits; if they are probabilities, weighted or "
            "scaled, return their logarithms instead",
            UserWarning,
            stacklevel=2,
        )


def two_logits(single: Array) -> Array:
    """The logits [0, z] (n, 2) of a single sigmoid output z (n, 1): softmax gives [1 − σ(z), σ(z)].

    >>> two_logits(np.array([[3.0]])).tolist()
    [[0.0, 3.0]]
    """
    z = single.reshape(-1)
    return np.stack([np.zeros_like(z), z], axis=1)


def two_classes(weight: Array, bias: Array) -> tuple[Array, Array]:
    """Weight (K, d) and bias (K,); those of a single sigmoid output stacked to the (2, d) and (2,) of [0, z].

    >>> two_classes(np.array([[3.0]]), np.array([1.0]))[0].tolist()
    [[0.0], [3.0]]
    """
    if len(weight) > 1:
        return weight, bias
    return np.concatenate([np.zeros_like(weight), weight]), np.concatenate([np.zeros_like(bias), bias])
