"""Draws keyed by row: of any rows, in any order, the same as of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from hypothesis import given
from hypothesis import strategies as st

from infimum import InputError
from infimum.conformal import LAC, calibrate
from infimum.conformal._draws import GAP, row_draws, uniform_draws


@given(
    st.lists(st.one_of(st.integers(0, 50), st.integers(0, 5 * GAP), st.integers(0, 2**40)), max_size=30),
    st.integers(0, 2**40),
)
def test_each_row_has_its_own_draw(rows: list[int], seed: int) -> None:
    drawn = row_draws(seed, "operation", np.array(rows, dtype=np.int64))
    alone = [uniform_draws(seed, "operation", 1, row)[0] for row in rows]
    assert drawn.tolist() == alone


def test_memory_and_time_do_not_depend_on_how_far_rows_lie_apart() -> None:
    rows = np.array([2**60, 0, 2**62])
    assert row_draws(0, "operation", rows).shape == (3,)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([0.0, 1.0]), "whole numbers, one per input, not float64"),
        (np.zeros((2, 1), dtype=int), r"of shape \(2, 1\)"),
        (np.array([3, -1]), "0 or more, not -1"),
    ],
)
def test_rows_are_whole_numbers(rows: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        row_draws(0, "operation", rows)


def test_shuffled_inputs_have_their_levels(toy: Toy) -> None:
    rng = np.random.default_rng(5)
    labelled, operation = toy.outputs(120, rng), toy.outputs(700, rng)
    cal = calibrate(labelled.logits, labelled.labels, seed=3)
    order = rng.permutation(700)
    shuffled = cal.success_levels(operation.logits[order], u=cal.draws_of(order))
    np.testing.assert_array_equal(shuffled, cal.success_levels(operation.logits)[order])
    for made in (
        calibrate(labelled.logits, labelled.labels, randomize=False),
        calibrate(labelled.logits, labelled.labels, score=LAC()),
    ):
        assert made.draws_of(order) is None
