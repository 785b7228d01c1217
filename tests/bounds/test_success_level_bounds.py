"""Marginal conformal and confidence floor: coverage by simulation, the inequalities themselves, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import beta, binom

from infimum import InputError
from infimum.bounds import (
    confidence_floor,
    confidence_floor_of_counts,
    marginal_conformal,
    marginal_conformal_of_counts,
    runner_up_counts,
)
from infimum.bounds._marginal_conformal import _grid
from infimum.conformal import LAC, Margin, calibrate


def histogram(calibration_scores: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Runner-up counts as `runner_up_counts` gives them, from scores: (n+1)p = 1 + #{s_i ≥ S}."""
    n = len(calibration_scores)
    below = np.searchsorted(np.sort(calibration_scores), second, side="left")
    return np.bincount(n + 1 - below, minlength=n + 2)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("method", [marginal_conformal_of_counts, confidence_floor_of_counts])
@pytest.mark.parametrize(("n", "m"), [(30, 200), (300, 300)])
def test_coverage_in_the_worst_world(method, n: int, m: int) -> None:
    """Errors of probability w = .3 have p_Y = p_(2) uniform on [0, w], the rest p_Y ≥ w and p_(2) = 0: the law
    in which both inequalities are equalities (docs/bounds.md), so 500 draws at 70 % test all of the slack there is.

    Allowed misses: the 1 − 1e-4 quantile of Binomial(500, 0.3).
    """
    rng = np.random.default_rng(5)
    misses = 0
    for _ in range(500):
        scores = rng.random(n)  # S_Y uniform: V = 1 − S_Y
        v = rng.random(m)
        second = np.where(v < 0.3, 1 - v, 2.0)  # an error's runner-up is its true label
        misses += method(histogram(scores, second), 0.7).value > 0.7
    assert misses <= binom.ppf(1 - 1e-4, 500, 0.3)


@pytest.mark.usefixtures("without_type_checks")
def test_grid_bounds_hold_together() -> None:
    """The plug-in gain on the whole grid, with the truth known: Pr(p_(2) ≤ ε) − Pr(p_Y ≤ ε) is never exceeded.

    Here p_(2) is independent of everything and the misses of all levels count, 400 draws at 50 %.
    """
    rng = np.random.default_rng(6)
    n, m, misses = 40, 400, 0
    for _ in range(400):
        scores, second = np.sort(rng.random(n)), 1 - 0.05 * rng.random(m)
        value = marginal_conformal_of_counts(histogram(scores, second), 0.5).value
        k = _grid(n)
        threshold = scores[n - k]  # the k-th largest: p_Y ≤ k/(n+1) iff S_Y is above it
        truth = (1 - np.clip((threshold - 0.95) / 0.05, 0, 1)) - (1 - threshold)
        misses += value > truth.max()
    assert misses <= binom.ppf(1 - 1e-4, 400, 0.5)


@pytest.mark.parametrize("informative", [True, False])
def test_coverage_on_a_network(toy: Toy, informative: bool) -> None:
    """300 calibrations of 60 rows, and 300 inputs each, of the toy network, LAC, at 80 %: through calibrate().

    Useless levels: the label is the predicted class with probability .7 whatever the input.
    """
    rng = np.random.default_rng(9)
    large = toy.outputs(300 * 360, rng)
    logits, labels, truth = large.logits, large.labels, large.accuracy
    if not informative:
        labels, truth = (large.predicted + (rng.random(len(large)) > 0.7)) % 4, 0.7
    misses = np.zeros(2, dtype=int)
    for draw in range(300):
        rows = slice(360 * draw, 360 * (draw + 1))
        z, y = logits[rows], labels[rows]
        calibration = calibrate(z[:60], y[:60], score=LAC())
        counts = runner_up_counts(calibration, z[60:])
        misses += [
            method(counts, 0.8).value > truth
            for method in (marginal_conformal_of_counts, confidence_floor_of_counts)
        ]
    assert (misses <= binom.ppf(1 - 1e-4, 300, 0.2)).all()


def test_numbers_by_hand() -> None:
    """All 5,000 inputs at p_(2) = 1/(n+1): the best level is the first, k = 1, where Beta(1, n) is explicit."""
    n, m = 1000, 5000
    counts = np.zeros(n + 2, dtype=int)
    counts[1] = m
    bound = marginal_conformal_of_counts(counts, 0.95)
    each = 0.05 / len(_grid(n))
    a = each * np.sqrt(m) / (np.sqrt(m) + np.sqrt(n))
    assert bound.value == pytest.approx((each - a) ** (1 / m) - (1 - a ** (1 / n)), abs=1e-12)
    assert bound.details["error_level"] == 1 / (n + 1)
    assert bound.details["miscoverage"] == pytest.approx(beta.ppf(1 - a, 1, n))
    floor = confidence_floor_of_counts(counts, 0.95)
    of_calibration = 0.05 * np.sqrt(m) / (np.sqrt(m) + np.sqrt(n))
    eta = np.sqrt(np.log(1 / of_calibration) / (2 * n))
    upper = 1 / (n + 1) + 7 * np.log(2 / (0.05 - of_calibration)) / (3 * (m - 1))
    assert floor.value == pytest.approx(1 - eta - np.sqrt(2 * upper), abs=1e-12)
    assert floor.details == {
        "unlabelled": m,
        "mean_p_second": pytest.approx(upper),
        "eta": pytest.approx(eta),
    }


def test_many_rows_approach_the_plug_in_values() -> None:
    """n = m = 200,000 with p_(2) = 0.02: sup_ε Pr(p_(2) ≤ ε) − ε = 0.98 and 1 − √0.04 = 0.8."""
    n = m = 200_000
    counts = np.zeros(n + 2, dtype=int)
    counts[4000] = m
    marginal = marginal_conformal_of_counts(counts)
    # The grid's next level above .02 may lie a quarter higher.
    assert 0.974 < marginal.value < 0.98
    assert 0.79 < confidence_floor_of_counts(counts).value < 0.8


def test_on_the_toy_network(toy: Toy) -> None:
    """Both lie below the accuracy; Margin gives more than the randomised default score would."""
    rng = np.random.default_rng(0)
    labelled, operation = toy.outputs(2000, rng), toy.outputs(20_000, rng)
    margin = calibrate(labelled.logits, labelled.labels, score=Margin())
    raps = calibrate(labelled.logits, labelled.labels)
    bounds = [marginal_conformal(c, operation.logits).value for c in (margin, raps)]
    assert 0 < bounds[1] < bounds[0] < operation.accuracy
    assert 0 < confidence_floor(margin, operation.logits).value < operation.accuracy


def test_nothing_can_be_said_of_useless_levels() -> None:
    """Every runner-up at p = 1: the bounds are 0, not negative."""
    counts = np.array([0, 0, 0, 0, 50])
    assert marginal_conformal_of_counts(counts).value == 0.0
    assert confidence_floor_of_counts(counts).value == 0.0


def test_one_input_only() -> None:
    counts = np.array([0, 1, 0, 0])
    assert 0 <= marginal_conformal_of_counts(counts).value < 0.05
    assert confidence_floor_of_counts(counts).value == 0.0


@pytest.mark.parametrize("counts", [[0, 0, 0], [1, 2, 3], [0, 4], [0, -1, 5]])
def test_bad_counts(counts: list) -> None:
    for method in (marginal_conformal_of_counts, confidence_floor_of_counts):
        with pytest.raises(InputError, match="counts"):
            method(np.array(counts))


def test_bad_logits(toy: Toy) -> None:
    labelled = toy.outputs(50, np.random.default_rng(0))
    calibration = calibrate(labelled.logits, labelled.labels)
    with pytest.raises(InputError, match="3 classes, but the calibration has 4"):
        marginal_conformal(calibration, np.ones((5, 3)))
    with pytest.raises(InputError, match="row 2"):
        confidence_floor(calibration, np.where(np.arange(5)[:, None] == 2, np.nan, np.ones((5, 4))))
    with pytest.raises(InputError, match="confidence"):
        marginal_conformal(calibration, labelled.logits, confidence=1.0)
