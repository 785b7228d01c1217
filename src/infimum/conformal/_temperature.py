"""The temperature that the likelihood asks for (Guo, Pleiss, Sun and Weinberger 2017, eq. 9).

With β = 1/T and a_j = z_j − z_max the mean of −log p_y is convex in β, and its derivative is the mean over the rows
of E_p[a] − a_y, p = softmax(βz). So it has one minimum, the root of that derivative, unless it falls for ever:
towards T = 0 where every label has the largest logit (the rows are separated), towards T = ∞ where the labels'
logits are on average no larger than the others'. Multiplying the logits by a number multiplies T by it,
and the limits of the search too.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array
from infimum.conformal._ranking import CHUNK
from infimum.io.findings import Finding, note

LIMITS = (1e-2, 1e4)
"""Where the temperature is searched, in units of the median distance of a row's largest logit to its smallest.

Below, the confidences of different rows would all round to 1; above, all to 1/K.
"""

SAME = 1e-250
"""A distance below this counts as none."""


def fit_temperature(
    logits: Float[np.ndarray, "n K"], labels: Int[np.ndarray, " n"]
) -> tuple[float, list[Finding]]:
    """Temperature T > 0 that minimises the mean of −log softmax(z/T)_y, and a note where it is a limit of the search.

    >>> fit_temperature(np.array([[2000.0, 0.0]] * 4), np.array([0, 0, 0, 1]))[0].__round__(2)
    1820.48
    """
    from scipy.optimize import brentq

    distance = logits.max(axis=1).astype(np.float64) - logits.min(axis=1)
    if distance.max() < SAME:
        return 1.0, [note("temperature-undetermined")]
    spread = float(np.median(distance[distance >= SAME]))

    def slope(log_temperature: float) -> float:
        return _slope(logits, labels, spread, math.exp(-log_temperature))

    low, high = (math.log(limit) for limit in LIMITS)
    if slope(low) <= 0:
        return spread * LIMITS[0], [note("temperature-at-lower-limit", temperature=spread * LIMITS[0])]
    if slope(high) >= 0:
        return spread * LIMITS[1], [note("temperature-at-upper-limit", temperature=spread * LIMITS[1])]
    return spread * math.exp(brentq(slope, low, high, xtol=1e-12, rtol=1e-12)), []


def _slope(logits: Array, labels: Array, spread: float, beta: float) -> float:
    """Derivative of the mean loss in β, with the logits in units of `spread`; in chunks."""
    n, n_classes = logits.shape
    slopes = np.empty(n)
    for start in range(0, n, size := max(1, CHUNK // n_classes)):
        rows = slice(start, start + size)
        a = logits[rows].astype(np.float64)
        a -= a.max(axis=1, keepdims=True)
        a /= spread
        mass = np.exp(a * beta)
        mean = np.einsum("ij,ij->i", mass, a) / mass.sum(axis=1)
        slopes[rows] = mean - np.take_along_axis(a, labels[rows, None], axis=1)[:, 0]
    return float(slopes.mean())
