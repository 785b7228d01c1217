"""EM with full covariances: scikit-learn's results, whatever the features' size and however a component fares."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from infimum.manifold._em import Fitted, fit_full
from infimum.manifold._gmm import RIDGE, starting_point


def relu_classes(spread: float, n: int = 1500, d: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes of correlated features after a ReLU: more than a third exact zeros."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    noise = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
    return np.maximum(rng.normal(size=(10, d))[y] * spread + noise, 0), y


def both(x: np.ndarray, y: np.ndarray) -> tuple[Fitted, GaussianMixture]:
    ridge = RIDGE * float(x.var(axis=0).mean())
    weights, means, covariances = starting_point(x, y, "full", ridge)
    em = GaussianMixture(
        len(weights),
        weights_init=weights,
        means_init=means,
        precisions_init=np.linalg.inv(covariances),
        reg_covar=ridge,
        max_iter=200,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        em.fit(x)
    return fit_full(x, weights, means, covariances, ridge), em


@pytest.mark.parametrize("spread", [3.0, 1.0, 0.3], ids=["apart", "touching", "overlapping"])
def test_results_are_those_of_scikit_learn(spread: float) -> None:
    """float32 densities differ by some 1e-6 nats: far less than what ends EM (1e-3) or what follows from it."""
    x, y = relu_classes(spread)
    ours, theirs = both(x, y)
    assert (ours.converged, ours.iterations) == (theirs.converged_, theirs.n_iter_)
    assert ours.log_likelihood == pytest.approx(theirs.score(x), abs=1e-4)
    np.testing.assert_allclose(ours.weights, theirs.weights_, atol=1e-4)
    size = np.sqrt(np.diagonal(theirs.covariances_, axis1=1, axis2=2))
    assert (np.abs(ours.means - theirs.means_) < 1e-3 * size).all()
    pairs = size[:, :, None] * size[:, None, :]
    assert (np.abs(ours.covariances - theirs.covariances_) < 2e-3 * pairs).all()
    assert (ours.labels == theirs.predict(x)).mean() > 0.999


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_size_and_place_of_the_features_do_not_matter(size: float) -> None:
    x, y = relu_classes(1.0, n=600, d=8)
    one, _ = both(x, y)
    other, _ = both((x + 3) * size, y)
    assert other.iterations == one.iterations
    np.testing.assert_allclose(other.means, (one.means + 3) * size, rtol=1e-4)
    assert other.log_likelihood == pytest.approx(one.log_likelihood - 8 * np.log(size), abs=1e-3)


def test_a_component_may_die() -> None:
    """One started far from every row: no responsibility is left, and nothing becomes NaN."""
    x = np.random.default_rng(0).normal(size=(300, 3))
    start = np.array([[0.0, 0, 0], [1e4, 0, 0]])
    found = fit_full(x, np.full(2, 0.5), start, np.stack([np.eye(3)] * 2), ridge=1e-3)
    assert found.weights[1] < 1e-12
    assert np.isfinite(found.covariances).all()
    np.testing.assert_allclose(found.means[0], x.mean(axis=0), atol=1e-6)
    assert (found.labels == 0).all()


def test_stops_unconverged_when_told() -> None:
    x, y = relu_classes(0.3, n=400, d=6)
    ridge = RIDGE * float(x.var(axis=0).mean())
    found = fit_full(x, *starting_point(x, y, "full", ridge), ridge, max_iterations=2)
    assert (found.converged, found.iterations) == (False, 2)
