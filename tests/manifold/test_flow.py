"""The flow: learns a curved shape, keeps constants and classes, same seed same flow, its push-forward."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.stats

from infimum import Head, InputError
from infimum.errors import MissingExtraError
from infimum.manifold import FlowLaw, Manifold, fit_flow


@pytest.fixture(scope="module")
def curved() -> tuple[np.ndarray, np.ndarray]:
    """A parabola, one constant feature, and a second class far away."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=800)
    x = np.stack([t, t**2 + 0.1 * rng.normal(size=800), np.full(800, 0.25)], axis=1)
    y = rng.integers(2, size=800)
    x[y == 1, 0] += 30
    return x, y


@pytest.fixture(scope="module")
def law(curved: tuple[np.ndarray, np.ndarray]) -> FlowLaw:
    for package in ("torch", "zuko"):
        pytest.importorskip(package, reason="a normalising flow needs the extra flow")
    return fit_flow(*curved, epochs=30)


def test_it_learns_what_one_gaussian_cannot(law: FlowLaw, curved: tuple[np.ndarray, np.ndarray]) -> None:
    """t² is uncorrelated with t, so a Gaussian of each class would leave 37 % of its second feature below 0.5 − 1."""
    assert isinstance(law, Manifold)
    samples = law.sample(4000, np.random.default_rng(0))
    assert (samples[:, 2] == 0.25).all()
    second = samples[:, 0] > 15
    assert second.mean() == pytest.approx(curved[1].mean(), abs=0.03)
    assert (samples[:, 1] < -0.6).mean() < 0.05
    t = np.where(second, samples[:, 0] - 30, samples[:, 0])
    assert np.corrcoef(t**2, samples[:, 1])[0, 1] > 0.8


def test_its_push_forward_is_the_head_of_the_same_samples(law: FlowLaw) -> None:
    head = Head(np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]]), np.array([0.5, 0.0]))
    through = head.logits(law.sample(100, np.random.default_rng(4)))
    np.testing.assert_allclose(law.push_forward(head).sample(100, np.random.default_rng(4)), through)
    even, u = law.sample_evenly(64, np.random.default_rng(5))
    pushed, _ = law.push_forward(head).sample_evenly(64, np.random.default_rng(5))
    np.testing.assert_allclose(pushed, head.logits(even))
    assert u.shape == (64,)


def test_same_seed_same_flow_and_the_callers_random_state_is_left(
    curved: tuple[np.ndarray, np.ndarray],
) -> None:
    torch = pytest.importorskip("torch", reason="a normalising flow needs the extra flow")
    pytest.importorskip("zuko", reason="a normalising flow needs the extra flow")
    state = torch.random.get_rng_state()
    first, second, other = (fit_flow(*curved, seed=seed, epochs=1) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    samples = [law.sample(50, np.random.default_rng(0)) for law in (first, second, other)]
    np.testing.assert_array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], samples[2])


def test_log_likelihood_is_that_of_the_features(law: FlowLaw) -> None:
    """exp(log-density) integrates to 1, so the held-out mean is near −entropy: N(0,1) and N(0, .1²) given t."""
    entropy = scipy.stats.norm.entropy(scale=1.0) + scipy.stats.norm.entropy(scale=0.1)
    assert -entropy - 1.0 < law.fit.log_likelihood < -entropy + 0.25


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="20 rows"):
        fit_flow(np.zeros((5, 3)), np.zeros(5))
    monkeypatch.setitem(sys.modules, "zuko", None)
    with pytest.raises(MissingExtraError, match=r"infimum\[flow\]"):
        fit_flow(np.random.default_rng(0).normal(size=(30, 3)), np.zeros(30))
