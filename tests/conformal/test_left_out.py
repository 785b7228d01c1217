"""Leave-one-out counts against calibrations that are made without the row."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from infimum.conformal import RAPS, calibrate
from infimum.conformal.draws import uniform_draws
from infimum.conformal.left_out import calibration_rows, left_out_counts


@settings(deadline=None)
@given(problems(), st.booleans())
def test_counts_are_those_of_a_calibration_without_the_row(problem: dict, randomize: bool) -> None:
    logits, labels = problem["logits"], problem["labels"]
    if len(labels) < 3:
        return
    settings = {"score": problem["score"], "temperature": problem["temperature"]}
    conformal = calibrate(logits, labels, randomize=randomize, seed=5, **settings)
    u = uniform_draws(5, "calibration", len(labels)) if conformal.randomize else np.ones(len(labels))
    found = left_out_counts(conformal, logits, labels)
    for row in range(len(labels)):
        rest = np.arange(len(labels)) != row
        draws = u[rest] if conformal.randomize else False
        without = calibrate(logits[rest], labels[rest], randomize=draws, **settings)
        one = without.top_two(logits[row : row + 1], u[row : row + 1])
        assert [int(x[row]) for x in found] == [int(x[0]) for x in one]


def test_rows_set_aside_for_tuning_are_not_among_them() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(50, 4)), rng.integers(4, size=50)
    tuned = calibrate(z, y, score=RAPS(k_reg="auto"), seed=3)
    rows = calibration_rows(tuned, 50)
    assert len(rows) == tuned.n == 40
    u = uniform_draws(3, "calibration", 50)[rows]
    again = calibrate(z[rows], y[rows], score=tuned.score, randomize=u)
    np.testing.assert_array_equal(again.keys, tuned.keys)
    assert len(left_out_counts(tuned, z, y).predicted) == 40
