"""Nearest-neighbour interpolation: points on the lines between real features of one predicted class.

A sample is φ_i + t (φ_j − φ_i) with i a real feature, j one of its k nearest neighbours of the same predicted
class and t uniform on [0, 1] (Chawla et al., 2002, "SMOTE"). Interpolation draws points together: variances come
out a little too small. It has no density. It is linear in the features, so a linear head pushes it forward exactly:
the logits of the same pairs are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_matrix, check_predicted
from infimum.errors import InputError
from infimum.head import Head
from infimum.manifold._even import even_points
from infimum.manifold._manifold import ManifoldFit, group_by_component

NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class NeighborsLaw:
    """Real points (m, d), in the order of their class, and the numbers of each one's neighbours (m, k)."""

    points: Float[np.ndarray, "m d"]
    neighbors: Int[np.ndarray, "m k"]
    fit: ManifoldFit

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """See `Manifold.sample`."""
        chosen = rng.integers(len(self.points), size=n)
        return self._between(chosen, rng.integers(self.neighbors.shape[1], size=n), rng.random(n))

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`."""
        from scipy.special import ndtr

        points = even_points(n, 2, rng)
        which, t = ndtr(points.normals).T
        k = self.neighbors.shape[1]
        chosen = (points.component * len(self.points)).astype(np.int64)
        return self._between(chosen, np.minimum((which * k).astype(np.int64), k - 1), t), points.u

    def push_forward(self, head: Head) -> NeighborsLaw:
        """Exactly the law of the logits: W(φ_i + t(φ_j − φ_i)) + b lies between the logits of i and j."""
        return NeighborsLaw(head.logits(self.points), self.neighbors, self.fit)

    def _between(
        self, chosen: Int[np.ndarray, " n"], which: Int[np.ndarray, " n"], t: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n d"]:
        start = self.points[chosen]
        step: Array = self.points[self.neighbors[chosen, which]] - start
        step *= t[:, None]
        step += start
        return step


def fit_neighbors(features: Array, predicted: Array, neighbors: int = NEIGHBORS) -> NeighborsLaw:
    """Interpolate features (m, d) of predicted classes (m,) towards `neighbors` k ≥ 1 Euclidean neighbours.

    A class of fewer than k + 1 points uses the neighbours it has; a class of one point gives that point. Raises
    InputError for an empty array or no neighbours.

    >>> law = fit_neighbors(np.array([[0.0], [1.0], [9.0]]), np.array([0, 0, 1]), neighbors=1)
    >>> samples = law.sample(200, np.random.default_rng(0))
    >>> bool(((samples <= 1) | (samples == 9)).all())
    True
    """
    from sklearn.neighbors import NearestNeighbors

    x = check_matrix(features, "manifold features").astype(np.float64)
    if isinstance(neighbors, bool) or not isinstance(neighbors, int) or neighbors < 1:
        raise InputError(f"neighbors must be a whole number, 1 or more, not {neighbors!r}")
    classes, part = np.unique(check_predicted(predicted, len(x)), return_inverse=True)
    order = np.argsort(part, kind="stable")
    x = x[order]
    found = np.empty((len(x), neighbors), dtype=np.int64)
    for rows in group_by_component(part[order], len(classes)):
        k = min(neighbors, len(rows) - 1)
        if k == 0:
            found[rows] = rows[:, None]
            continue
        # Without an argument, kneighbors leaves the point itself out, duplicates of it not.
        near = NearestNeighbors(n_neighbors=k).fit(x[rows]).kneighbors(return_distance=False)
        found[rows] = rows[near[:, np.arange(neighbors) % k]]
    fit = ManifoldFit("neighbors", len(x), x.shape[1], len(classes), f"{neighbors} neighbors")
    return NeighborsLaw(x, found, fit)
