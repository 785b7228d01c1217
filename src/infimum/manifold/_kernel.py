"""The default manifold: a class-wise smoothed bootstrap that keeps each class's mean and covariance.

A sample is a real feature φ_i of predicted class c, shrunk towards the class mean and given noise of the class's
own covariance: μ_c + (φ_i − μ_c + h ξ)/√(1 + h²), ξ ~ N(0, Σ_c) (docs/method.md §4; Silverman, 1986, §6.4). It is a
Gaussian mixture with a component per real feature, so a linear head pushes it forward exactly: the image is
the kernel manifold of the real logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, Real, check_matrix, check_positive, check_predicted
from infimum.errors import InputError
from infimum.head import Head
from infimum.manifold._even import even_points
from infimum.manifold._manifold import ManifoldFit, group_by_component, square_root

NARROWEST = 1e-6
"""Below, squared distances in units of h are lost in rounding, and the density with them."""

WIDEST = 1000.0
"""Beyond, nothing of the real points is left: every class is its Gaussian."""


@dataclass(frozen=True, eq=False)
class KernelLaw:
    """Real points (m, d) of classes 0..C−1, with the mean (C, d) and a covariance root (r, d) of each class."""

    points: Float[np.ndarray, "m d"]
    part: Int[np.ndarray, " m"]
    means: Float[np.ndarray, "C d"]
    factors: list[Array]
    bandwidth: float
    fit: ManifoldFit

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """See `Manifold.sample`."""
        chosen = rng.integers(len(self.points), size=n)  # uniform in a class, classes by their share
        return self._around(chosen, rng)

    def _around(
        self, chosen: Int[np.ndarray, " n"], noise: np.random.Generator | Float[np.ndarray, "n width"]
    ) -> Float[np.ndarray, "n d"]:
        """The chosen points, shrunk towards their class's mean, with noise of its covariance."""
        part = self.part[chosen]
        shift: Array = self.points[chosen]
        centre = self.means[part]
        shift -= centre
        for rows, factor in zip(group_by_component(part, len(self.means)), self.factors, strict=True):
            if isinstance(noise, np.random.Generator):
                normals = noise.standard_normal((len(rows), len(factor)))
            else:
                normals = noise[rows, : len(factor)]
            shift[rows] += self.bandwidth * (normals @ factor)
        shift /= np.sqrt(1.0 + self.bandwidth**2)
        shift += centre
        return shift

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`. Points stand in the order of their class, so neighbours are alike."""
        points = even_points(n, max(len(factor) for factor in self.factors), rng)
        by_class = np.argsort(self.part, kind="stable")
        chosen = by_class[(points.component * len(self.points)).astype(np.int64)]
        return self._around(chosen, points.normals), points.u

    def push_forward(self, head: Head) -> KernelLaw:
        """Exactly the kernel manifold of the logits: means, points and noise all pass through W."""
        return _kernel(head.logits(self.points), self.part, self.bandwidth, self.fit)


def fit_kernel(features: Array, predicted: Array, bandwidth: Real = 0.1) -> KernelLaw:
    """KernelLaw manifold of features (m, d) with predicted classes (m,); `bandwidth` h > 0 in class deviations.

    A class of one point gives that point. Raises InputError for an empty array or a bandwidth below 1e-6 or above 1000.

    >>> import numpy as np
    >>> law = fit_kernel(np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]]), np.array([0, 0, 1]))
    >>> law.fit.components
    2
    >>> samples = law.sample(1000, np.random.default_rng(0))
    >>> sorted(set(samples[samples[:, 0] > 5, 0].tolist()))
    [9.0]
    """
    x = check_matrix(features, "manifold features").astype(np.float64)
    bandwidth = check_positive(bandwidth, "bandwidth")
    if not NARROWEST <= bandwidth <= WIDEST:
        raise InputError(f"bandwidth must be from {NARROWEST} to {WIDEST} class deviations, not {bandwidth}")
    classes, part = np.unique(check_predicted(predicted, len(x)), return_inverse=True)
    fit = ManifoldFit("kernel", len(x), x.shape[1], len(classes), "class", bandwidth=bandwidth)
    return _kernel(x, part.reshape(-1), bandwidth, fit)


def _kernel(points: Array, part: Array, bandwidth: float, fit: ManifoldFit) -> KernelLaw:
    means = np.empty((int(part.max()) + 1, points.shape[1]))
    factors = []
    for k, rows in enumerate(group_by_component(part, len(means))):
        means[k] = points[rows].mean(axis=0)
        # Rows (φ_j − μ_c)/√n_c: their Gram matrix is Σ_c, the 1/n_c covariance, singular or not.
        factors.append(square_root((points[rows] - means[k]) / np.sqrt(len(rows))))
    return KernelLaw(points, part, means, factors, bandwidth, fit)
