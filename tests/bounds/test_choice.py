"""best() and rehearse(): how they choose, that peeking would miss too often, and that they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import Bound, best, betting, clopper_pearson, prediction_powered, rehearse

BOTH = {"exact": clopper_pearson, "betting": betting}


HALVES = {
    "first": lambda c, confidence: clopper_pearson(c[:100], confidence),
    "second": lambda c, confidence: clopper_pearson(c[100:], confidence),
}
RUNS = 1000
MOST_MISSES = binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_rehearsal_names_the_larger_bound() -> None:
    assert rehearse(BOTH, np.full(100, 0.9)) == "exact"
    assert rehearse({"betting": betting, "exact": clopper_pearson}, np.full(100, 0.9)) == "exact"
    assert rehearse(HALVES, np.repeat([0.8, 0.9], 100)) == "second"
    assert rehearse(HALVES, np.repeat([0.9, 0.8], 100)) == "first"


@pytest.mark.usefixtures("without_type_checks")
def test_rehearsed_elsewhere_holds_and_rehearsed_on_the_labelled_inputs_would_not() -> None:
    """Levels that are the labels: the worst case. 400 runs at 80 %, limit the 1 − 1e-4 quantile of the binomial.

    The truth is where a bound misses with a probability of just 20 %: peeking at two halves then misses 36 %.
    """
    truth = clopper_pearson(np.arange(100) < 74, 0.8).value - 1e-9
    rng = np.random.default_rng(8)
    right, others = rng.random((2, 400, 200)) < truth
    most = binom.ppf(1 - 1e-4, 400, 0.2)
    peeked = sum(HALVES[rehearse(HALVES, c.astype(float), 0.8)](c, 0.8).value > truth for c in right)
    assert peeked > most
    chosen = [rehearse(HALVES, c.astype(float), 0.8) for c in others]
    assert 0.3 < np.mean([name == "first" for name in chosen]) < 0.7
    assert sum(HALVES[name](c, 0.8).value > truth for name, c in zip(chosen, right, strict=True)) <= most


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


@pytest.mark.usefixtures("without_type_checks")
def test_two_halves_of_the_labels_peeked_at_would_miss_and_best_does_not() -> None:
    """The larger bound of two halves of 100 labels misses about twice too often; 1,000 runs, p = .7."""
    rng = np.random.default_rng(6)
    right = rng.random((RUNS, 200)) < 0.7
    peeked = sum(max(f(c, 0.95).value for f in HALVES.values()) > 0.7 for c in right)
    assert peeked > MOST_MISSES
    assert sum(best(HALVES, c).value > 0.7 for c in right) <= MOST_MISSES


def test_bad_input() -> None:
    with pytest.raises(InputError, match="candidates is empty"):
        best({}, np.ones(3))
    with pytest.raises(InputError, match="candidates is empty"):
        rehearse({}, np.ones(3))
    with pytest.raises(InputError, match="levels: row 1"):
        rehearse(BOTH, [0.5, 1.5])
    with pytest.raises(InputError, match="confidence"):
        rehearse(BOTH, [0.5], confidence=1.0)
    with pytest.raises(InputError, match="correct"):
        best(BOTH, [0.5])
