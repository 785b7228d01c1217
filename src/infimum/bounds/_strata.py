"""Strata of operation inputs by their levels, and how many labels each of them should get.

Within a stratum a level f means a success rate f, so the standard deviation of one label is √(f(1 − f)). Strata
of equal Σ√(f(1 − f)) (Dalenius and Hodges' rule, with that deviation for the density) are narrow where errors
are likely, and Neyman's allocation n_s ∝ w_s √(f_s(1 − f_s)) then asks about equally often in each. The levels
may be wrong: a floor proportional to the weights keeps every part of the operation looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Real, check_numbers, check_share, check_weights
from infimum.bounds._observations import check_bounded
from infimum.errors import InputError

CERTAIN = 1e-3
"""Levels within this of 0 or 1 are taken as this far from it: no level is certain."""


@dataclass(frozen=True, eq=False)
class Strata:
    """A division of the levels. Stratum s holds the levels in [edges[s−1], edges[s]), the last one all above.

    `edges` (S−1,) rising; `weights` (S,) share of the operation inputs in each stratum, sum 1; `levels` (S,)
    their mean level.
    """

    edges: Float[np.ndarray, " cuts"]
    weights: Float[np.ndarray, " S"]
    levels: Float[np.ndarray, " S"]

    def assign(self, levels: Any) -> Int[np.ndarray, " n"]:
        """Stratum 0..S−1 of each level (n,)."""
        f = check_bounded(levels, "levels")
        return np.searchsorted(self.edges, f, side="right").astype(np.int64)


def strata(levels: Any, n_strata: int = 6) -> Strata:
    """Divide operation inputs into strata of equal Σ√(f(1 − f)), f their levels (m,) in [0, 1].

    Levels are success levels λ(x) or, better, recalibrated ones. Inputs of equal level stay together, so there
    are fewer strata where many are equal. Raises InputError for levels outside [0, 1].

    >>> import numpy as np
    >>> s = strata(np.linspace(0.5, 1.0, 1001), n_strata=2)
    >>> s.edges.round(2).tolist(), s.weights.round(2).tolist()
    ([0.7], [0.4, 0.6])
    """
    if isinstance(n_strata, bool) or not isinstance(n_strata, int | np.integer) or n_strata < 1:
        raise InputError(f"n_strata must be a whole number, 1 or more, not {n_strata!r}")
    f = np.sort(check_bounded(levels, "levels"))
    clipped = np.clip(f, CERTAIN, 1.0 - CERTAIN)
    mass = np.cumsum(np.sqrt(clipped * (1.0 - clipped)))
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, n_strata) / n_strata)
    edges = np.unique(f[cuts])
    edges = edges[edges > f[0]]
    part = np.searchsorted(edges, f, side="right")
    count = np.bincount(part, minlength=len(edges) + 1)
    return Strata(edges, count / len(f), np.bincount(part, f) / count)


def allocate(
    n_labels: int,
    weights: Any,
    levels: Any,
    floor: Real = 0.15,
    available: Any = None,
) -> Int[np.ndarray, " S"]:
    """Labels for each stratum (S,): Neyman's allocation, of which a share `floor` is proportional to the weights.

    `weights` (S,) shares of the operation, `levels` (S,) expected success rates, `available` (S,) the inputs
    there are to label in each. Every stratum gets at least one. Raises InputError when that is not possible.
    Source: Neyman (1934).

    >>> allocate(100, [0.9, 0.1], [0.99, 0.6]).tolist()
    [68, 32]
    """
    w = check_weights(weights, None)
    f = np.clip(check_bounded(levels, "levels", n=len(w)), CERTAIN, 1.0 - CERTAIN)
    most = None if available is None else check_numbers(available, "available")
    floor = check_share(floor, "floor")
    if isinstance(n_labels, bool) or not isinstance(n_labels, int | np.integer) or n_labels < len(w):
        raise InputError(f"n_labels must be a whole number, at least one for each of {len(w)} strata")
    if most is None:
        most = np.full(len(w), n_labels)
    if most.shape != w.shape or most.dtype.kind not in "iu" or (most < 1).any() or most.sum() < n_labels:
        raise InputError(
            f"available must be {len(w)} whole numbers, 1 or more, with at least n_labels = {n_labels} in all"
        )
    spread = w * np.sqrt(f * (1.0 - f))
    wanted = n_labels * (floor * w / w.sum() + (1.0 - floor) * spread / spread.sum())
    given = np.ones(len(w), dtype=np.int64)
    for _ in range(n_labels - len(w)):
        given[np.argmax(np.where(given < most, wanted - given, -np.inf))] += 1
    return given
