"""One Gaussian per predicted class in closed form: no EM, one pass, and room for thousands of dimensions.

Class c has weight n_c/n, mean μ_c and a covariance made of two parts that are never formed as matrices,
Σ_c = O_cᵀO_c + SᵀS: a root O_c of its own (r_c, d) and one S (r, d) that all classes share.

| covariance | O_cᵀO_c | SᵀS |
|---|---|---|
| full | the class covariance | 0 |
| tied | 0 | the pooled covariance Σ |
| shrunk | (1 − a_c) of the class covariance | the pooled one, in the share a_c by class |
| lowrank:r | the r largest principal components of the class | what is left, pooled, on the diagonal |

With a_c = d_eff/(d_eff + n_c), d_eff = (tr Σ)²/tr Σ² the effective dimension: classes with fewer rows than that lean
on the pooled covariance (a fixed rule after Friedman 1989, nothing is tuned).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from infimum.checks import Array, check_matrix
from infimum.errors import InputError
from infimum.head import Head
from infimum.manifold.base import ManifoldFit, group_by_component, square_root
from infimum.manifold.even import even_points


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    """Mixture Σ_c weight_c N(mean_c, O_cᵀO_c + share_c² SᵀS): `own` C × (r_c, d), `shared` (r, d).

    >>> fit = ManifoldFit("class-gaussians", 2, 1, 1, "tied")
    >>> law = ClassGaussians(np.ones(1), np.zeros((1, 1)), [np.zeros((0, 1))], np.ones((1, 1)), np.ones(1), fit)
    >>> law.sample(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    weights: Float[np.ndarray, " C"]
    means: Float[np.ndarray, "C d"]
    own: list[Array]
    shared: Array
    share: Float[np.ndarray, " C"]
    fit: ManifoldFit

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """See `Manifold.sample`."""
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        return self._around(component, rng.standard_normal((n, self._width())))

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`."""
        points = even_points(n, self._width(), rng)
        last = len(self.weights) - 1
        component = np.searchsorted(np.cumsum(self.weights), points.component, side="right")
        return self._around(np.minimum(component, last), points.normals), points.u

    def push_forward(self, head: Head) -> ClassGaussians:
        """Exactly the Gaussians of the logits: means through W and b, both roots through W."""
        own = [square_root(root @ head.weight.T) for root in self.own]
        shared = square_root(self.shared @ head.weight.T)
        return ClassGaussians(self.weights, head.logits(self.means), own, shared, self.share, self.fit)

    def _width(self) -> int:
        return len(self.shared) + max(len(root) for root in self.own)

    def _around(
        self, component: Int[np.ndarray, " n"], normals: Float[np.ndarray, "n width"]
    ) -> Float[np.ndarray, "n d"]:
        common = len(self.shared)
        samples: Array = self.means[component]
        if common:
            samples += (normals[:, :common] * self.share[component, None]) @ self.shared
        for rows, root in zip(group_by_component(component, len(self.weights)), self.own, strict=True):
            if len(rows) and len(root):
                samples[rows] += normals[rows, common : common + len(root)] @ root
        return samples


def fit_class_gaussians(features: Array, predicted: Array, covariance: str = "full") -> ClassGaussians:
    """Fit to features (n, d) whose predicted classes are (n,); `covariance` as in the table above.

    Memory: a copy of the features, and (d, d) for "tied" and "shrunk". Raises InputError for another covariance.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> law = fit_class_gaussians(rng.normal(size=(200, 3)) + 9 * y[:, None], y, "shrunk")
    >>> law.fit.components, law.means.shape
    (2, (2, 3))
    """
    kind, rank = _parse(covariance)
    x = check_matrix(features, "manifold features").astype(np.float64)
    classes, part = np.unique(predicted, return_inverse=True)
    if len(part) != len(x):
        raise InputError(f"predicted has {len(part)} entries, but there are {len(x)} features")
    n, d = x.shape
    groups = group_by_component(part.reshape(-1), len(classes))
    counts = np.array([len(rows) for rows in groups])
    means = np.stack([x[rows].mean(axis=0) for rows in groups])
    x -= means[part.reshape(-1)]
    share = np.ones(len(classes))
    if kind == "full":
        own, shared = [_root(x[rows]) for rows in groups], np.zeros((0, d))
    elif kind == "tied":
        own, shared = [np.zeros((0, d)) for _ in groups], square_root(x / math.sqrt(n))
    elif kind == "shrunk":
        shared = square_root(x / math.sqrt(n))
        pooled = shared @ shared.T  # same eigenvalues as the pooled covariance
        effective = float(np.trace(pooled) ** 2 / max((pooled**2).sum(), 1e-300))
        lean = effective / (effective + counts)
        own = [math.sqrt(1 - a) * _root(x[rows]) for a, rows in zip(lean, groups, strict=True)]
        share = np.sqrt(lean)
    else:
        own, left = _principal(x, groups, rank)
        shared = np.diag(np.sqrt(left))
    fit = ManifoldFit("class-gaussians", n, d, len(classes), covariance)
    return ClassGaussians(counts / n, means, own, shared, share, fit)


def _parse(covariance: str) -> tuple[str, int]:
    kind, _, rank = covariance.partition(":")
    if kind == "lowrank" and rank.isdigit() and int(rank) >= 1:
        return kind, int(rank)
    if covariance not in ("full", "tied", "shrunk"):
        raise InputError(f"covariance must be full, tied, shrunk or lowrank:r (r ≥ 1), not {covariance!r}")
    return kind, 0


def _root(centred: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "r d"]:
    """R with RᵀR the 1/m covariance of the rows, in min(m, d) rows; singular is fine."""
    return square_root(centred / math.sqrt(len(centred)))


def _principal(x: Float[np.ndarray, "n d"], groups: list[Array], rank: int) -> tuple[list[Array], Array]:
    """Roots of the classes' largest principal components, and the pooled variance that they leave (d,)."""
    own, left = [], np.zeros(x.shape[1])
    for rows in groups:
        _, values, directions = np.linalg.svd(_root(x[rows]), full_matrices=False)
        own.append(values[:rank, None] * directions[:rank])
        rest = values[rank:, None] * directions[rank:]
        left += len(rows) / len(x) * (rest**2).sum(axis=0)
    return own, left
