"""Densities against scipy's, the bandwidth by leave-one-out against a direct sum, and what fidelity sees."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import multivariate_normal

from infimum import InputError
from infimum.conformal import LambdaSummary, calibrate
from infimum.manifold import (
    choose_bandwidth,
    fidelity,
    fit_class_gaussians,
    fit_gmm,
    fit_kernel,
    fit_neighbors,
    fit_tree,
    log_density,
)
from infimum.manifold._density import BANDWIDTHS


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    return rng.normal(size=(120, 2)) @ [[1.0, 0.4], [0.0, 0.7]] + 3 * y[:, None], y


def test_density_of_the_kernel_is_its_mixture(points: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = points
    h = 0.4
    at = np.random.default_rng(1).normal(size=(7, 2)) * 3
    expected = np.zeros(7)
    for i in range(len(x)):
        own = x[y == y[i]]
        mean = own.mean(axis=0)
        centre = mean + (x[i] - mean) / np.sqrt(1 + h * h)
        sigma = np.cov(own.T, bias=True) * h * h / (1 + h * h)
        expected += multivariate_normal(centre, sigma).pdf(at) / len(x)
    np.testing.assert_allclose(log_density(fit_kernel(x, y, h), at), np.log(expected), rtol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "shrunk", "lowrank:1"])
def test_density_of_class_gaussians_is_their_mixture(
    covariance: str, points: tuple[np.ndarray, np.ndarray]
) -> None:
    law = fit_class_gaussians(*points, covariance)
    at = np.random.default_rng(1).normal(size=(7, 2)) * 3
    expected = np.zeros(7)
    for c, weight in enumerate(law.weights):
        roots = (law.own[c], law.share[c] * law.shared)
        sigma = sum(np.diag(r**2) if r.ndim == 1 else r.T @ r for r in roots)
        expected += weight * multivariate_normal(law.means[c], sigma).pdf(at)
    np.testing.assert_allclose(log_density(law, at), np.log(expected), rtol=1e-9)


def test_density_of_em_is_scikit_learns(points: tuple[np.ndarray, np.ndarray]) -> None:
    law = fit_gmm(*points)
    assert log_density(law, points[0]).mean() == pytest.approx(
        law.fit.log_likelihood, abs=1e-6
    )  # EM is in float32


def test_no_density(points: tuple[np.ndarray, np.ndarray]) -> None:
    """Lines between points have none; a class on a line gives none off it."""
    x, y = points
    assert log_density(fit_neighbors(x, y), x) is None
    flat = np.stack([x[:, 0], x[:, 0]], axis=1)
    assert np.isneginf(log_density(fit_class_gaussians(flat, y), x)).all()
    assert np.isneginf(log_density(fit_kernel(flat, y), x)).all()


def test_bandwidth_maximises_the_leave_one_out_likelihood() -> None:
    """Against the definition, point by point, in the difference of two logits."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(60, 2)) * 0.3
    logits[:, 1] += np.repeat([0.0, 4.0, 9.0], 20)
    x = logits[:, 1] - logits[:, 0]
    mean, deviation = x.mean(), x.std()
    found = []
    for h in BANDWIDTHS:
        s = np.sqrt(1 + h * h)
        z = (x[:, None] - mean - (x - mean) / s) / (deviation * h / s)
        density = np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * deviation * h / s)
        np.fill_diagonal(density, 0.0)
        found.append(np.log(density.sum(axis=1) / 59).sum())
    best = BANDWIDTHS[int(np.argmax(found))]
    assert 0.03 < best < 1.0
    assert choose_bandwidth(logits, np.zeros(60, dtype=int)) == best
    # What all logits share does not enter.
    assert choose_bandwidth(logits + rng.normal(size=(60, 1)), np.zeros(60, dtype=int)) == best
    with pytest.raises(InputError, match="at least 8 points"):
        choose_bandwidth(logits[:7], np.zeros(7, dtype=int))


def test_fidelity_tells_a_manifold_of_the_data_from_one_that_is_not(toy: Toy) -> None:
    """The toy's classes are Gaussian in truth; one of twice the spread is seen by all three figures."""
    rng = np.random.default_rng(0)
    labelled = toy.outputs(500, rng)
    cal = calibrate(labelled.logits, labelled.labels)
    fitted, held_out = toy.features(3000, rng), toy.features(3000, rng)
    y = toy.head.logits(fitted).argmax(axis=1)
    good = fidelity(fit_kernel(fitted, y), toy.head, cal, held_out)
    mean = fitted.mean(axis=0)
    bad = fidelity(fit_kernel(mean + 2 * (fitted - mean), y), toy.head, cal, held_out)
    assert abs(good.difference) < 3 * good.standard_error
    assert abs(good.auc - 0.5) < 4 * good.auc_error
    assert abs(bad.difference) > 4 * bad.standard_error
    assert bad.auc > 0.55
    plain, spread = (
        fidelity(fit_class_gaussians(mean + k * (fitted - mean), y), toy.head, cal, held_out, samples=2000)
        for k in (1, 2)
    )
    assert spread.log_likelihood < plain.log_likelihood
    assert good == fidelity(fit_kernel(fitted, y), toy.head, cal, held_out)
    assert json.loads(json.dumps(good.to_dict()))["difference"] == good.difference
    real = LambdaSummary(cal.n)
    real.add(cal.top_two(toy.head.logits(held_out)))
    assert good.lambda_real == real.value


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.slow
def test_standard_error_of_the_difference_covers(toy: Toy) -> None:
    """The manifold is right (class Gaussians of the true classes): ± 1.96 errors hold 0 in 95 % of 200 draws.

    Fewer than 178 would be a chance of 0.001 (binomial). The formula is conservative where the fit smooths.
    """
    held = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 5])
        labelled = toy.outputs(200, rng)
        cal = calibrate(labelled.logits, labelled.labels, seed=seed)
        fitted, held_out = toy.features(400, rng), toy.features(400, rng)
        law = fit_kernel(fitted, toy.head.logits(fitted).argmax(axis=1))
        found = fidelity(law, toy.head, cal, held_out, samples=4000, seed=seed)
        held += abs(found.difference) <= 1.96 * found.standard_error
    assert held >= 178


def test_few_rows_give_no_auc(toy: Toy) -> None:
    rng = np.random.default_rng(0)
    labelled = toy.outputs(50, rng)
    cal = calibrate(labelled.logits, labelled.labels)
    x = toy.features(60, rng)
    law = fit_tree(x, toy.head.logits(x).argmax(axis=1), leaf=5)
    found = fidelity(law, toy.head, cal, x[:8], samples=100)
    assert found.auc is None
    assert found.n_samples == 100
    with pytest.raises(InputError, match="held_out has 2 columns"):
        fidelity(law, toy.head, cal, x[:, :2])
