"""Clopper–Pearson: the exact binomial's coverage and worked numbers, per class too; Wilson is for display only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from infimum import InputError
from infimum.bounds import Bound, Estimate, clopper_pearson, clopper_pearson_per_class, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (9, 10), (10, 10), (950, 1000)])
def test_clopper_pearson_is_the_beta_quantile(k: int, n: int) -> None:
    bound = clopper_pearson(np.arange(n) < k, 0.95)
    assert bound.value == pytest.approx(beta.ppf(0.05, k, n - k + 1) if k else 0.0, abs=1e-12)
    assert (bound.n, bound.method, bound.confidence) == (n, "clopper_pearson", 0.95)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("p", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("n", [20, 300])
def test_clopper_pearson_never_misses_too_often(p: float, n: int, confidence: float) -> None:
    """Exactly: the chance that the bound exceeds p, summed over all outcomes; and 500 draws besides.

    A miss count above the 1 − 1e-4 quantile of Binomial(500, 1 − confidence) has a chance of at most 1e-4.
    """
    bounds = np.array([clopper_pearson(np.arange(n) < k, confidence).value for k in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p)[bounds > p].sum() <= 1 - confidence + 1e-12
    drawn = np.random.default_rng(8).binomial(n, p, size=500)
    assert (bounds[drawn] > p).sum() <= binom.ppf(1 - 1e-4, 500, 1 - confidence)


@pytest.mark.parametrize("correct", [[], [0, 2], [0.5], [[1, 0]], ["yes"], [np.nan]])
def test_bad_correct(correct: list) -> None:
    for bound in (clopper_pearson, wilson):
        with pytest.raises(InputError, match="correct"):
            bound(np.array(correct))


@pytest.mark.parametrize("confidence", [0, 1, 1.5, "x"])
def test_bad_confidence(confidence: object) -> None:
    with pytest.raises(Exception, match=r"confidence"):
        clopper_pearson(np.array([True]), confidence)  # type: ignore[arg-type]


@pytest.mark.usefixtures("without_type_checks")
def test_per_class_holds_for_all_classes_together() -> None:
    """800 draws of 6 classes, class sizes drawn too (some are empty): a miss is any class above its truth.

    Allowed misses: the 1 − 1e-4 quantile of Binomial(800, 0.1). With 0.1 unsplit nearly every second draw misses.
    """
    accuracy = np.array([0.5, 0.7, 0.9, 0.95, 0.99, 0.8])
    rng = np.random.default_rng(3)
    misses = unsplit = 0
    for _ in range(800):
        labels = rng.choice(6, size=150, p=[0.3, 0.3, 0.2, 0.1, 0.09, 0.01])
        correct = rng.random(150) < accuracy[labels]
        bounds = clopper_pearson_per_class(correct, labels, 6, 0.9)
        misses += any(b.value > a for b, a in zip(bounds, accuracy, strict=True))
        alone = (clopper_pearson(correct[labels == c], 0.9).value for c in np.unique(labels))
        unsplit += any(v > accuracy[c] for c, v in zip(np.unique(labels), alone, strict=True))
    assert misses <= binom.ppf(1 - 1e-4, 800, 0.1) < unsplit


def test_per_class_numbers_and_empty_classes() -> None:
    labels = np.repeat([0, 2], [20, 30])
    bounds = clopper_pearson_per_class(np.arange(50) % 10 > 0, labels, 3, 0.95)
    level = 1 - np.sqrt(0.95)
    assert [b.n for b in bounds] == [20, 0, 30]
    assert bounds[0].value == pytest.approx(beta.ppf(level, 18, 3))
    assert bounds[2].value == pytest.approx(beta.ppf(level, 27, 4))
    assert bounds[1].value == 0.0
    assert "no labelled input" in " ".join(bounds[1].assumptions)
    assert [b.details["class"] for b in bounds] == [0, 1, 2]
    with pytest.raises(InputError, match="labels"):
        clopper_pearson_per_class([1, 1], [0, 3], 3)
    with pytest.raises(InputError, match="n_classes"):
        clopper_pearson_per_class([1, 1], [0, 0], 1)


def test_wilson_is_an_estimate_and_says_so() -> None:
    """Newcombe (1998), table I: 81 of 263 has the two-sided 95 % Wilson interval .2553 to .3662."""
    shown = wilson(np.arange(263) < 81, 0.975)
    assert shown.value == pytest.approx(0.2553, abs=5e-5)
    assert isinstance(shown, Estimate)
    assert not isinstance(shown, Bound)
    assert "approximate" in shown.note
    assert wilson(np.zeros(5)).value == pytest.approx(0.0, abs=1e-12)
    # What the note warns of: at p = .99 and n = 280 it misses in 6 % of the draws, exactly summed.
    values = np.array([wilson(np.arange(280) < k).value for k in range(281)])
    assert binom.pmf(np.arange(281), 280, 0.99)[values > 0.99].sum() > 0.055


def test_bound_is_read_back() -> None:
    bound = clopper_pearson([1, 1, 0])
    assert len({bound, Bound.from_dict(bound.to_dict())}) == 1
