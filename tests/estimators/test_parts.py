"""The parts of the estimates: confidence, the bootstrap's Newton step, left-out ranks, isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax
from scipy.stats import entropy

from infimum import Outputs
from infimum.conformal import LambdaSummary, calibrate
from infimum.conformal._left_out import left_out_counts
from infimum.conformal._temperature import fit_temperature
from infimum.estimators import _scaling as scaling
from infimum.estimators._estimate import operation_error
from infimum.estimators._isotonic import isotonic_values, recalibrated
from infimum.estimators._success_level import left_out_ranks, recalibrated_lambda


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_confidence(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.random.default_rng(0).normal(size=(50, 5)) * 4
    found = scaling.confidence(z, temperature)
    p = softmax(z / temperature, axis=1)
    np.testing.assert_allclose(found.largest, p.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.entropy, entropy(p, axis=1), rtol=1e-9, atol=1e-13)
    step = 1e-6
    ends = [softmax(z * (1 / temperature + s), axis=1).max(axis=1) for s in (step, -step)]
    np.testing.assert_allclose(found.slope, (ends[0] - ends[1]) / (2 * step), atol=1e-8)
    monkeypatch.setattr(scaling, "CHUNK", 35)
    for whole, chunked in zip(found, scaling.confidence(z, temperature), strict=True):
        np.testing.assert_array_equal(whole, chunked)


def test_confidence_keeps_order_where_floats_saturate() -> None:
    found = scaling.confidence(np.array([[60.0, 0.0], [50.0, 0.0], [-1e299, 1e299]]))
    assert (found.largest == 1).all()
    assert found.others[0] < found.others[1]
    assert found.entropy[0] < found.entropy[1]
    assert np.isfinite(found.entropy).all()


def test_newton_step_stands_for_a_new_fit(toy: Toy) -> None:
    """One step from the minimum is nearly the refitted temperature, and varies as it does."""
    rng = np.random.default_rng(0)
    cal = toy.outputs(2000, rng)
    temperature = scaling.fitted(cal)
    assert abs(temperature.score.sum()) < 1e-3 * np.abs(temperature.score).sum()
    steps, exact = [], []
    for _ in range(20):
        rows = rng.integers(2000, size=2000)
        steps.append(temperature.step(np.bincount(rows, minlength=2000)))
        exact.append(1 / fit_temperature(cal.logits[rows], cal.labels[rows])[0] - 1 / temperature.value)
    assert np.corrcoef(steps, exact)[0, 1] > 0.98
    assert np.std(steps) == pytest.approx(np.std(exact), rel=0.2)


def test_an_undetermined_temperature_does_not_move() -> None:
    z = np.eye(3)[np.arange(30) % 3] * 5
    temperature = scaling.fitted(Outputs(z, np.arange(30) % 3))
    assert temperature.notes
    assert temperature.step(np.ones(30, dtype=np.int64)) == 0.0


def test_left_out_ranks_are_shares_of_the_other_scores(toy: Toy) -> None:
    cal = toy.outputs(60, np.random.default_rng(0))
    conformal = calibrate(cal.logits, cal.labels)
    counts = left_out_counts(conformal, cal.logits, cal.labels).count_second
    ranks = left_out_ranks(conformal, cal)
    np.testing.assert_allclose(ranks * (59 / 60), 1 - counts / 60)
    assert ranks.min() >= 0
    assert ranks.max() <= 1


def test_inputs_of_one_score_may_be_summed(toy: Toy) -> None:
    """The recalibrated λ reads counts, weights and squares: the same as of the inputs one by one."""
    rng = np.random.default_rng(1)
    cal, ops = toy.outputs(80, rng), toy.outputs(500, rng)
    conformal = calibrate(cal.logits, cal.labels)
    for weights in (None, rng.random(500)):
        summary = LambdaSummary(80)
        summary.add(conformal.top_two(ops.logits), weights)
        found = recalibrated_lambda(conformal, cal, summary, seed=2)
        scores = (81 - conformal.top_two(ops.logits).count_second) / 80
        plain = recalibrated(left_out_ranks(conformal, cal), cal.correct, scores, weights, 2, "x", "y")
        assert found.value == pytest.approx(plain.value, abs=1e-12)
        assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-9)
        assert ("are too small" in found.note) == ((~cal.correct).sum() < 10)


@settings(deadline=None)
@given(
    hnp.arrays(np.int64, st.integers(1, 25), elements=st.integers(0, 5)), st.randoms(use_true_random=False)
)
def test_isotonic_regression(scores: np.ndarray, random: object) -> None:
    """Levels rise, keep the mean, and counting a row twice is the row given twice."""
    n = len(scores)
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    _, group = np.unique(scores, return_inverse=True)
    correct, counts = rng.random(n) < 0.5, rng.integers(0, 3, size=n)
    if not counts.any():
        return
    levels = isotonic_values(group, correct, counts)
    assert (np.diff(levels) >= -1e-12).all()
    assert ((levels >= 0) & (levels <= 1)).all()
    assert counts @ levels[group] == pytest.approx(counts @ correct, abs=1e-9)
    twice = np.repeat(np.arange(n), counts)
    if set(group[twice]) == set(group):
        again = isotonic_values(group[twice], correct[twice], np.ones(len(twice), dtype=np.int64))
        np.testing.assert_allclose(levels, again, atol=1e-12)


def test_operation_error() -> None:
    values = np.random.default_rng(0).random(50)
    assert operation_error(values, None) == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    assert operation_error(values, np.full(50, 9.0)) == pytest.approx(operation_error(values, None))
    assert operation_error(values, np.eye(50)[3]) == 0.5
    assert operation_error(values[:1], None) == 0.5
