"""Betting: monotone capital, exact roots, coverage at one time and at all times, width against Clopper–Pearson."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import betting, betting_bounds, betting_sequence, clopper_pearson
from infimum.bounds._betting import lowest_mean, lowest_so_far, stakes

RUNS = 500
MOST_MISSES = int(binom.ppf(1 - 1e-4, RUNS, 0.05))
"""A method that misses with probability at most .05 shows more misses in 500 runs with a chance of 1e-4."""


def capital(x: np.ndarray, theta: np.ndarray, m: float) -> float:
    return float(np.sum(np.log(1 - theta + theta * x / m)))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_bound_is_where_the_capital_reaches_one_over_alpha(
    values: list[float], confidence: float
) -> None:
    x = np.array(values)
    threshold = -np.log1p(-confidence)
    theta = stakes(x[None], threshold / len(x))
    assert ((theta >= 0) & (theta < 1)).all()
    m = float(lowest_mean(x[None], theta, threshold)[0])
    assert 0 <= m <= 1
    if m > 1e-200:
        assert capital(x, theta[0], m) == pytest.approx(threshold, abs=1e-6)
        higher = m * np.linspace(1.001, 2, 20)
        falls = [capital(x, theta[0], h) for h in (m, *higher)]
        assert (np.diff(falls) <= 1e-12).all()


def test_stakes_look_only_back() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((1, 30))
    changed = x.copy()
    changed[0, 20:] = 0
    np.testing.assert_array_equal(stakes(x, 0.1)[:, :21], stakes(changed, 0.1)[:, :21])


@pytest.mark.parametrize("n", [50, 300, 2000])
@pytest.mark.parametrize("p", [0.6, 0.9, 0.99])
def test_coverage_and_width_on_right_and_wrong(n: int, p: float) -> None:
    """Misses at most 5 %, and a gap at most 1.7 times Clopper–Pearson's: Gauss says √(2 ln 20)/1.645 = 1.49."""
    x = (np.random.default_rng([n, int(100 * p)]).random((RUNS, n)) < p).astype(float)
    bounds = betting_bounds(x)
    assert (bounds > p).sum() <= MOST_MISSES
    exact = [clopper_pearson(np.arange(n) < k).value for k in x.sum(axis=1)[:200]]
    assert 1 < (p - bounds[:200]).mean() / (p - np.mean(exact)) < 1.7


@pytest.mark.parametrize("law", ["uniform", "skewed", "lopsided"])
def test_coverage_on_bounded_values(law: str) -> None:
    rng = np.random.default_rng(3)
    x = {
        "uniform": rng.random((RUNS, 200)),
        "skewed": 1 - rng.random((RUNS, 200)) ** 6,
        "lopsided": np.where(rng.random((RUNS, 200)) < 0.01, 0.0, 0.9),
    }[law]
    mean = {"uniform": 0.5, "skewed": 6 / 7, "lopsided": 0.99 * 0.9}[law]
    assert (betting_bounds(x) > mean).sum() <= MOST_MISSES
    assert betting_bounds(x).mean() > mean - 0.12


@pytest.mark.parametrize("p", [0.6, 0.99])
@pytest.mark.parametrize("horizon", [None, 100])
def test_sequence_never_misses_at_any_time(p: float, horizon: int | None) -> None:
    """The chance that any of 200 bounds lies above p is at most 5 %."""
    x = (np.random.default_rng(5).random((RUNS, 200)) < p).astype(float)
    threshold = np.log(20)
    aim = 2.0 * np.arange(1, 201) if horizon is None else horizon
    found = lowest_so_far(x, stakes(x, threshold / aim), threshold)
    np.testing.assert_allclose(betting_sequence(x[0], horizon=horizon), found[0], rtol=1e-9)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (found[:, -1] > p).sum() <= MOST_MISSES


def test_sequence_is_the_running_maximum_of_its_capital() -> None:
    x = np.random.default_rng(1).random(60)
    found = betting_sequence(x, 0.9, horizon=60)
    threshold = np.log(10)
    theta = stakes(x[None], threshold / 60)
    each = [lowest_mean(x[None, :t], theta[:, :t], threshold)[0] for t in range(1, 61)]
    np.testing.assert_allclose(found, np.maximum.accumulate(each), atol=1e-9)


def test_other_ranges_are_scaled() -> None:
    x = np.random.default_rng(2).random(50)
    inside = betting(x)
    outside = betting(4 * x - 1, low=-1, high=3)
    assert outside.value == pytest.approx(4 * inside.value - 1)
    assert (inside.method, inside.n, inside.validity) == ("betting", 50, "finite-sample")
    sequence = betting_sequence(4 * x - 1, low=-1, high=3)
    np.testing.assert_allclose(sequence, 4 * betting_sequence(x) - 1, atol=1e-12)


def test_extremes() -> None:
    assert betting(np.zeros(20)).value == 0
    assert betting_sequence(np.zeros(20)).max() == 0
    assert 0 < betting([1.0]).value < 0.05
    assert betting(np.ones(10_000)).value > 0.999


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "empty"),
        ([[0.5]], "one-dimensional"),
        ([0.5, 1.5], "row 1"),
        ([np.nan], "row 0"),
        (["a"], "numbers"),
    ],
)
def test_bad_values(values: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        betting(values)
    with pytest.raises(InputError, match=message):
        betting_sequence(values)


def test_bad_settings() -> None:
    with pytest.raises(InputError, match="confidence"):
        betting([0.5], confidence=1.0)
    with pytest.raises(InputError, match="low"):
        betting([0.5], low=1, high=0)
    with pytest.raises(InputError, match="horizon"):
        betting_sequence([0.5], horizon=0)
