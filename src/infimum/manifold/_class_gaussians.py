"""One Gaussian per predicted class in closed form: no EM, one pass, and room for thousands of dimensions.

Class c has weight n_c/n, mean μ_c and a covariance made of two parts that are never formed as matrices,
Σ_c = O_cᵀO_c + share_c² SᵀS: a root O_c of its own (r_c, d) and one S (r, d) that all classes share. A diagonal
root is kept as the vector of its deviations (d,).

| covariance | O_cᵀO_c | share_c² SᵀS |
|---|---|---|
| full | the class covariance | 0 |
| tied | 0 | the pooled covariance Σ |
| diag | the class variances | 0 |
| spherical | their mean, in every feature | 0 |
| shrunk | (1 − a_c) of the class covariance | a_c Σ |
| lowrank:r | the r largest principal components of the class | what is left, pooled, on the diagonal |

With a_c = d_eff/(d_eff + n_c), d_eff = (tr Σ)²/tr Σ² the effective dimension: classes with fewer rows than that lean
on the pooled covariance (a fixed rule after Friedman 1989, nothing is tuned). The first four need moments only, so
they can be fitted to a stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_matrix, check_predicted
from infimum.errors import InputError
from infimum.head import Head
from infimum.manifold._even import even_points
from infimum.manifold._manifold import ManifoldFit, group_by_component, square_root
from infimum.manifold._moments import ClassMoments, Scatter

LARGE = 2**26
"""Roots of more numbers than this are not made of diagonal ones by push-forward: for 1,000 classes of 2,048 features,
1,000 factorisations and 8 GB, where one matrix product per batch does the same."""

SCATTER: dict[str, Scatter] = {"full": "class", "tied": "pooled", "diag": "diagonal", "spherical": "diagonal"}
"""What a covariance that is fitted from moments needs to know."""


@dataclass(frozen=True, eq=False)
class ClassGaussiansLaw:
    """Mixture Σ_c weight_c N(mean_c, O_cᵀO_c + share_c² SᵀS): `own` C roots, `shared` one root.

    A root is (r, d), or (d,) when it is diagonal. Samples have the precision of the means: float32 or float64.
    Where `through` W (K, f) is given, the own roots are diagonals (f,) in front of it, O_cᵀO_c = W diag(own_c²) Wᵀ, and
    there is no shared one.

    >>> fit = ManifoldFit("class-gaussians", 2, 1, 1, "tied")
    >>> law = ClassGaussiansLaw(np.ones(1), np.zeros((1, 1)), [np.zeros((0, 1))], np.ones((1, 1)), np.ones(1), fit)
    >>> law.sample(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    weights: Float[np.ndarray, " C"]
    means: Float[np.ndarray, "C d"]
    own: list[Array]
    shared: Array
    share: Float[np.ndarray, " C"]
    fit: ManifoldFit
    through: Float[np.ndarray, "d f"] | None = None

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """See `Manifold.sample`."""
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        precision = np.float32 if self.means.dtype == np.float32 else np.float64
        return self._around(component, rng.standard_normal((n, self._width()), dtype=precision))

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`."""
        points = even_points(n, self._width(), rng)
        last = len(self.weights) - 1
        component = np.searchsorted(np.cumsum(self.weights), points.component, side="right")
        normals = points.normals.astype(self.means.dtype, copy=False)
        return self._around(np.minimum(component, last), normals), points.u

    def push_forward(self, head: Head) -> ClassGaussiansLaw:
        """Exactly the Gaussians of the logits: means through W and b, both roots through W."""
        precision = self.means.dtype
        if self._stays_diagonal(head):
            through = head.weight if self.through is None else head.weight @ self.through
            means = head.logits(self.means).astype(precision, copy=False)
            return replace(
                self, means=means, shared=self.shared @ head.weight.T, through=through.astype(precision)
            )
        own = [_pushed(root, head.weight).astype(precision, copy=False) for root in self.roots()]
        shared = _pushed(self.shared, head.weight).astype(precision, copy=False)
        means = head.logits(self.means).astype(precision, copy=False)
        return ClassGaussiansLaw(self.weights, means, own, shared, self.share, self.fit)

    def roots(self) -> Iterator[Array]:
        """O_c of each class, (r, d), or (d,) when it is diagonal."""
        return (root if self.through is None else root[:, None] * self.through.T for root in self.own)

    def _stays_diagonal(self, head: Head) -> bool:
        diagonal = all(root.ndim == 1 for root in self.own) and not len(self.shared)
        return diagonal and len(self.own) * head.n_classes * min(head.n_classes, len(self.own[0])) > LARGE

    def _width(self) -> int:
        return len(self.shared) + max(len(root) for root in self.own)

    def _around(
        self, component: Int[np.ndarray, " n"], normals: Float[np.ndarray, "n width"]
    ) -> Float[np.ndarray, "n d"]:
        common = len(self.shared)
        samples: Array = self.means[component]
        if self.through is not None:
            normals *= np.stack(self.own)[component]
            samples += normals @ self.through.T
            return samples
        if common:
            normals[:, :common] *= self.share[component, None]
            samples += _times(normals[:, :common], self.shared)
        for rows, root in zip(group_by_component(component, len(self.weights)), self.own, strict=True):
            if len(rows) and len(root):
                samples[rows] += _times(normals[rows, common : common + len(root)], root)
        return samples


def fit_class_gaussians(features: Array, predicted: Array, covariance: str = "full") -> ClassGaussiansLaw:
    """Fit to features (n, d) whose predicted classes are (n,); `covariance` as in the table above.

    Samples of float32 features are float32. Memory: the rows of a class in float64; for "full", "shrunk" and
    "lowrank:r" roots of at most n rows together; (d, d) in float64 for "tied" and "shrunk". Raises InputError for
    another covariance.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> law = fit_class_gaussians(rng.normal(size=(200, 3)) + 9 * y[:, None], y, "shrunk")
    >>> law.fit.components, law.means.shape
    (2, (2, 3))
    """
    kind, rank = check_covariance(covariance)
    x = check_matrix(features, "manifold features")
    classes, part = np.unique(check_predicted(predicted, len(x)), return_inverse=True)
    part, (n, d) = part.reshape(-1), x.shape
    precision: type[np.floating[Any]] = np.float32 if x.dtype in (np.float16, np.float32) else np.float64
    if kind in ("tied", "diag", "spherical"):
        moments = ClassMoments(d, len(classes), SCATTER[kind])
        moments.add(x, part)
        return fit_moments(moments, kind, precision)
    groups = group_by_component(part, len(classes))
    counts = np.array([len(rows) for rows in groups])
    means = np.stack([x[rows].mean(axis=0, dtype=np.float64) for rows in groups])
    roots = ((x[rows] - means[c]) / math.sqrt(len(rows)) for c, rows in enumerate(groups))  # one at a time
    share, shared = np.ones(len(classes)), np.zeros((0, d))
    if kind == "full":
        own = [square_root(root).astype(precision) for root in roots]
    elif kind == "shrunk":
        moments = ClassMoments(d, len(classes), "pooled")
        moments.add(x, part)
        pooled = moments.covariances()
        effective = float(np.trace(pooled) ** 2 / max((pooled**2).sum(), 1e-300))
        lean = effective / (effective + counts)
        own = [
            (math.sqrt(1 - a) * square_root(r)).astype(precision) for a, r in zip(lean, roots, strict=True)
        ]
        share, shared = np.sqrt(lean), _root_of(pooled)
    else:
        own, left = [], np.zeros(d)
        for count, root in zip(counts, roots, strict=True):
            rows = square_root(root)
            _, turn = np.linalg.eigh(
                rows @ rows.T
            )  # R Rᵀ = U S² Uᵀ: the rows of Uᵀ R are the components, SVᵀ
            axes = turn[:, ::-1][:, :rank].T @ rows
            own.append(axes.astype(precision))
            left += count / n * np.maximum((rows**2).sum(axis=0) - (axes**2).sum(axis=0), 0.0)
        shared = np.sqrt(left)
    fit = ManifoldFit("class-gaussians", n, d, len(classes), covariance)
    return _law(counts, means, own, shared, share, fit, precision)


def fit_stream(
    batches: Iterable[tuple[Array, Array]], n_classes: int, covariance: str = "full"
) -> ClassGaussiansLaw:
    """Fit "full", "tied", "diag" or "spherical" to batches of features (n, d) and predicted classes (n,).

    One pass; memory is that of `ClassMoments`, whatever the number of batches. Raises InputError for another
    covariance, no batch, or moments beyond 4 GiB.

    >>> rng = np.random.default_rng(0)
    >>> law = fit_stream(((rng.normal(size=(50, 2)), rng.integers(3, size=50)) for _ in range(4)), n_classes=3)
    >>> law.fit.n, law.fit.components
    (200, 3)
    """
    _check_from_moments(covariance)
    moments = None
    for features, predicted in batches:
        if moments is None:
            moments = ClassMoments(
                check_matrix(features, "manifold features").shape[1], n_classes, SCATTER[covariance]
            )
        moments.add(features, predicted)
    if moments is None:
        raise InputError("there is no batch of features to fit a manifold to")
    return fit_moments(moments, covariance)


def fit_moments(
    moments: ClassMoments, covariance: str, precision: type[np.floating[Any]] = np.float64
) -> ClassGaussiansLaw:
    """Class Gaussians of these moments, whose scatter must be the one that `covariance` needs.

    Raises InputError otherwise, or when nothing was added. Classes without features are left out.
    """
    _check_from_moments(covariance)
    if moments.kind != SCATTER[covariance]:
        raise InputError(f"covariance {covariance} needs {SCATTER[covariance]} scatters, not {moments.kind}")
    seen = moments.counts > 0
    if not seen.any():
        raise InputError("the moments are empty: add features before fitting a manifold")
    means, d = moments.means[seen], moments.n_features
    spread = moments.covariances()
    own, shared = [np.zeros((0, d))] * len(means), np.zeros((0, d))
    if covariance == "full":
        own = [_root_of(sigma) for sigma in spread]
    elif covariance == "tied":
        shared = _root_of(spread)
    else:
        if covariance == "spherical":
            spread = np.broadcast_to(spread.mean(axis=1, keepdims=True), spread.shape)
        own = list(np.sqrt(spread))
    fit = ManifoldFit("class-gaussians", int(moments.counts.sum()), d, len(means), covariance)
    own = [root.astype(precision) for root in own]
    return _law(moments.counts[seen], means, own, shared, np.ones(len(means)), fit, precision)


def _law(
    counts: Array,
    means: Array,
    own: list[Array],
    shared: Array,
    share: Array,
    fit: ManifoldFit,
    precision: type[np.floating[Any]],
) -> ClassGaussiansLaw:
    rest = (values.astype(precision, copy=False) for values in (means, shared, share))
    means, shared, share = rest
    return ClassGaussiansLaw(counts / counts.sum(), means, own, shared, share, fit)


def check_covariance(covariance: str) -> tuple[str, int]:
    """The kind of covariance and its rank (0 where it has none); InputError for another."""
    kind, _, rank = covariance.partition(":") if isinstance(covariance, str) else ("", "", "")
    if kind == "lowrank" and rank.isdigit() and int(rank) >= 1:
        return kind, int(rank)
    if covariance not in (*SCATTER, "shrunk"):
        raise InputError(
            f"covariance must be {', '.join(SCATTER)}, shrunk or lowrank:r (r ≥ 1), not {covariance!r}"
        )
    return kind, 0


def _check_from_moments(covariance: str) -> None:
    if covariance not in SCATTER:
        raise InputError(f"a covariance fitted from moments must be {', '.join(SCATTER)}, not {covariance!r}")


def _root_of(covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "r d"]:
    """R with RᵀR = covariance, by its eigenvectors; directions without variance, to rounding, are left out."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    root: Array = np.sqrt(values[kept])[:, None] * vectors.T[kept]
    return root


def _pushed(root: Array, weight: Float[np.ndarray, "K d"]) -> Array:
    """The root of a covariance after the linear map W."""
    image = root[:, None] * weight.T if root.ndim == 1 else root @ weight.T
    return square_root(image)


def _times(normals: Float[np.ndarray, "n r"], root: Array) -> Float[np.ndarray, "n d"]:
    product: Array = normals * root if root.ndim == 1 else normals @ root
    return product
