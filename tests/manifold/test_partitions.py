"""Neighbours and trees: what they keep, what they do with duplicates, ties and classes of one point."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import Head, InputError
from infimum.manifold import fit_neighbors, fit_tree


def test_neighbours_lie_between_points_of_one_class() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    y = np.repeat([0, 1], 30)
    x[y == 1] += 100
    law = fit_neighbors(x, y, neighbors=3)
    distances = np.linalg.norm(law.points[:, None] - law.points[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.sort(distances, axis=1)[:, :3]
    np.testing.assert_allclose(np.sort(np.take_along_axis(distances, law.neighbors, 1), axis=1), nearest)
    samples = law.sample(2000, rng)
    assert ((samples < 50).all(axis=1) | (samples > 50).all(axis=1)).all()


def test_neighbours_pushed_forward_are_the_logits_of_the_same_samples() -> None:
    rng = np.random.default_rng(1)
    head = Head(rng.normal(size=(3, 5)), rng.normal(size=3))
    law = fit_neighbors(rng.normal(size=(40, 5)), rng.integers(2, size=40))
    through = head.logits(law.sample(500, np.random.default_rng(2)))
    behind = law.push_forward(head).sample(500, np.random.default_rng(2))
    np.testing.assert_allclose(behind, through, atol=1e-12)
    even, u = law.sample_evenly(512, np.random.default_rng(3))
    pushed, same = law.push_forward(head).sample_evenly(512, np.random.default_rng(3))
    np.testing.assert_allclose(pushed, head.logits(even), atol=1e-12)
    np.testing.assert_array_equal(u, same)


def test_neighbours_of_small_classes_and_duplicates() -> None:
    x = np.array([[0.0], [0.0], [1.0], [7.0], [9.0], [50.0]])
    law = fit_neighbors(x, np.array([0, 0, 0, 1, 1, 2]), neighbors=5)
    samples = law.sample(3000, np.random.default_rng(0))[:, 0]
    assert ((samples <= 1) | ((samples >= 7) & (samples <= 9)) | (samples == 50)).all()
    assert (samples == 50).mean() == pytest.approx(1 / 6, abs=0.03)
    assert ((samples > 7) & (samples < 9)).any()


def test_a_tree_keeps_the_mean_and_covariance_of_each_class() -> None:
    rng = np.random.default_rng(0)
    x = np.abs(rng.normal(size=(500, 3))) ** 2  # far from Gaussian
    law = fit_tree(x, np.zeros(500, dtype=int), leaf=10)
    assert law.fit.components == 32
    mean = law.weights @ law.means
    between = (law.means - mean).T @ (law.weights[:, None] * (law.means - mean))
    within = sum(w * root.T @ root for w, root in zip(law.weights, law.own, strict=True))
    np.testing.assert_allclose(mean, x.mean(axis=0))
    np.testing.assert_allclose(between + within, np.cov(x.T, bias=True), atol=1e-12)


def test_a_tree_follows_a_shape_that_one_gaussian_cannot() -> None:
    """Two far clusters of one class: samples between them, half of one Gaussian's, are gone."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + np.array([40, 0])])
    zero = np.zeros(200, dtype=int)
    between = [
        ((s > 10) & (s < 30)).mean()
        for s in (fit_tree(x, zero, leaf).sample(4000, rng)[:, 0] for leaf in (200, 20))
    ]
    assert between[0] > 0.3
    assert between[1] == 0


def test_a_tree_of_tied_features_still_cuts() -> None:
    """Two thirds of a ReLU feature are 0: the cut falls beside them; features that are all alike cannot be cut."""
    rng = np.random.default_rng(0)
    x = np.maximum(rng.normal(size=(300, 1)) - 0.4, 0) * 5
    law = fit_tree(x, np.zeros(300, dtype=int), leaf=20)
    assert law.fit.components > 2
    assert (law.sample(1000, rng) == 0).mean() > 0.6
    assert fit_tree(np.ones((100, 2)), np.zeros(100, dtype=int)).fit.components == 1


def test_bad_input() -> None:
    x, y = np.zeros((4, 2)), np.zeros(4)
    with pytest.raises(InputError, match="neighbors must be"):
        fit_neighbors(x, y, 0)
    with pytest.raises(InputError, match="leaf must be"):
        fit_tree(x, y, 0)
    for fit in (fit_neighbors, fit_tree):
        with pytest.raises(InputError, match="entries"):
            fit(x, y[:3])
        with pytest.raises(InputError, match="not a finite"):
            fit(x * np.nan, y)
