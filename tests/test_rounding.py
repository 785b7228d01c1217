"""Printed bounds never grow, printed intervals never shrink, and printed targets stay what they are."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import toy_assessment

from infimum import Outputs
from infimum._rounding import estimated, floor4, floored, interval, percent, unrounded
from infimum.gates._gates import target_gate
from infimum.report.html import to_html
from infimum.report.markdown import to_markdown
from infimum.testing import assert_reliable

PROBABILITIES = st.floats(0, 1)


@given(PROBABILITIES, st.integers(1, 8))
def test_floored(value: float, digits: int) -> None:
    text = floored(value, digits)
    assert float(text) <= value
    assert Decimal(repr(value)) - Decimal(text) < Decimal(1).scaleb(-digits)
    assert len(text.split(".")[1]) == digits
    assert estimated(value, None) == floor4(value)


@given(PROBABILITIES, PROBABILITIES)
def test_interval_is_rounded_outwards(a: float, b: float) -> None:
    low, high = sorted((a, b))
    shown = interval(low, high)[1:-1].split(", ")
    assert float(shown[0]) <= low
    assert float(shown[1]) >= high


@given(PROBABILITIES)
def test_targets_keep_their_digits(value: float) -> None:
    assert float(unrounded(value)) == value
    assert "e" not in unrounded(value)
    assert (percent(value) == "100 %") == (value == 1)


def test_a_target_is_printed_as_it_was_asked_for() -> None:
    """0.9499996 would be 0.95 with six digits, and a bound of 0.95 - 1e-7 would seem to meet it."""
    a = toy_assessment(n=50, target=0.9499996)
    for text in (to_html(a), to_markdown(a), a.summary(), target_gate(a).message):
        assert "0.9499996" in text.replace("<wbr>", "")
    labels = np.arange(100) % 2
    with pytest.raises(AssertionError, match="0\\.9704871 was asked for"):
        assert_reliable(Outputs(np.eye(2)[labels], labels), at_least=0.9704871)


def test_lambda_is_never_printed_above_its_value() -> None:
    """Every λ of a report stands with its four digits rounded down."""
    a = toy_assessment(n=500, manifold=True, labelled=False)
    for text in (to_html(a), to_markdown(a), a.summary()):
        for value in (a.lambda_.value, a.lambda_operation.value, *(b.value for b in a.certified)):
            assert floor4(value) in text
            above = f"{float(floor4(value)) + 1e-4:.4f}"
            assert f">{above}<" not in text
            assert f"{above} ±" not in text
