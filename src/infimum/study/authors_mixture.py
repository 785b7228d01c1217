"""The mixture as the authors' code starts it: class means alone, the rest from scikit-learn's own k-means.

Kept for fidelity and for the study's section on why λ ≤ λ* there; `infimum.manifold.fit_gmm` starts properly.
"""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float, Int

from infimum.manifold._gmm import GaussianMixtureLaw
from infimum.manifold._manifold import ManifoldFit

MAX_ITERATIONS = 100


def fit_from_means(
    features: Float[np.ndarray, "n d"], predicted: Int[np.ndarray, " n"], seed: int = 0
) -> GaussianMixtureLaw:
    """Gaussian mixture with full covariances, one component per predicted class, EM started from class means.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> fit_from_means(rng.normal(size=(200, 3)) + 9 * y[:, None], y).fit.components
    2
    """
    from sklearn import mixture
    from sklearn.exceptions import ConvergenceWarning

    x = np.asarray(features, dtype=np.float64)
    classes, index = np.unique(predicted, return_inverse=True)
    means = np.stack([x[index == k].mean(axis=0) for k in range(len(classes))])
    em = mixture.GaussianMixture(
        n_components=len(classes), means_init=means, max_iter=MAX_ITERATIONS, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported as `converged`
        em.fit(x)
    shares = np.bincount(index) / len(x)
    agreement = float((em.predict(x) == index).mean())
    fit = ManifoldFit(
        name="gmm from class means alone",
        n=len(x),
        n_features=x.shape[1],
        components=len(classes),
        covariance="full",
        converged=bool(em.converged_),
        iterations=int(em.n_iter_),
        log_likelihood=float(em.score(x)),
        agreement=agreement,
        collapsed=bool((em.weights_ <= 0.1 * shares).any()) or agreement < 0.5,
    )
    factors = [np.linalg.cholesky(sigma).T for sigma in em.covariances_]
    return GaussianMixtureLaw(em.weights_ / em.weights_.sum(), em.means_, factors, fit)
