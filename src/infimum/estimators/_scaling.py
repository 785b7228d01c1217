"""Temperature-scaled confidence and entropy of every input, in chunks; and how the temperature's own error enters.

With β = 1/T and a_j = z_j − z_max, p_max = 1/Σ exp(β a_j). Per calibration row the derivatives of −log p_y are
ψ = E_p[a] − a_y and h = Var_p(a), so a bootstrap replicate that counts row i v_i times moves log β, to first
order, by −Σ v ψ / (β Σ v h): one Newton step instead of a new fit (Davison and Hinkley, 1997, section 2.7).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array
from infimum.conformal._ranking import CHUNK
from infimum.conformal._temperature import fit_temperature
from infimum.outputs._outputs import Outputs


class Confidence(NamedTuple):
    """Of each input: figures of softmax(z/T), without cancellation near 1."""

    largest: Float[np.ndarray, " n"]
    """p_max."""
    others: Float[np.ndarray, " n"]
    """(1 − p_max)/p_max: orders inputs whose p_max is 1 in floating point."""
    entropy: Float[np.ndarray, " n"]
    """−Σ p log p, in nats."""
    slope: Float[np.ndarray, " n"]
    """dp_max/dβ."""


def confidence(logits: Float[np.ndarray, "n K"], temperature: float = 1.0) -> Confidence:
    """Confidence of every row of `logits` at this temperature, in chunks.

    >>> import numpy as np
    >>> c = confidence(np.array([[0.0, np.log(3.0)]]))
    >>> round(float(c.largest[0]), 6), round(float(c.entropy[0]), 6)
    (0.75, 0.562335)
    """
    n, n_classes = logits.shape
    of_rows = Confidence(*(np.empty(n) for _ in Confidence._fields))
    for start in range(0, n, size := max(1, CHUNK // n_classes)):
        rows = slice(start, start + size)
        a, mass = _relative(logits[rows], temperature)
        np.put_along_axis(mass, a.argmax(axis=1)[:, None], 0.0, axis=1)
        others = mass.sum(axis=1)
        largest = 1.0 / (1.0 + others)
        mean_a = np.einsum("ij,ij->i", mass, a) * largest
        of_rows.others[rows], of_rows.largest[rows] = others, largest
        of_rows.entropy[rows] = np.log1p(others) - mean_a / temperature
        of_rows.slope[rows] = -largest * mean_a
    return of_rows


class Temperature(NamedTuple):
    """A fitted temperature, and each calibration row's ψ and h (zero where the data do not determine it)."""

    value: float
    score: Float[np.ndarray, " n"]
    curvature: Float[np.ndarray, " n"]
    notes: tuple[str, ...]

    def step(self, counts: Int[np.ndarray, " n"]) -> float:
        """How far β = 1/T moves when calibration row i is counted counts[i] times."""
        curvature = float(counts @ self.curvature)
        if curvature <= 0:
            return 0.0
        return math.expm1(-float(counts @ self.score) * self.value / curvature) / self.value


def fitted(calibration: Outputs) -> Temperature:
    """The temperature that minimises the calibration's negative log-likelihood (Guo et al., 2017)."""
    logits, labels = calibration.logits, calibration.known_labels
    value, notes = fit_temperature(logits, labels)
    score, curvature = np.zeros(len(labels)), np.zeros(len(labels))
    # At a limit of the search there is no minimum, and no Newton step from it.
    for start in range(0, 0 if notes else len(labels), size := max(1, CHUNK // logits.shape[1])):
        rows = slice(start, start + size)
        a, mass = _relative(logits[rows], value)
        p = mass / mass.sum(axis=1, keepdims=True)
        mean_a = (p * a).sum(axis=1)
        score[rows] = mean_a - np.take_along_axis(a, labels[rows, None], axis=1)[:, 0]
        curvature[rows] = (p * (a - mean_a[:, None]) ** 2).sum(axis=1)
    return Temperature(value, score, curvature, tuple(map(str, notes)))


def _relative(logits: Array, temperature: float) -> tuple[Array, Array]:
    """Z − z_max, and exp of it at this temperature."""
    a = logits.astype(np.float64)
    a -= a.max(axis=1, keepdims=True)
    return a, np.exp(a / temperature)
