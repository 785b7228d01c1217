"""Every manifold: moments, dead features, small classes, collapse, and the exact push-forward."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import ks_2samp

from infimum import Head, InputError, Stopping
from infimum.conformal import calibrate
from infimum.head import HeadFunction
from infimum.manifold import (
    Manifold,
    fit_class_gaussians,
    fit_gmm,
    fit_kernel,
    fit_neighbors,
    fit_tree,
    log_density,
)
from infimum.manifold import _class_gaussians as class_gaussians
from infimum.manifold._manifold import square_root
from infimum.manifold._sampling import sample_lambda


@pytest.fixture(scope="module")
def features(toy: Toy) -> tuple[np.ndarray, np.ndarray]:
    x = toy.features(600, np.random.default_rng(5))
    return x, toy.head.logits(x).argmax(axis=1)


MAKERS = {
    "kernel": lambda x, y: fit_kernel(x, y, 0.3),
    "gmm-full": lambda x, y: fit_gmm(x, y),
    "gmm-diag": lambda x, y: fit_gmm(x, y, covariance="diag"),
    "gmm-tied": lambda x, y: fit_gmm(x, y, covariance="tied"),
    "gmm-spherical": lambda x, y: fit_gmm(x, y, covariance="spherical"),
    "gaussians-full": lambda x, y: fit_class_gaussians(x, y),
    "gaussians-tied": lambda x, y: fit_class_gaussians(x, y, "tied"),
    "gaussians-shrunk": lambda x, y: fit_class_gaussians(x, y, "shrunk"),
    "gaussians-diag": lambda x, y: fit_class_gaussians(x, y, "diag"),
    "gaussians-spherical": lambda x, y: fit_class_gaussians(x, y, "spherical"),
    "gaussians-lowrank": lambda x, y: fit_class_gaussians(x, y, "lowrank:2"),
    "gaussians-float32": lambda x, y: fit_class_gaussians(x.astype(np.float32), y),
    "tree": lambda x, y: fit_tree(x, y),
    "neighbors": lambda x, y: fit_neighbors(x, y),
}


@pytest.mark.parametrize("name", MAKERS)
def test_is_a_manifold_and_keeps_the_mean(name: str, features: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = features
    law = MAKERS[name](x, y)
    assert isinstance(law, Manifold)
    samples = law.sample(40_000, np.random.default_rng(0))
    # Standard error of a mean of 40,000: sd/200; five of them.
    assert (np.abs(samples.mean(axis=0) - x.mean(axis=0)) < 5 * x.std(axis=0) / 200).all()
    again = law.sample(100, np.random.default_rng(3))
    np.testing.assert_array_equal(again, law.sample(100, np.random.default_rng(3)))


@pytest.mark.parametrize("name", MAKERS)
def test_push_forward_is_the_same_law(name: str, features: tuple[np.ndarray, np.ndarray], toy: Toy) -> None:
    """Logits sampled behind the head against features pushed through it: two-sample tests per class.

    Kolmogorov–Smirnov on 4 logits and their 2 differences; the least of 6 p-values below 1e-4 / 6 would be a
    chance of 1e-4.
    """
    x, y = features
    law = MAKERS[name](x, y)
    through = toy.head.logits(law.sample(20_000, np.random.default_rng(1)))
    behind = law.push_forward(toy.head).sample(20_000, np.random.default_rng(2))
    assert behind.shape == through.shape
    mix = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, -1, 0, 0], [0, 0, 1, -1]]).T
    p = [ks_2samp(through @ c, behind @ c).pvalue for c in mix.T]
    assert min(p) > 1e-4 / 6
    np.testing.assert_allclose(
        np.cov(through.T), np.cov(behind.T), atol=0.04 * np.abs(np.cov(through.T)).max()
    )


@pytest.mark.parametrize("name", ["kernel", "gmm-full", "gmm-diag"])
def test_mean_success_level_is_the_same_either_way(
    name: str, features: tuple[np.ndarray, np.ndarray], toy: Toy
) -> None:
    """λ sampled in logit space and in feature space, within 4 joint standard errors."""
    x, y = features
    labelled = toy.outputs(300, np.random.default_rng(9))
    cal = calibrate(labelled.logits, labelled.labels)
    stop = Stopping("samples", max_samples=40_000)
    behind = sample_lambda(MAKERS[name](x, y), toy.head, cal, stop, seed=1).summary
    head = HeadFunction(toy.head.logits, 6, 4)
    through = sample_lambda(MAKERS[name](x, y), head, cal, stop, seed=2).summary
    assert abs(behind.value - through.value) < 4 * np.hypot(behind.sampling_error, through.sampling_error)


def test_kernel_keeps_each_class_mean_and_covariance() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3)) @ np.array([[2.0, 0, 0], [1, 1, 0], [0, 0, 0]])  # third feature dead
    samples = fit_kernel(x, np.zeros(40, dtype=int), 0.5).sample(200_000, rng)
    np.testing.assert_allclose(samples.mean(axis=0), x.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(np.cov(samples.T, bias=True), np.cov(x.T, bias=True), atol=0.08)
    assert (samples[:, 2] == 0).all()


def test_kernel_with_fewer_points_than_features_stays_in_their_span() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 50))
    samples = fit_kernel(x, np.zeros(5, dtype=int)).sample(100, rng)
    span = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:4]
    rest = samples - x.mean(axis=0)
    assert np.abs(rest - rest @ span.T @ span).max() < 1e-10


def test_a_class_of_one_point_gives_the_point() -> None:
    x = np.vstack([np.random.default_rng(0).normal(size=(50, 2)), [[100.0, 100.0]]])
    y = np.array([0] * 50 + [7])
    samples = fit_kernel(x, y).sample(5000, np.random.default_rng(1))
    far = samples[samples[:, 0] > 50]
    assert len(far) > 0
    np.testing.assert_allclose(far, 100.0, atol=1e-12)


@pytest.mark.parametrize("rows", [3, 30])
def test_square_root(rows: int) -> None:
    x = np.random.default_rng(0).normal(size=(rows, 7))
    x[:, 3] = 0
    root = square_root(x)
    assert len(root) == min(rows, 7)
    np.testing.assert_allclose(root.T @ root, x.T @ x, atol=1e-12)


def relu_features(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes of features after a ReLU: more than a third exact zeros, one never alive."""
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=1500)
    x = np.maximum(rng.normal(size=(10, 24))[y] * 3 + rng.normal(size=(1500, 24)), 0)
    x[:, 5] = 0.25
    return x, y


def test_mixture_started_from_classes_does_not_collapse() -> None:
    x, y = relu_features()
    law = fit_gmm(x, y)
    assert law.fit.converged
    assert law.fit.components == 10
    assert not law.fit.collapsed
    assert law.fit.agreement > 0.9
    samples = law.sample(1000, np.random.default_rng(0))
    assert (samples[:, 5] == 0.25).all()
    assert np.isfinite(samples).all()


def test_collapse_is_seen() -> None:
    """Predicted classes that have nothing to do with the features: EM leaves them, and the fit says so."""
    x, _ = relu_features()
    wrong = np.random.default_rng(1).integers(10, size=len(x))
    assert fit_gmm(x, wrong).fit.collapsed


def test_fewer_components_where_a_class_is_never_predicted() -> None:
    x, y = relu_features()
    assert fit_gmm(x[y != 3], y[y != 3]).fit.components == 9
    assert fit_gmm(x, y, components=4).fit.components == 4


def test_tiny_class() -> None:
    """Two points of one class among hundreds, in more dimensions than points."""
    x, y = relu_features()
    few = np.concatenate([np.flatnonzero(y != 0), np.flatnonzero(y == 0)[:2]])
    law = fit_gmm(x[few], y[few])
    assert np.isfinite(law.sample(2000, np.random.default_rng(0))).all()


def test_log_likelihood_is_that_of_the_density() -> None:
    """One component: the fit is the sample mean and covariance, whose log-likelihood is known."""
    x = np.random.default_rng(0).normal(size=(4000, 3))
    fit = fit_gmm(x, np.zeros(4000, dtype=int)).fit
    expected = -0.5 * (3 * np.log(2 * np.pi) + np.linalg.slogdet(np.cov(x.T, bias=True))[1] + 3)
    assert fit.log_likelihood == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: fit_gmm(x[:1], y[:1]), "at least 2"),
        (lambda x, y: fit_gmm(np.ones((9, 2)), np.zeros(9, dtype=int)), "not all alike"),
        (lambda x, y: fit_gmm(x, y, components=0), "components"),
        (lambda x, y: fit_gmm(x, y, covariance="round"), "covariance"),
        (lambda x, y: fit_gmm(np.where(x > 2, np.nan, x), y), "not a finite"),
        (lambda x, y: fit_kernel(x, y, 0.0), "bandwidth"),
        (lambda x, y: fit_kernel(np.empty((0, 2)), y[:0]), "empty"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")  # the error is the one that users see
@pytest.mark.filterwarnings("ignore")
def test_bad_input(call: object, message: str, features: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(InputError, match=message):
        call(*features)  # type: ignore[operator]


def test_head_push_forward_of_wide_and_narrow_layers() -> None:
    """More classes than features, and a head of rank one: still the law of the logits."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    head = Head(np.outer(np.arange(8.0), [1.0, 2.0, 3.0]), np.arange(8.0))
    for law in (fit_gmm(x, np.zeros(300, dtype=int)), fit_kernel(x, np.zeros(300, dtype=int))):
        logits = law.push_forward(head).sample(50_000, rng)
        expected = np.cov(head.logits(x).T, bias=True)
        np.testing.assert_allclose(np.cov(logits.T), expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_diagonal_roots_may_stay_in_front_of_the_head(
    kind: str, features: tuple[np.ndarray, np.ndarray], toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where 1,000 roots of 1,000 × 1,000 would have to be made: the same law, by densities and by even points."""
    x, y = features
    law = fit_class_gaussians(x, y, kind)
    made = law.push_forward(toy.head)
    monkeypatch.setattr(class_gaussians, "LARGE", 0)
    kept = law.push_forward(toy.head)
    assert made.through is None
    assert kept.own is law.own
    logits = toy.head.logits(x)
    np.testing.assert_allclose(log_density(kept, logits), log_density(made, logits), rtol=1e-9)
    twice = Head(np.random.default_rng(0).normal(size=(3, 4)))
    at = twice.logits(logits)
    np.testing.assert_allclose(
        log_density(kept.push_forward(twice), at), log_density(made.push_forward(twice), at), rtol=1e-9
    )
    for drawn in (
        kept.sample(2**14, np.random.default_rng(1)),
        kept.sample_evenly(2**14, np.random.default_rng(1))[0],
    ):
        there = made.sample(2**14, np.random.default_rng(2))
        np.testing.assert_allclose(drawn.mean(axis=0), there.mean(axis=0), atol=0.05 * there.std())
        np.testing.assert_allclose(np.cov(drawn.T), np.cov(there.T), atol=0.04 * np.cov(there.T).max())
    single = fit_class_gaussians(x.astype(np.float32), y, kind).push_forward(toy.head)
    assert single.sample(5, np.random.default_rng(0)).dtype == np.float32
    # Roots that are not diagonal, or shared, are always pushed.
    for other in ("full", "tied", "lowrank:2"):
        assert fit_class_gaussians(x, y, other).push_forward(toy.head).through is None


def gram(root: np.ndarray) -> np.ndarray:
    """The covariance of a root; one of one dimension is diagonal."""
    return np.diag(root**2) if root.ndim == 1 else root.T @ root


def test_class_gaussians_have_the_stated_covariances(features: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = features
    classes, part = np.unique(y, return_inverse=True)
    own = [np.cov(x[part == c].T, bias=True) for c in range(len(classes))]
    counts = np.bincount(part)
    pooled = sum(n * s for n, s in zip(counts, own, strict=True)) / len(x)
    effective = np.trace(pooled) ** 2 / (pooled**2).sum()
    for kind in ("full", "tied", "diag", "spherical", "shrunk", "lowrank:6", "lowrank:1"):
        law = fit_class_gaussians(x, y, kind)
        for c, sigma in enumerate(own):
            made = gram(law.own[c]) + law.share[c] ** 2 * gram(law.shared)
            a = effective / (effective + counts[c])
            variances = np.diag(sigma)
            expected = {
                "tied": pooled,
                "shrunk": (1 - a) * sigma + a * pooled,
                "diag": np.diag(variances),
                "spherical": np.eye(6) * variances.mean(),
            }.get(kind, sigma)
            if (
                kind == "lowrank:1"
            ):  # the largest component is the class's own, total variance is kept on average
                assert np.linalg.matrix_rank(law.own[c], tol=1e-9) == 1
            else:
                np.testing.assert_allclose(made, expected, atol=1e-9)
    total = [sum(w * np.trace(r.T @ r) for w, r in zip(law.weights, law.own, strict=True))]
    np.testing.assert_allclose(total[0] + np.trace(gram(law.shared)), np.trace(pooled))


def test_class_gaussians_of_tiny_classes_and_bad_input() -> None:
    x = np.random.default_rng(0).normal(size=(5, 40))
    law = fit_class_gaussians(x, np.array([0, 0, 0, 0, 9]), "shrunk")
    assert np.isfinite(law.sample(100, np.random.default_rng(0))).all()
    alone = fit_class_gaussians(x, np.array([0, 0, 0, 0, 9]))
    np.testing.assert_allclose(alone.sample(200, np.random.default_rng(0))[:, 0].min(), x[:, 0].min(), atol=9)
    for wrong in ("lowrank", "lowrank:0", "round"):
        with pytest.raises(InputError, match="covariance must be"):
            fit_class_gaussians(x, np.zeros(5), wrong)
    with pytest.raises(InputError, match="entries"):
        fit_class_gaussians(x, np.zeros(4))


def test_a_mixture_beyond_the_memory_is_refused_before_it_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(90, 20))
    y = np.arange(90) % 3
    # Five arrays of 3 × 20 × 20 numbers of 8 bytes.
    monkeypatch.setattr("infimum.manifold._gmm.physical_memory", lambda: 48_000)
    assert fit_gmm(x, y).fit.components == 3
    monkeypatch.setattr("infimum.manifold._gmm.physical_memory", lambda: 47_999)
    with pytest.raises(InputError, match="use the covariance diag, or class-gaussians with shrunk"):
        fit_gmm(x, y)
    assert fit_gmm(x, y, covariance="diag").fit.components == 3
