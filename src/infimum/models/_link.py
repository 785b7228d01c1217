"""How a layer's output became the network's output: as it is, divided by a temperature, or through a softmax.

Told by values, not by names, so it holds for every framework.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infimum._checks import Array
from infimum.head import Head

SMALLEST = 1e-30
"""Probabilities below this carry too few digits to measure a temperature on."""


@dataclass(frozen=True)
class Link:
    """The network's output is `kind` ("same", "softmax", "log-softmax", "sigmoid") of `scale` · the layer's output.

    `scale` is one over the temperature. `tolerance` is what the network's number format rounds to.

    >>> Link("sigmoid").logits(np.array([[2.0]])).tolist()
    [[0.0, 2.0]]
    """

    kind: str
    scale: float = 1.0
    tolerance: float = 1e-9

    def logits(self, values: Array) -> Array:
        """Logits (n, K) of the layer's output (n, K); a single output z gives [0, z]."""
        scaled = values if self.scale == 1.0 else values * values.dtype.type(self.scale)
        return np.concatenate([np.zeros_like(scaled), scaled], axis=1) if scaled.shape[1] == 1 else scaled

    def head(self, weight: Array, bias: Array | None, name: str) -> Head:
        """The layer with `weight` (K, d) and `bias` (K,) as the head that gives these logits."""
        weight = np.asarray(weight, np.float64) * self.scale
        bias = np.zeros(len(weight)) if bias is None else np.asarray(bias, np.float64) * self.scale
        if len(weight) == 1:
            weight, bias = np.vstack([np.zeros_like(weight), weight]), np.concatenate([[0.0], bias])
        return Head(weight, bias, name=name)

    def fits(self, values: Array, output: Array) -> bool:
        """Whether the layer's output (n, K) explains the network's output (n, K), on every row."""
        made = _apply(self.kind, np.asarray(values, np.float64) * self.scale)
        size = 1.0 if self.kind in ("softmax", "sigmoid") else max(SMALLEST, float(np.abs(output).max()))
        return float(np.abs(made - output).max()) <= self.tolerance * size


def find_link(values: Array, output: Array, tolerance: float) -> Link | None:
    """How `values` (n, K) of a layer became the network's `output` (n, K), or None if they did not.

    A temperature of one is tried first; another is fitted by least squares and must then explain every row.

    >>> z = np.array([[1.0, 3.0], [2.0, 0.0]])
    >>> find_link(z, z / 2, 1e-9)
    Link(kind='same', scale=0.5, tolerance=1e-09)
    """
    if values.shape != output.shape or values.size == 0:
        return None
    values, output = np.asarray(values, np.float64), np.asarray(output, np.float64)
    if not (np.isfinite(values).all() and np.isfinite(output).all()):
        return None
    kinds = ["same"]
    if values.shape[1] == 1:
        kinds.append("sigmoid")
    elif are_probabilities(output, tolerance):
        kinds.append("softmax")
    elif are_probabilities(
        np.exp(np.minimum(output, 1.0)), tolerance * max(1.0, float(np.abs(output).max()))
    ):
        kinds.append("log-softmax")
    for kind in kinds:
        for scale in (1.0, _fitted_scale(kind, values, output)):
            if scale is not None and (link := Link(kind, scale, tolerance)).fits(values, output):
                return link
    return None


def are_probabilities(output: Array, tolerance: float) -> bool:
    """Whether every row is from 0 to 1 and sums to 1.

    >>> are_probabilities(np.array([[0.25, 0.75]]), 1e-6)
    True
    """
    total = output.sum(axis=1)
    return bool(output.min() >= 0 and (np.abs(total - 1) <= max(tolerance, 1e-6) * output.shape[1]).all())


def are_sigmoids(values: Array, output: Array, tolerance: float) -> bool:
    """Whether each of several outputs (n, K > 1) is the sigmoid of its value, on every row.

    >>> are_sigmoids(np.zeros((1, 2)), np.full((1, 2), 0.5), 1e-9)
    True
    """
    return (
        output.shape[1] > 1
        and values.shape == output.shape
        and Link("sigmoid", 1.0, tolerance).fits(values, output)
    )


def _apply(kind: str, z: Array) -> Array:
    if kind == "same":
        return z
    if kind == "sigmoid":
        made: Array = 0.5 * (1 + np.tanh(0.5 * z))
        return made
    logs: Array = z - z.max(axis=1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return np.exp(logs) if kind == "softmax" else logs


def _fitted_scale(kind: str, values: Array, output: Array) -> float | None:
    """The positive s with which s · values comes closest to the output (its logarithm); None if there is none."""
    if values.size < 2 or kind == "sigmoid":
        return None
    if kind == "same":
        x, y = values.ravel(), output.ravel()
    else:
        # A softmax forgets what is added to a row: compare differences from the row's largest entry.
        known = output > SMALLEST if kind == "softmax" else np.isfinite(output)
        logs = np.log(np.maximum(output, SMALLEST)) if kind == "softmax" else output
        top = output.argmax(axis=1)[:, None]
        x = (values - np.take_along_axis(values, top, 1))[known]
        y = (logs - np.take_along_axis(logs, top, 1))[known]
    square = float(x @ x)
    scale = float(x @ y) / square if square > 0 else 0.0
    return scale if scale > 0 and np.isfinite(scale) else None
