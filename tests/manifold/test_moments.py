"""Streaming moments: the same as in one piece whatever the batches, exact far from the origin, memory refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infimum import InputError
from infimum.manifold import ClassMoments, fit_class_gaussians, fit_moments, fit_stream

KINDS = ("class", "pooled", "diagonal")


def data(n: int, seed: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    return rng.normal(size=(n, 3)) * [1.0, 2.0, 0.0] + y[:, None] + offset, y


def direct(x: np.ndarray, y: np.ndarray, kind: str, n_classes: int = 5) -> np.ndarray:
    scatters = np.zeros((n_classes, 3, 3))
    for c in np.unique(y):
        own = x[y == c] - x[y == c].mean(axis=0)
        scatters[c] = own.T @ own
    return {
        "class": scatters,
        "pooled": scatters.sum(axis=0),
        "diagonal": np.diagonal(scatters, axis1=1, axis2=2),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 60), cuts=st.lists(st.integers(0, 60), max_size=4), seed=st.integers(0, 9))
def test_any_batches_added_in_any_way_give_the_moments_of_all(
    kind: str, n: int, cuts: list[int], seed: int
) -> None:
    x, y = data(n, seed)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    one, total = ClassMoments(3, 5, kind), ClassMoments(3, 5, kind)
    for start, stop in pairwise(edges):
        if stop > start:
            one.add(x[start:stop], y[start:stop])
            part = ClassMoments(3, 5, kind)
            part.add(x[start:stop], y[start:stop])
            total = part + total
    for moments in (one, total):
        assert moments.counts.tolist() == np.bincount(y, minlength=5).tolist()
        seen = moments.counts > 0
        means = np.stack([x[y == c].mean(axis=0) for c in np.flatnonzero(seen)])
        np.testing.assert_allclose(moments.means[seen], means, atol=1e-12)
        np.testing.assert_allclose(moments.scatter, direct(x, y, kind), atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_of_a_hundred_million_does_not_cancel_the_variance(kind: str) -> None:
    """Sums of squares would leave an error of about 1e16 · 2e-16 · n in the scatter; centred sums leave about 1e-5."""
    x, y = data(500, 1)
    far, _ = data(500, 1, 1e8)
    moments = ClassMoments(3, 5, kind)
    for start in range(0, 500, 50):
        moments.add(far[start : start + 50], y[start : start + 50])
    np.testing.assert_allclose(moments.scatter, direct(x, y, kind), atol=1e-3)


def test_adding_leaves_the_parts_as_they_were() -> None:
    a, b = ClassMoments(3, 5), ClassMoments(3, 5)
    a.add(*data(20, 0))
    b.add(*data(30, 1))
    before = a.scatter.copy(), b.scatter.copy()
    both = a + b
    both.add(*data(10, 2))
    np.testing.assert_array_equal(a.scatter, before[0])
    np.testing.assert_array_equal(b.scatter, before[1])


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_a_stream_gives_the_law_of_the_features_in_memory(covariance: str) -> None:
    """Same weights, means and covariances; classes 1 … 4 of 5, so that the gap is closed."""
    x, y = data(300, 3)
    y = y + 1
    whole = fit_class_gaussians(x, y, covariance)
    law = fit_stream(((x[k : k + 70], y[k : k + 70]) for k in range(0, 300, 70)), 5, covariance)
    np.testing.assert_allclose(law.weights, whole.weights)
    np.testing.assert_allclose(law.means, whole.means, atol=1e-12)
    for ours, theirs in zip([*law.own, law.shared], [*whole.own, whole.shared], strict=True):
        a, b = (np.diag(r**2) if r.ndim == 1 else r.T @ r for r in (ours, theirs))
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert law.fit == whole.fit


@pytest.mark.usefixtures("without_type_checks")  # the error is the one that users see
def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"31 GiB.*tied or diag"):
        ClassMoments(2048, 1000)
    with pytest.raises(InputError, match="'round'"):
        ClassMoments(3, 5, "round")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not 0 and 5"):
        ClassMoments(0, 5)
    moments = ClassMoments(3, 5)
    with pytest.raises(InputError, match="row 0 is 5"):
        moments.add(np.zeros((1, 3)), np.array([5]))
    with pytest.raises(InputError, match="2 columns"):
        moments.add(np.zeros((1, 2)), np.array([0]))
    with pytest.raises(InputError, match="cannot be added"):
        moments + ClassMoments(3, 5, "pooled")
    with pytest.raises(InputError, match="empty"):
        fit_moments(moments, "full")
    with pytest.raises(InputError, match="needs pooled"):
        fit_moments(moments, "tied")
    with pytest.raises(InputError, match="no batch"):
        fit_stream([], 5)
    with pytest.raises(InputError, match="from moments must be"):
        fit_stream([data(10, 0)], 5, "shrunk")
