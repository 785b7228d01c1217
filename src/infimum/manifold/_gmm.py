"""The paper's manifold: a Gaussian mixture with one component per predicted class, fitted by EM.

EM starts from the classes' weights, means *and* precisions together. Given the means alone, scikit-learn takes
the other two from a k-means of its own whose components are numbered otherwise; EM then collapses to a few live
components and samples fall between the classes (docs/method.md §4).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_matrix, check_predicted
from infimum.conformal._search import count_below, padded
from infimum.errors import InputError
from infimum.head import Head
from infimum.io.memory import physical_memory
from infimum.manifold._em import Fitted, fit_full
from infimum.manifold._even import even_points, gaps_first
from infimum.manifold._manifold import ManifoldFit, group_by_component, square_root

Covariance = Literal["full", "diag", "tied", "spherical"]

RIDGE = 1e-4
"""Added to the variances, as a share of their mean over the live features: ReLU features are often dead in
some class, and a component must not shrink onto them."""

MAX_ITERATIONS = 200

COPIES = 5
"""Arrays (M, d, d) that a step of EM holds at once: covariances before and after, their roots, inverses, two casts."""


@dataclass(frozen=True, eq=False)
class GaussianMixtureLaw:
    """A mixture Σ_k weight_k N(mean_k, F_kᵀF_k): `weights` (M,), `means` (M, d), `factors` M × (r, d) or (d,).

    A one-dimensional factor is the diagonal of standard deviations. `of_logits`: pushed forward through a head.

    >>> import numpy as np
    >>> fit = ManifoldFit("gmm", 2, 1, 1, "full")
    >>> law = GaussianMixtureLaw(np.ones(1), np.zeros((1, 1)), [np.full((1, 1), 2.0)], fit)
    >>> law.sample(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    weights: Float[np.ndarray, " M"]
    means: Float[np.ndarray, "M d"]
    factors: list[Array]
    fit: ManifoldFit
    of_logits: bool = False

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """See `Manifold.sample`."""
        # What rng.choice(p=weights) does, in a third of its time.
        cumulated = np.cumsum(self.weights)
        component = count_below(padded(cumulated / cumulated[-1]), rng.random(n))
        groups = group_by_component(component, len(self.weights))
        ordered = np.empty((n, self.means.shape[1]))
        start = 0
        for mean, factor, rows in zip(self.means, self.factors, groups, strict=True):
            block = ordered[start : start + len(rows)]
            normals = rng.standard_normal((len(rows), len(factor)))
            if factor.ndim == 1:
                np.multiply(normals, factor, out=block)
            else:
                np.matmul(normals, factor, out=block)
            block += mean
            start += len(rows)
        drawn = np.empty(n, dtype=np.int64)
        drawn[np.concatenate(groups)] = np.arange(n)
        samples: Array = ordered.take(drawn, axis=0)  # back into the order of the draws
        return samples

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """See `Manifold.sample_evenly`."""
        points = even_points(n, max(len(factor) for factor in self.factors), rng)
        last = len(self.weights) - 1
        component = np.minimum(np.searchsorted(np.cumsum(self.weights), points.component, side="right"), last)
        samples = self.means[component]
        for rows, factor in zip(group_by_component(component, len(self.weights)), self._even, strict=True):
            normals = points.normals[rows, : len(factor)]
            samples[rows] += normals * factor if factor.ndim == 1 else normals @ factor
        return samples, points.u

    def push_forward(self, head: Head) -> GaussianMixtureLaw:
        """Exactly Σ_k weight_k N(W mean_k + b, W Σ_k Wᵀ) (docs/method.md §4)."""
        factors = [
            square_root((factor[:, None] * head.weight.T) if factor.ndim == 1 else factor @ head.weight.T)
            for factor in self.factors
        ]
        return GaussianMixtureLaw(self.weights, head.logits(self.means), factors, self.fit, of_logits=True)

    @cached_property
    def _even(self) -> list[Array]:
        """The factors for Sobol points."""
        if not self.of_logits:
            return self.factors
        return [gaps_first(factor, mean) for factor, mean in zip(self.factors, self.means, strict=True)]


def fit_gmm(
    features: Array,
    predicted: Array,
    components: int | None = None,
    covariance: Covariance = "full",
    seed: int = 0,
) -> GaussianMixtureLaw:
    """Fit to features (n, d) whose predicted classes are (n,), by EM.

    `components` defaults to the number of classes that are predicted at all; another number starts EM from a
    k-means partition. Features that never vary are left out of the fit and sampled as the constants they are.
    Raises InputError when there are fewer than two features or fewer than components, or full covariances would not
    fit into memory.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> law = fit_gmm(rng.normal(size=(200, 3)) + 9 * y[:, None], y)
    >>> law.fit.components, law.fit.agreement, law.fit.collapsed
    (2, 1.0, False)
    """
    x = check_matrix(features, "manifold features").astype(np.float64)
    if covariance not in get_args(Covariance):
        raise InputError(f"covariance must be one of {', '.join(get_args(Covariance))}, not {covariance!r}")
    live = np.ptp(x, axis=0) > 0
    if len(x) < 2 or not live.any():
        raise InputError("a mixture needs at least 2 features that are not all alike")
    varying = x[:, live]
    start, of_class = _partition(varying, check_predicted(predicted, len(x)), components, seed)
    if covariance == "full":
        _check_memory(int(start.max()) + 1, varying.shape[1])
    ridge = RIDGE * float(varying.var(axis=0).mean())
    started = starting_point(varying, start, covariance, ridge)
    em = (
        fit_full(varying, *started, ridge, MAX_ITERATIONS)
        if covariance == "full"
        else _fit_by_sklearn(varying, *started, covariance, ridge)
    )
    weights = started[0]
    agreement = float((em.labels == start).mean()) if of_class else None
    alive = int((em.weights > 0.1 * weights).sum())
    fit = ManifoldFit(
        name="gmm",
        n=len(x),
        n_features=x.shape[1],
        components=len(weights),
        covariance=covariance,
        converged=em.converged,
        iterations=em.iterations,
        log_likelihood=em.log_likelihood,
        agreement=agreement,
        collapsed=alive < len(weights) or (agreement is not None and agreement < 0.5),
    )
    all_means = np.tile(x[:1], (len(weights), 1))
    all_means[:, live] = em.means
    return GaussianMixtureLaw(em.weights / em.weights.sum(), all_means, _factors(em, covariance, live), fit)


def _check_memory(m: int, d: int) -> None:
    """Refuse full covariances beyond this machine's memory, before the system kills the process over them."""
    memory, needed = physical_memory(), COPIES * 8 * m * d**2
    if memory is not None and needed > memory:
        raise InputError(
            f"full covariances of {m} components and {d} features need {needed / 2**30:.0f} GiB in a step of EM, and "
            f"this machine has {memory / 2**30:.0f}: use the covariance diag, or class-gaussians with shrunk"
        )


def _fit_by_sklearn(
    x: Float[np.ndarray, "n d"],
    weights: Array,
    means: Array,
    covariances: Array,
    covariance: Covariance,
    ridge: float,
) -> Fitted:
    """EM of scikit-learn for the covariances that `fit_full` does not know."""
    from sklearn import mixture
    from sklearn.exceptions import ConvergenceWarning

    em = mixture.GaussianMixture(
        n_components=len(weights),
        covariance_type=covariance,
        weights_init=weights,
        means_init=means,
        precisions_init=np.linalg.inv(covariances) if covariance == "tied" else 1.0 / covariances,
        reg_covar=ridge,
        max_iter=MAX_ITERATIONS,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported as `converged`
        em.fit(x)
    return Fitted(
        em.weights_,
        em.means_,
        em.covariances_,
        bool(em.converged_),
        int(em.n_iter_),
        float(em.score(x)),
        em.predict(x),
    )


def _partition(
    x: Float[np.ndarray, "n d"], predicted: Array, components: int | None, seed: int
) -> tuple[Int[np.ndarray, " n"], bool]:
    """Where EM starts: the predicted classes numbered without gaps, or clusters; and whether it is classes."""
    classes, index = np.unique(predicted, return_inverse=True)
    if components is None or components == len(classes):
        return index.reshape(-1), True
    if not 1 <= components <= len(x):
        raise InputError(f"components must be from 1 to the number of features ({len(x)}), not {components}")
    from sklearn.cluster import KMeans

    labels = KMeans(components, n_init=1, random_state=seed).fit_predict(x)
    return np.unique(labels, return_inverse=True)[1], False


def starting_point(
    x: Float[np.ndarray, "n d"], part: Int[np.ndarray, " n"], covariance: Covariance, ridge: float
) -> tuple[Array, Array, Array]:
    """Weights, means and covariances of the parts. Small parts lean on the pooled covariance, worth d rows."""
    n, d = x.shape
    counts = np.bincount(part)
    means = np.stack([x[part == k].mean(axis=0) for k in range(len(counts))])
    centred = x - means[part]
    weights = counts / n
    if covariance in ("diag", "spherical"):
        pooled = (centred**2).mean(axis=0)
        squares = np.stack([(centred[part == k] ** 2).sum(axis=0) for k in range(len(counts))])
        variances = (squares + pooled) / (counts[:, None] + 1) + ridge
        return weights, means, variances if covariance == "diag" else variances.mean(axis=1)
    pooled = centred.T @ centred / n
    if covariance == "tied":
        return weights, means, pooled + ridge * np.eye(d)
    covariances = np.empty((len(counts), d, d))
    for k, count in enumerate(counts):
        own = centred[part == k]
        covariances[k] = (own.T @ own + d * pooled) / (count + d) + ridge * np.eye(d)
    return weights, means, covariances


def _factors(em: Fitted, covariance: Covariance, live: Array) -> list[Array]:
    """A factor F with FᵀF = Σ for each component, in all d features: zero columns for the constant ones."""
    factors: list[Array] = []
    for k in range(len(em.weights)):
        factor: Array
        if covariance in ("full", "tied"):
            sigma = em.covariances[k] if covariance == "full" else em.covariances
            factor = np.zeros((len(sigma), len(live)))
            factor[:, live] = np.linalg.cholesky(sigma).T  # EM has added the ridge: positive definite
        else:
            factor = np.zeros(len(live))
            factor[live] = np.sqrt(em.covariances[k])
        factors.append(factor)
    return factors
