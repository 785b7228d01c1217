"""Strata and allocation: equal Σ√(f(1 − f)), shares that add up, Neyman's optimum, floors and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infimum import InputError
from infimum.bounds import allocate, strata


def test_strata_share_the_spread_equally() -> None:
    f = 1 - np.random.default_rng(0).random(20_000) ** 5
    s = strata(f, 6)
    part = s.assign(f)
    assert s.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(s.weights, np.bincount(part) / len(f))
    np.testing.assert_allclose(s.levels, np.bincount(part, f) / np.bincount(part))
    within = np.clip(f, 0.001, 0.999)
    spread = np.bincount(part, np.sqrt(within * (1 - within)))
    np.testing.assert_allclose(spread / spread.sum(), 1 / 6, atol=0.002)
    assert (np.diff(s.levels) > 0).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=1, max_size=50), st.integers(1, 8))
def test_equal_levels_stay_together_and_no_stratum_is_empty(levels: list[float], n_strata: int) -> None:
    s = strata(levels, n_strata)
    assert 1 <= len(s.weights) <= n_strata
    assert (s.weights > 0).all()
    assert s.weights.sum() == pytest.approx(1)
    assert s.assign(levels).max() == len(s.weights) - 1
    assert s.weights @ s.levels == pytest.approx(np.mean(levels))


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 7))
def test_allocation_is_whole_and_within_limits(data: st.DataObject, size: int) -> None:
    weights = data.draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size))
    levels = data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    available = data.draw(st.lists(st.integers(1, 60), min_size=size, max_size=size))
    n = data.draw(st.integers(size, sum(available)))
    given_ = allocate(n, weights, levels, available=available)
    assert given_.sum() == n
    assert (given_ >= 1).all()
    assert (given_ <= available).all()


def test_allocation_is_neyman_with_a_floor() -> None:
    w, f = np.array([0.7, 0.2, 0.1]), np.array([0.99, 0.9, 0.5])
    spread = w * np.sqrt(f * (1 - f))
    for floor in (0, 0.15, 1):
        wanted = 10_000 * (floor * w + (1 - floor) * spread / spread.sum())
        np.testing.assert_allclose(allocate(10_000, w, f, floor=floor), wanted, atol=1)

    def variance(n: np.ndarray) -> float:
        return float((w**2 * f * (1 - f) / n).sum())

    assert variance(allocate(300, w, f, floor=0)) < variance(allocate(300, w, f, floor=1))


def test_bad_input() -> None:
    for call, message in (
        (lambda: strata([]), "levels"),
        (lambda: strata([1.2]), "row 0"),
        (lambda: strata([0.5], n_strata=0), "n_strata"),
        (lambda: strata([0.5]).assign([np.nan]), "levels"),
        (lambda: allocate(2, [0.3, 0.3, 0.4], [0.5] * 3), "at least one for each of 3"),
        (lambda: allocate(5, [0.5, 0.5], [0.5]), "levels"),
        (lambda: allocate(5, [0.5, -0.5], [0.5, 0.5]), "negative"),
        (lambda: allocate(5, [0.5, 0.5], [0.5, 0.5], floor=2), "floor"),
        (lambda: allocate(9, [0.5, 0.5], [0.5, 0.5], available=[4, 4]), "available"),
        (lambda: allocate(2, [0.5, 0.5], [0.5, 0.5], available=[4, 0]), "available"),
    ):
        with pytest.raises(InputError, match=message):
            call()
