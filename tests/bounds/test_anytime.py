"""The anytime-valid bound: how often it is *ever* above the truth, its formula by integration, its shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import anytime, anytime_sequence, clopper_pearson
from infimum.bounds._anytime import bound_of_counts, log_capital


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("accuracy", [0.6, 0.9, 0.99])
def test_hardly_ever_above_the_truth_at_any_time(accuracy: float) -> None:
    """2,000 sequences of 3,000 labels, looked at after each label, at 80 %.

    The bound of (k, n) is above the truth exactly where the truth is rejected, so one capital per time decides.
    Allowed misses: the 1 − 1e-4 quantile of Binomial(2000, 0.2). Fixed-n bounds miss far more often when watched.
    """
    rng = np.random.default_rng(3)
    n = np.arange(1, 3001)
    # Errors among the first n labels index a table of the capital against the truth.
    most = int(binom.ppf(1 - 1e-9, 3000, 1 - accuracy)) + 1
    errors = np.arange(most + 1)
    table = np.full((3000, most + 1), -np.inf)
    for c in errors:
        table[c:, c] = log_capital(n[c:] - c + 0.0, n[c:] + 0.0, accuracy)
    ever = 0
    for _ in range(20):
        wrong = np.cumsum(rng.random((100, 3000)) >= accuracy, axis=1)
        capital = table[np.arange(3000), np.minimum(wrong, most)]
        ever += int((capital >= np.log(5)).any(axis=1).sum())
    assert 0 < ever <= binom.ppf(1 - 1e-4, 2000, 0.2)


def test_a_rejected_truth_is_a_bound_above_it() -> None:
    """What the simulation above takes for granted, on all counts of 60 labels and several truths."""
    k, n = np.array([(k, n) for n in (5, 20, 60) for k in range(n + 1)]).T
    bounds = bound_of_counts(k, n, 0.8)
    for m in (0.3, 0.6, 0.9):
        below = k - n * m >= 0.5
        rejected = log_capital(k[below] + 0.0, n[below] + 0.0, m) >= np.log(5)
        np.testing.assert_array_equal(rejected, bounds[below] > m)


@pytest.mark.parametrize(("k", "n", "m"), [(30, 30, 0.8), (45, 60, 0.5), (3, 10, 0.1), (990, 1000, 0.97)])
def test_capital_by_integration(k: int, n: int, m: float) -> None:
    def prior(p: float) -> float:
        return 1 / np.sqrt(p * (1 - p))

    def ratio(p: float) -> float:
        return np.exp(k * np.log(p / m) + (n - k) * np.log((1 - p) / (1 - m))) * prior(p)

    top = quad(ratio, m, 1, limit=500)[0] / quad(prior, m, 1)[0]
    assert log_capital(np.array(k + 0.0), np.array(n + 0.0), m) == pytest.approx(np.log(top), abs=1e-4)


@given(st.lists(st.booleans(), min_size=1, max_size=80), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=60, deadline=None)
def test_shape(correct: list[bool], confidence: float) -> None:
    sequence = anytime_sequence(correct, confidence)
    assert (np.diff(sequence) >= 0).all()
    assert anytime(correct, confidence).value == pytest.approx(sequence[-1], abs=1e-12)
    share = np.maximum.accumulate(np.cumsum(correct) / np.arange(1, len(correct) + 1))
    assert (sequence <= share).all()
    # All looks cost something: never above the fixed-n bound of its best moment.
    best = max(clopper_pearson(correct[: i + 1], confidence).value for i in range(len(correct)))
    assert sequence[-1] <= best + 1e-12


def test_nothing_right_and_refused() -> None:
    assert anytime([0, 0, 0]).value == 0.0
    assert 0 < anytime([1]).value < 0.2
    for bad in ([], [0.5], [[1]]):
        with pytest.raises(InputError, match="correct"):
            anytime(bad)
    with pytest.raises(InputError, match="confidence"):
        anytime([1], confidence=1.0)
