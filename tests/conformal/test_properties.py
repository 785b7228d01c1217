"""Invariants of the conformal core on inputs full of ties: hypothesis looks for a counterexample."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from infimum.conformal import Calibration, calibrate


def made(problem: dict, rows: slice | np.ndarray = slice(None), **changes: object) -> Calibration:
    p = {**problem, **changes}
    u = p["randomize"]
    return calibrate(
        p["logits"][rows],
        p["labels"][rows],
        score=p["score"],
        randomize=u if isinstance(u, bool) else u[rows],
        temperature=p["temperature"],
    )


def draws(problem: dict) -> np.ndarray | None:
    return None if isinstance(problem["randomize"], bool) else problem["u"]


def literal_loop(counts: np.ndarray, n: int, step: Fraction) -> float:
    """The paper's Algorithm 1: walk ε = δ, 2δ, … to the first one-label set. NaN where there is none."""
    k = 1
    while k * step <= 1:
        if sum(Fraction(int(c), n + 1) > k * step for c in counts) == 1:
            return float(1 - k * step)
        k += 1
    return np.nan


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(["0.01", "0.05", "0.25", "0.3"]))
def test_closed_form_is_the_literal_loop(problem: dict, step: str) -> None:
    cal, u = made(problem), draws(problem)
    counts = cal.p_value_counts(problem["operation"], u)
    expected = [literal_loop(row, cal.n, Fraction(step)) for row in counts]
    got = cal.success_levels(problem["operation"], step=step, u=u, empty="nan")
    np.testing.assert_allclose(got, expected, atol=1e-15, equal_nan=True)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_one_pass_agrees_with_the_sorted_reference(problem: dict) -> None:
    cal, u = made(problem), draws(problem)
    two = cal.top_two(problem["operation"], u)
    counts = cal.p_value_counts(problem["operation"], u)
    ordered = np.sort(counts, axis=1)
    np.testing.assert_array_equal(two.count_top, ordered[:, -1])
    np.testing.assert_array_equal(two.count_second, ordered[:, -2])
    np.testing.assert_array_equal(two.predicted, problem["operation"].argmax(axis=1))
    # All six scores rise with the rank: the predicted class has the largest p-value.
    np.testing.assert_array_equal(counts[np.arange(len(counts)), two.predicted], two.count_top)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_levels_lie_in_their_range(problem: dict) -> None:
    cal = made(problem)
    levels = cal.success_levels(problem["operation"], u=draws(problem))
    assert (levels >= 0).all()
    assert (levels <= cal.n / (cal.n + 1)).all()


@settings(max_examples=100, deadline=None)
@given(problems())
def test_sets_are_nested_in_the_error(problem: dict) -> None:
    cal, u = made(problem), draws(problem)
    previous = np.ones(problem["operation"].shape, dtype=bool)
    for error in ("0.01", "0.05", "0.1", "0.2", "0.5", "0.7", "0.9", "1"):
        now = cal.prediction_sets(problem["operation"], error, u)
        assert (now <= previous).all()
        previous = now
    assert not previous.any()  # ε = 1 leaves nothing


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(-64, 64), st.integers(-64, 64))
def test_a_constant_added_to_a_row_changes_nothing(problem: dict, a: int, b: int) -> None:
    # Sums that are exact in float64, so that the rows differ by a constant and by nothing else.
    logits = np.round(problem["logits"] * 4) / 4
    operation = np.round(problem["operation"] * 4) / 4
    u = draws(problem)
    plain = made(problem, logits=logits).p_value_counts(operation, u)
    moved = made(problem, logits=logits + a / 4).p_value_counts(operation + b / 4, u)
    np.testing.assert_array_equal(plain, moved)


@settings(max_examples=100, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_classes_may_be_renumbered(problem: dict, random: object) -> None:
    """With distinct logits in each row, so that the rule for ties does not depend on the numbering."""
    n_classes = problem["logits"].shape[1]
    order = np.array(random.sample(range(n_classes), n_classes))  # type: ignore[attr-defined]
    tilt = np.arange(n_classes) / 100
    logits, operation = problem["logits"] + tilt, problem["operation"] + tilt
    u = draws(problem)
    plain = made(problem, logits=logits)
    back = np.argsort(order)
    renumbered = made(problem, logits=logits[:, order], labels=back[problem["labels"]])
    np.testing.assert_array_equal(plain.keys, renumbered.keys)
    np.testing.assert_array_equal(
        plain.p_value_counts(operation, u)[:, order], renumbered.p_value_counts(operation[:, order], u)
    )
    np.testing.assert_array_equal(
        plain.top_two(operation, u).count_second, renumbered.top_two(operation[:, order], u).count_second
    )


@settings(max_examples=60, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(problem: dict, random: object) -> None:
    n, m = len(problem["logits"]), len(problem["operation"])
    of_n = np.array(random.sample(range(n), n))  # type: ignore[attr-defined]
    of_m = np.array(random.sample(range(m), m))  # type: ignore[attr-defined]
    u = draws(problem)
    plain = made(problem).p_value_counts(problem["operation"], u)
    mixed = made(problem, of_n).p_value_counts(problem["operation"][of_m], None if u is None else u[of_m])
    np.testing.assert_array_equal(plain[of_m], mixed)


@pytest.mark.parametrize("n_classes", [3, 50])
def test_chunks_do_not_matter(n_classes: int) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(6000, n_classes)) * 3
    cal = calibrate(logits[:200], logits[:200].argmax(axis=1), seed=5)
    whole = cal.success_levels(logits)
    parts = [cal.success_levels(logits[a : a + 777], first_row=a) for a in range(0, 6000, 777)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    p = cal.p_values(logits)
    np.testing.assert_array_equal(p[4000:4100], cal.p_values(logits[4000:4100], first_row=4000))
    np.testing.assert_allclose(1 - np.sort(p, axis=1)[:, -2], whole, atol=1e-15)
