"""Leave-one-out counts against calibrations that are made without the row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from infimum.conformal import APS, LAC, RAPS, Score, calibrate
from infimum.conformal._draws import uniform_draws
from infimum.conformal._left_out import calibration_rows, left_out_counts


@settings(deadline=None)
@given(problems(), st.booleans())
@pytest.mark.usefixtures("without_type_checks")
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


@pytest.mark.parametrize("score", [LAC(), APS(), RAPS(penalty=0.1, k_reg=2), RAPS(penalty=0.1, k_reg="auto")])
@pytest.mark.parametrize("randomize", [False, True])
def test_counts_by_the_definition_of_the_scores(score: Score, randomize: bool) -> None:
    """S from docs/method.md §2, u of the row's own number, a count of the other rows' scores: no code of infimum."""
    rng = np.random.default_rng(8)
    z, y = 2 * rng.normal(size=(300, 5)), rng.integers(5, size=300)
    made = calibrate(z, y, score=score, randomize=randomize, seed=4)
    rows = calibration_rows(made, 300)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    u = uniform_draws(4, "calibration", 300) if made.randomize else np.ones(300)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    if isinstance(score, LAC):
        by_rank = 1 - ranked
    else:
        by_rank = np.cumsum(ranked, axis=1) - ranked + u[:, None] * ranked
        if isinstance(score, RAPS):
            by_rank += 0.1 * np.maximum(0, np.arange(1, 6) - made.score.k_reg)
    own = by_rank[rows, (order == y[:, None]).argmax(axis=1)[rows]]
    others = ~np.eye(len(rows), dtype=bool)
    found = left_out_counts(made, z, y)
    for rank, counts in enumerate((found.count_top, found.count_second)):
        # Equal as they are, or a row's own score, is at least itself; the rest differ by more than rounding.
        atleast = own[None, :] >= by_rank[rows, rank][:, None] - 1e-12
        np.testing.assert_array_equal(counts, 1 + (atleast & others).sum(axis=1))
    np.testing.assert_array_equal(found.predicted, order[rows, 0])
