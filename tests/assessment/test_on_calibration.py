"""Accuracy by λ(x) on the calibration rows: against plain leave-one-out, and like that of fresh inputs."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy

from infimum import Outputs
from infimum.assessment._diagnostics.on_calibration import curves_on_calibration
from infimum.conformal import LAC, RAPS, calibrate
from infimum.conformal._draws import uniform_draws


def plain_levels(cal: Outputs, **options: object) -> np.ndarray:
    """λ(x) of each row by a calibration that never saw it."""
    u = uniform_draws(0, "calibration", len(cal))
    found = []
    for row in range(len(cal)):
        rest = np.arange(len(cal)) != row
        without = calibrate(cal.logits[rest], cal.labels[rest], randomize=u[rest])
        found.append(without.success_levels(cal.logits[[row]], u=u[[row]], **options)[0])
    return np.array(found)


@pytest.mark.parametrize(
    "options", [{}, {"step": 0.05}, {"step": 0.3, "empty": "nan"}, {"step": 0.3, "empty": "zero"}]
)
def test_against_plain_leave_one_out(toy: Toy, options: dict) -> None:
    cal = toy.outputs(60, np.random.default_rng(3))
    levels = plain_levels(cal, **options)
    known = np.isfinite(levels)
    found = curves_on_calibration(calibrate(cal.logits, cal.labels), cal, **options, target=0.87)
    assert (found.n, found.undefined) == (known.sum(), 60 - known.sum())
    for point in found.risk_coverage:
        taken = levels >= point.threshold - 1e-12  # NaN is never taken
        assert point.accuracy.n == taken.sum()
        assert point.accuracy.value == pytest.approx(cal.correct[taken].mean())
    assert sum(b.accuracy.n for b in found.reliability) == known.sum()
    assert 0.87 in [w.wanted for w in found.wanted]


def test_nothing_to_show_where_no_row_has_a_level() -> None:
    cal = Outputs(np.zeros((6, 3)), np.full(6, 2))
    conformal = calibrate(cal.logits, cal.labels, randomize=False)
    assert curves_on_calibration(conformal, cal, empty="nan") is None


@pytest.mark.usefixtures("without_type_checks")
def test_levels_left_out_are_like_those_of_fresh_inputs(toy: Toy) -> None:
    """Mean λ(x) and the accuracy at a threshold agree with those of fresh inputs over 200 calibrations of 50 rows.

    Levels with the own score left in would not: wrong rows would be lower by 1/51 each. The means over 200 draws
    are known to about sd/√(200 · 50) ≈ .002; four of these are allowed.
    """
    rng = np.random.default_rng(4)
    fresh = toy.outputs(2000, rng)
    gap, accuracy = [], []
    for seed in range(200):
        cal = toy.outputs(50, rng)
        conformal = calibrate(cal.logits, cal.labels, score=RAPS(), seed=seed)
        found = curves_on_calibration(conformal, cal)
        mean = sum(b.level * b.accuracy.n for b in found.reliability) / 50
        levels = conformal.success_levels(fresh.logits)
        gap.append(mean * 50 / 49 - levels.mean() * 51 / 50)  # shares of scores below, of 49 and of 50
        accuracy.append((found.risk_coverage[-1].accuracy.value, fresh.correct.mean()))
    assert abs(np.mean(gap)) < 4 * np.std(gap, ddof=1) / np.sqrt(200)
    ours, theirs = np.mean(accuracy, axis=0)
    assert abs(ours - theirs) < 4 * np.sqrt(theirs * (1 - theirs) * (1 / 10_000 + 1 / 2000))


@pytest.mark.usefixtures("without_type_checks")
def test_intervals_hold_what_fresh_inputs_do_and_chosen_thresholds_need_not(toy: Toy) -> None:
    """Over 300 calibrations of 100 rows, by the accuracy of 5,000 fresh inputs scored by a formula of its own.

    Each 95 % interval, at three coverages and in each bin, holds it in 95 % of the draws; fewer than 273 of 300 would
    be a chance of 0.001 (binomial; bins are counted all together, at the same share). A threshold chosen for an
    accuracy on the rows is another matter: beyond it that accuracy is missed in a good part of the draws, which is why
    a report says that it was chosen and measured on the same rows. One draw in five is the least that is asked for.
    """
    rng = np.random.default_rng(7)
    fresh = toy.outputs(5000, rng)

    def scores(logits: np.ndarray) -> np.ndarray:
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return 1 - p / p.sum(axis=1, keepdims=True)  # LAC

    runner_up = np.sort(scores(fresh.logits), axis=1)[:, 1]
    sure = 1 - scores(fresh.logits).min(axis=1)  # labels follow the softmax, so this is Pr(correct | x)
    at: dict[float, list[bool]] = {0.3: [], 0.6: [], 1.0: []}
    bins, below = [], []
    for _ in range(300):
        cal = toy.outputs(100, rng)
        found = curves_on_calibration(calibrate(cal.logits, cal.labels, score=LAC()), cal, target=0.97)
        own = np.sort(scores(cal.logits)[np.arange(100), cal.labels])
        levels = np.searchsorted(own, runner_up) / 101
        for coverage, hits in at.items():
            point = min(found.risk_coverage, key=lambda p: abs(p.coverage - coverage))
            truth = sure[levels >= point.threshold].mean()
            hits.append(point.accuracy.low <= truth <= point.accuracy.high)
        for b in found.reliability:
            inside = (levels >= b.low) & (levels < (b.high if b.high < 1 else 2))
            if inside.sum() >= 50:
                bins.append(b.accuracy.low <= sure[inside].mean() <= b.accuracy.high)
        reached = next(w.reached for w in found.wanted if w.wanted == 0.97)
        if reached is not None:
            below.append(sure[levels >= reached.threshold].mean() < 0.97)
    assert min(sum(hits) for hits in at.values()) >= 273
    assert np.mean(bins) >= 273 / 300
    assert len(below) > 200
    assert np.mean(below) > 0.2
