"""best(): how it chooses, that peeking would miss too often, and that it does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import Bound, best, betting, clopper_pearson, prediction_powered

BOTH = {"exact": clopper_pearson, "betting": betting}


def test_rehearsal_takes_the_whole_confidence_and_ignores_the_labels() -> None:
    levels = np.full(100, 0.9)
    for right in (np.ones(100), np.zeros(100), np.arange(100) < 90):
        bound = best(BOTH, right, levels=levels)
        assert (bound.method, bound.value) == ("clopper_pearson", clopper_pearson(right).value)
        assert bound.confidence == 0.95
        assert "by rehearsal on the levels" in bound.assumptions[-1]


def test_split_takes_the_largest_at_a_share_of_the_error() -> None:
    right = np.arange(100) < 90
    bound = best(BOTH, right)
    assert bound.value == clopper_pearson(right, 0.975).value
    assert bound.confidence == 0.95
    assert "each at confidence 0.975" in bound.assumptions[-1]
    assert any("order of drawing" in text for text in bound.assumptions), "what all of them assume"


def test_an_asymptotic_candidate_makes_the_choice_asymptotic() -> None:
    rng = np.random.default_rng(0)
    g = rng.random(600)

    def powered(right: np.ndarray, confidence: float) -> Bound:
        return prediction_powered(right, g[:100], g[100:], confidence)

    assert best({"exact": clopper_pearson, "powered": powered}, np.ones(100)).validity == "asymptotic"
    assert best(BOTH, np.ones(100)).validity == "finite-sample"


def test_two_halves_of_the_labels_peeked_at_would_miss_and_best_does_not() -> None:
    """The larger bound of two halves of 100 labels misses about twice too often; 1,000 runs, p = .7."""
    halves = {
        "first": lambda c, confidence: clopper_pearson(c[:100], confidence),
        "second": lambda c, confidence: clopper_pearson(c[100:], confidence),
    }
    rng = np.random.default_rng(6)
    right = rng.random((1000, 200)) < 0.7
    peeked = sum(max(f(c, 0.95).value for f in halves.values()) > 0.7 for c in right)
    assert peeked > binom.ppf(1 - 1e-4, 1000, 0.05)
    assert sum(best(halves, c).value > 0.7 for c in right) <= binom.ppf(1 - 1e-4, 1000, 0.05)


def test_only_one_candidate_is_not_rehearsed() -> None:
    calls = []

    def counted(c: np.ndarray, confidence: float) -> Bound:
        calls.append(confidence)
        return clopper_pearson(c, confidence)

    best({"exact": counted}, np.ones(5), levels=np.ones(5))
    assert calls == [0.95]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="candidates is empty"):
        best({}, np.ones(3))
    with pytest.raises(InputError, match="levels has 2"):
        best(BOTH, np.ones(3), levels=[0.5, 0.5])
    with pytest.raises(InputError, match="correct"):
        best(BOTH, [0.5])
