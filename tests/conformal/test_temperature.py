"""The fitted temperature: the likelihood's own, at every scale of the logits, and said where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from infimum.conformal import calibrate
from infimum.conformal._temperature import fit_temperature


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1000.0, 1e9, 1e290])
def test_the_minimum_is_found_at_every_scale(scale: float) -> None:
    """Three of four rows [2, 0] are right: softmax must say 3/4, so T = 2/log 3; of 1000 [2, 0] it is 1820.478."""
    temperature, notes = fit_temperature(scale * np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1]))
    assert temperature == pytest.approx(scale * 2 / np.log(3), rel=1e-9)
    assert notes == []


def test_one_row_far_away_does_not_hide_the_minimum() -> None:
    logits = np.array([[2.0, 0.0]] * 400 + [[1e6, 0.0]])
    labels = np.array([0, 0, 0, 1] * 100 + [0])
    temperature, notes = fit_temperature(logits, labels)
    assert temperature == pytest.approx(2 / np.log(3), rel=1e-9)
    assert notes == []


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_separated_rows_give_the_lower_limit_and_say_so(scale: float) -> None:
    z = np.eye(3)[[0, 1, 2, 0]] * 5.0 * scale
    temperature, notes = fit_temperature(z, np.array([0, 1, 2, 0]))
    assert temperature == pytest.approx(0.05 * scale)
    assert len(notes) == 1
    assert "lower limit" in str(notes[0])
    assert "comes to 0" in str(notes[0])
    calibration = calibrate(z, np.array([0, 1, 2, 0]), temperature="fit", tuning=(z, np.array([0, 1, 2, 0])))
    assert notes[0] in calibration.findings


def test_logits_that_say_nothing_give_the_upper_limit_and_say_so() -> None:
    temperature, notes = fit_temperature(np.array([[2.0, 0.0]] * 4), np.array([0, 0, 1, 1]))
    assert temperature == pytest.approx(2e4)
    assert "upper limit" in str(notes[0])


def test_equal_logits_leave_the_temperature_alone() -> None:
    temperature, notes = fit_temperature(np.full((4, 3), 7.0), np.array([0, 1, 2, 0]))
    assert temperature == 1.0
    assert "all logits are equal" in str(notes[0])
    some = np.array([[7.0, 7.0]] * 9 + [[2.0, 0.0]] * 4)
    labels = np.array([0] * 9 + [0, 0, 0, 1])
    assert fit_temperature(some, labels)[0] == pytest.approx(2 / np.log(3))  # equal ones say nothing


def test_temperature_is_recovered() -> None:
    """Labels drawn from softmax(z/2.5): the fit comes within 4 standard errors (about .03 each) of 2.5."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 4)) * 5
    labels = (z / 2.5 + rng.gumbel(size=z.shape)).argmax(axis=1)
    temperature, notes = fit_temperature(z, labels)
    assert temperature == pytest.approx(2.5, abs=0.12)
    assert notes == []


def test_temperature_does_not_change_ranks_but_levels() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(400, 4)) * 5
    labels = (z / 2.5 + rng.gumbel(size=z.shape)).argmax(axis=1)
    plain = calibrate(z[:200], labels[:200])
    fitted = calibrate(z[:200], labels[:200], temperature="fit", tuning=(z[200:], labels[200:]))
    assert 1.5 < fitted.temperature < 4
    assert (plain.success_levels(z) != fitted.success_levels(z)).any()
