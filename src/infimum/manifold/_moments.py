"""Counts, means and scatters of features by predicted class, from a stream: what Gaussians in closed form need.

The scatter of a class is S_c = Σ_i (φ_i − μ_c)(φ_i − μ_c)ᵀ. Of two parts a and b with n_a and n_b features,

    μ = μ_a + n_b/n δ,    S = S_a + S_b + n_a n_b/n δδᵀ,    δ = μ_b − μ_a,    n = n_a + n_b

exactly (Chan, Golub and LeVeque, 1983), so batches, files and machines can be added up in any order. Nothing is
lost to cancellation, as it is with sums of squares.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_labels, check_matrix
from infimum.errors import InputError
from infimum.manifold._manifold import group_by_component

Scatter = Literal["class", "pooled", "diagonal"]

MOST_BYTES = 4 * 2**30
"""Scatters larger than this are refused."""

BLOCK = 4096
"""Rows centred at a time."""


class ClassMoments:
    """Streaming `counts` (C,), `means` (C, d) and `scatter` of features by predicted class 0..C−1, in float64.

    `kind` says which scatter is kept: "class", every S_c (C, d, d); "pooled", their sum (d, d); "diagonal", the
    diagonals (C, d). Memory is that of the scatter however many features are added. Raises InputError when it
    would be more than 4 GiB.

    >>> x, y = np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1])
    >>> whole = ClassMoments(1, 2)
    >>> whole.add(x, y)
    >>> parts = [ClassMoments(1, 2) for _ in range(2)]
    >>> parts[0].add(x[:1], y[:1])
    >>> parts[1].add(x[1:], y[1:])
    >>> both = parts[0] + parts[1]
    >>> both.counts.tolist(), both.means.tolist(), both.scatter.ravel().tolist()
    ([2, 1], [[1.0], [5.0]], [2.0, 0.0])
    """

    def __init__(self, n_features: int, n_classes: int, kind: Scatter = "class") -> None:
        if kind not in get_args(Scatter):
            raise InputError(f"kind of scatter must be one of {', '.join(get_args(Scatter))}, not {kind!r}")
        if n_features < 1 or n_classes < 1:
            raise InputError(f"moments need features and classes, not {n_features} and {n_classes}")
        shape = {
            "class": (n_classes, n_features, n_features),
            "pooled": (n_features, n_features),
            "diagonal": (n_classes, n_features),
        }[kind]
        size = 8 * int(np.prod([float(k) for k in shape]))
        if size > MOST_BYTES:
            raise InputError(
                f"{kind} scatters of {n_classes} classes and {n_features} features need {size / 2**30:.0f} GiB, "
                f"at most {MOST_BYTES >> 30} are taken: use the covariance tied or diag, or fit to features in memory"
            )
        self.kind = kind
        self.counts: Int[np.ndarray, " C"] = np.zeros(n_classes, dtype=np.int64)
        self.means: Float[np.ndarray, "C d"] = np.zeros((n_classes, n_features))
        self.scatter: Float[np.ndarray, "..."] = np.zeros(shape)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.means.shape[1])

    def add(self, features: Array, predicted: Array) -> None:
        """Add features (n, d) of predicted classes (n,); raises InputError for other shapes or classes.

        Memory: twice the scatter, and the rows of one class.
        """
        x = check_matrix(features, "manifold features", self.n_features)
        part = check_labels(predicted, len(x), len(self.counts), "predicted")
        groups = group_by_component(part, len(self.counts))
        counts = np.array([len(rows) for rows in groups])
        means, scatter = np.zeros_like(self.means), np.zeros_like(self.scatter)
        for c, rows in enumerate(groups):
            if len(rows):
                means[c] = x[rows].mean(axis=0, dtype=np.float64)
                if self.kind == "class":
                    own = x[rows] - means[c]
                    scatter[c] = own.T @ own
        if self.kind != "class":
            order = np.concatenate(groups)
            for start in range(0, len(x), BLOCK):
                rows = order[start : start + BLOCK]
                block = x[rows] - means[part[rows]]
                if self.kind == "pooled":
                    scatter += block.T @ block
                else:
                    np.add.at(scatter, part[rows], block**2)
        self._combine(counts, means, scatter)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """The moments of the features of both, which must agree on features, classes and kind."""
        if (self.kind, self.means.shape) != (other.kind, other.means.shape):
            raise InputError(
                f"moments of {self.kind} scatter and shape {self.means.shape} cannot be added to those of "
                f"{other.kind} scatter and shape {other.means.shape}"
            )
        both = ClassMoments(self.n_features, len(self.counts), self.kind)
        for part in (self, other):
            both._combine(part.counts, part.means, part.scatter)
        return both

    def covariances(self) -> Float[np.ndarray, "..."]:
        """S_c/n_c of every class that has features, for "class" and "diagonal"; Σ S_c / Σ n_c for "pooled"."""
        if self.kind == "pooled":
            pooled: Array = self.scatter / self.counts.sum()
            return pooled
        seen = self.counts > 0
        shape = (-1,) + (1,) * (self.scatter.ndim - 1)
        each: Array = self.scatter[seen] / self.counts[seen].reshape(shape)
        return each

    def _combine(self, counts: Array, means: Array, scatter: Array) -> None:
        """Chan's update of all classes, in place; a class without features on a side has nothing in between."""
        total = self.counts + counts
        delta = means - self.means
        between = self.counts * counts / np.maximum(total, 1)
        self.scatter += scatter
        if self.kind == "pooled":
            self.scatter += (delta * between[:, None]).T @ delta
        elif self.kind == "diagonal":
            self.scatter += between[:, None] * delta**2
        else:
            for c in np.flatnonzero(between):
                self.scatter[c] += between[c] * np.outer(delta[c], delta[c])
        self.means += delta * (counts / np.maximum(total, 1))[:, None]
        self.counts = total
