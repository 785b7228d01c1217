"""Tuning: k_reg once, temperature by likelihood, on rows that are not calibrated on."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import InputError
from infimum.conformal import LAC, RAPS, calibrate
from infimum.conformal._fitting import true_ranks, tune_k_reg


def test_ranks_break_ties_by_the_lower_index() -> None:
    logits = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 2.0]])
    assert true_ranks(logits, np.array([0, 1, 0])).tolist() == [1, 2, 3]


def test_k_reg_is_the_rank_that_nine_tenths_reach() -> None:
    """n = 19: the ⌈0.9 · 20⌉ = 18th smallest rank."""
    logits = np.tile([3.0, 2.0, 1.0], (19, 1))
    labels = np.array([0] * 17 + [1, 2])
    assert tune_k_reg(logits, labels) == 2
    assert tune_k_reg(logits[:3], np.array([0, 0, 2])) == 3  # ⌈3.6⌉ = 4 > 3: the largest


def test_auto_uses_tuning_rows_or_sets_some_aside() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(100, 5))
    labels = rng.integers(5, size=100)
    given = calibrate(logits[:60], labels[:60], score=RAPS(k_reg="auto"), tuning=(logits[60:], labels[60:]))
    assert (given.n, given.n_tuning, given.findings) == (60, 40, ())
    assert given.score == RAPS(0.01, tune_k_reg(logits[60:], labels[60:]))
    aside = calibrate(logits, labels, score=RAPS(k_reg="auto"), seed=4)
    assert (aside.n, aside.n_tuning) == (80, 20)
    assert "20 of the 100" in str(aside.findings[0])
    again = calibrate(logits, labels, score=RAPS(k_reg="auto"), seed=4)
    np.testing.assert_array_equal(aside.keys, again.keys)
    assert (aside.keys != calibrate(logits, labels, score=RAPS(k_reg="auto"), seed=5).keys).any()


def test_unused_tuning_rows_are_a_note() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    assert "not used" in str(calibrate(logits, labels, score=LAC(), tuning=(logits, labels)).findings[0])


def test_too_few_rows_to_set_aside() -> None:
    with pytest.raises(InputError, match="too few"):
        calibrate(np.eye(3), np.arange(3), score=RAPS(k_reg="auto"))
