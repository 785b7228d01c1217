"""Label-free estimates: what holds exactly, standard errors by simulation, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import binom

from infimum import InputError, Outputs
from infimum.estimators import (
    Estimate,
    average_confidence,
    calibrated_confidence,
    difference_of_confidences,
    estimate,
    recalibrated_success_level,
    success_level,
    thresholded_confidence,
)
from infimum.estimators import _estimate as base


def by_entropy(calibration: Outputs, operation: Outputs, *, seed: int = 0) -> Estimate:
    return thresholded_confidence(calibration, operation, by="negative_entropy", seed=seed)


CONSISTENT: tuple[Callable[..., Estimate], ...] = (
    recalibrated_success_level,
    calibrated_confidence,
    average_confidence,
    difference_of_confidences,
    thresholded_confidence,
    by_entropy,
)


@pytest.fixture(scope="module")
def data(toy: Toy) -> tuple[Outputs, Outputs]:
    rng = np.random.default_rng(0)
    return toy.outputs(400, rng, name="calibration"), toy.outputs(900, rng, name="operation")


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("method", CONSISTENT)
def test_standard_error_is_honest(
    method: Callable[..., Estimate], toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """± 1.96 errors cover Success(f) in 100 draws of 300 calibration and 300 operation inputs, without shift.

    The toy's labels are drawn from its softmax, so Success(f) = E[p_max] and every method but λ tends to it. A
    bootstrap of 300 rows is right to first order only: a true coverage of 90 % or more is asked for, and fewer
    hits than the 1e-4 quantile of Binomial(100, 0.9) have a chance of 1e-4. The spread must agree both ways:
    the mean error is within a quarter of the standard deviation over draws, which 100 draws know to 7 %.
    """
    monkeypatch.setattr(base, "REPLICATES", 60)
    logits = toy.outputs(100_000, np.random.default_rng(99)).logits
    truth = (1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)).mean()
    found = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 17])
        made = method(toy.outputs(300, rng), Outputs(toy.outputs(300, rng).logits), seed=seed)
        found.append((made.value, made.standard_error))
    values, errors = np.array(found).T
    assert (np.abs(values - truth) <= 1.96 * errors).sum() >= binom.ppf(1e-4, 100, 0.9)
    assert errors.mean() == pytest.approx(values.std(), rel=0.25)


def test_on_the_calibration_itself_the_accuracy_comes_back(data: tuple[Outputs, Outputs]) -> None:
    """Isotonic regression keeps the mean, ATC's threshold is chosen so, and DoC's difference is 0."""
    cal, _ = data
    same = Outputs(cal.logits)
    for method in (calibrated_confidence, difference_of_confidences, thresholded_confidence, by_entropy):
        assert method(cal, same).value == pytest.approx(cal.accuracy, abs=1e-12)


def test_without_shift_all_but_lambda_are_near_the_truth(data: tuple[Outputs, Outputs]) -> None:
    cal, ops = data
    for method in CONSISTENT:
        assert method(cal, Outputs(ops.logits)).value == pytest.approx(ops.accuracy, abs=0.05)
    assert success_level(cal, ops).value > ops.accuracy + 0.01


@pytest.mark.parametrize("method", [success_level, *CONSISTENT])
def test_weights_count_inputs(method: Callable[..., Estimate], data: tuple[Outputs, Outputs]) -> None:
    """Weight 0 leaves an input out; weights all equal change nothing."""
    cal, ops = data
    kept = np.arange(len(ops)) < 500
    short, zeros = Outputs(ops.logits[:500]), Outputs(ops.logits, weights=kept * 3.0)
    one, two = method(cal, short), method(cal, zeros)
    assert two.value == pytest.approx(one.value, abs=1e-12)
    assert two.standard_error == pytest.approx(one.standard_error, abs=1e-9)


def test_confidence_methods_need_only_the_order(data: tuple[Outputs, Outputs]) -> None:
    """A temperature changes no isotonic regression on two classes, where it keeps the order of confidence."""
    cal, ops = (Outputs(o.logits[:, :2], o.labels % 2) for o in data)
    hot = Outputs(cal.logits / 7, cal.labels), Outputs(ops.logits / 7)
    assert calibrated_confidence(*hot).value == pytest.approx(
        calibrated_confidence(cal, ops).value, abs=1e-12
    )


def test_thresholds() -> None:
    logits = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    ops = Outputs(np.array([[0.5, 0.0], [2.5, 0.0], [9.0, 0.0]]))
    for labels, expected in (
        ([0, 0, 0, 0], 2 / 3),
        ([1, 1, 0, 0], 1 / 3),
        ([1, 0, 1, 1], 1 / 3),
        ([1] * 4, 0.0),
    ):
        found = thresholded_confidence(Outputs(logits, np.array(labels)), ops)
        assert found.value == pytest.approx(expected), labels


def test_no_wrong_row_is_warned_of(data: tuple[Outputs, Outputs]) -> None:
    cal, ops = data
    right = Outputs(cal.logits[cal.correct], cal.labels[cal.correct])
    found = estimate(right, ops)
    assert any("only 0 of the" in note for note in found.notes)
    assert "note: only 0 of the" in found.summary()
    assert all(np.isfinite([e.value, e.standard_error]).all() for e in found.estimates)


def test_side_by_side(data: tuple[Outputs, Outputs]) -> None:
    cal, ops = data
    found = estimate(cal, ops, seed=3)
    assert found == estimate(cal, ops, seed=3)
    assert found.accuracy == ops.accuracy
    assert not found.exchangeability.rejected
    assert (found.warnings, found.notes) == ((), ())
    assert all("no guarantee" in e.note for e in found.estimates)
    assert all(0 <= e.value <= 1 and 0 < e.standard_error < 0.1 for e in found.estimates)
    d = json.loads(found.to_json())
    assert d["schema"] == "infimum/estimates/2"
    assert d["estimates"][0]["error"] == pytest.approx(found.estimates[0].value - ops.accuracy)
    blind = estimate(cal, Outputs(ops.logits))
    assert blind.accuracy is None
    assert json.loads(blind.to_json())["estimates"][0]["error"] is None
    shifted = estimate(cal, Outputs(ops.logits * 0.3))
    assert any("not alike" in warning for warning in shifted.warnings)
    assert any(
        "9 of the" in w for w in estimate(cal, Outputs(np.vstack([ops.logits, cal.logits[:9]]))).warnings
    )


def test_refused(data: tuple[Outputs, Outputs]) -> None:
    cal, ops = data
    for method in (success_level, *CONSISTENT):
        for calibration, operation, message in (
            (Outputs(cal.logits), ops, "no 'labels'"),
            (cal, Outputs(ops.logits[:, :3]), "4 classes, operation has 3"),
            (Outputs(cal.logits[:1], cal.labels[:1]), ops, "1 row"),
        ):
            with pytest.raises(InputError, match=message):
                method(calibration, operation)
        with pytest.raises(InputError, match="seed"):
            method(cal, ops, seed=-1)
