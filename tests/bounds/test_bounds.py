"""Bounds: the exact binomial's coverage, worked numbers, and the inequalities the estimates rest on."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import beta, binom

from infimum import InputError
from infimum.bounds import clopper_pearson, confidence_floor_estimate, marginal_conformal_estimate
from infimum.conformal import LambdaSummary, calibrate


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
    with pytest.raises(InputError, match="correct"):
        clopper_pearson(np.array(correct))


@pytest.mark.parametrize("confidence", [0, 1, 1.5, "x"])
def test_bad_confidence(confidence: object) -> None:
    with pytest.raises(Exception, match=r"confidence"):
        clopper_pearson(np.array([True]), confidence)  # type: ignore[arg-type]


def test_estimates_lie_below_success(toy: Toy) -> None:
    """On 20,000 inputs the plug-in inequalities of METHOD §5 hold with room: they are loose."""
    rng = np.random.default_rng(0)
    labelled, operation = toy.outputs(2000, rng), toy.outputs(20_000, rng)
    cal = calibrate(labelled.logits, labelled.labels)
    summary = LambdaSummary(cal.n)
    summary.add(cal.top_two(operation.logits))
    marginal = marginal_conformal_estimate(summary.p_second_distribution())
    floor = confidence_floor_estimate(summary.value)
    assert 0 < floor.value < operation.accuracy
    assert 0 < marginal.value < operation.accuracy
    p_second = 1 - cal.success_levels(operation.logits)
    grid = np.arange(cal.n + 2) / (cal.n + 1)
    direct = max((p_second <= e + 1e-12).mean() - e for e in grid)
    assert marginal.value == pytest.approx(direct, abs=1e-9)


def test_useless_lambda_gives_a_floor_of_zero() -> None:
    assert confidence_floor_estimate(0.4).value == 0.0
    with pytest.raises(InputError):
        confidence_floor_estimate(1.5)
