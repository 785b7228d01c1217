"""Whatever the values are, no page and no line shows a bound, a λ or the near end of an interval better than it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import toy_assessment

from infimum import Assessment, Comparison, Outputs, compare_assessments
from infimum.assessment._diagnostics.records import Curves, Diagnostics, Proportion
from infimum.certification._certificate import Certificate
from infimum.certification._certify import certify
from infimum.certification._planning import plan
from infimum.comparison._results import Network
from infimum.estimators._side_by_side import Estimates, estimate
from infimum.gates._gates import gates_of
from infimum.report import certificate, estimates
from infimum.report import plan as plans
from infimum.report.charts import risk_chart
from infimum.report.comparison import html as comparison_html
from infimum.report.comparison import markdown as comparison_markdown
from infimum.report.comparison import text as comparison_text
from infimum.report.comparison.words import difference_rows
from infimum.report.gates import to_summary
from infimum.report.html import to_html
from infimum.report.junit import Suite, to_junit
from infimum.report.markdown import to_markdown
from infimum.report.text import to_text

BETWEEN = st.floats(0.7, 0.79, exclude_max=True)
"""Where the figures of these networks do not lie: what is printed there was put there."""


def printed(text: str) -> set[str]:
    """Numbers of four digits or more between 0.7 and 0.8 that a text shows."""
    return set(re.findall(r"(?<![\d.])0\.7\d{3,}", text.replace("<wbr>", "")))


def suite(a: Assessment) -> Suite:
    return Suite(a, gates_of(a), 0.0)


PAGES: dict[str, Callable[[Assessment], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "html": to_html,
    "junit": lambda a: to_junit([suite(a)]),
    "gates": lambda a: to_summary([suite(a)]),
}


@cache
def network() -> Assessment:
    return toy_assessment(3, 200, manifold=True, labelled=False, target=0.65)


@cache
def estimated() -> Estimates:
    cal, ops = (Outputs(4 * np.eye(3)[np.arange(n) % 3], np.arange(n) % 3) for n in (40, 60))
    return estimate(cal, ops)


@pytest.mark.parametrize("page", PAGES)
@settings(max_examples=15, deadline=None)
@given(bound=BETWEEN, λ=BETWEEN, real=BETWEEN, other=BETWEEN)
def test_pages_of_an_assessment(page: str, bound: float, λ: float, real: float, other: float) -> None:
    a = network()
    changed = replace(
        a,
        certified=tuple(replace(b, value=bound) for b in a.certified),
        lambda_=replace(a.lambda_, value=λ, history=()),
        lambda_operation=replace(a.lambda_operation, value=real),
        estimates=tuple(replace(e, value=other) for e in a.estimates),
        fidelity=replace(a.fidelity, lambda_samples=λ, lambda_real=real),
    )
    shown = {float(number) for number in printed(PAGES[page](changed)) - printed(PAGES[page](a))}
    values = {bound, λ, real, other}
    assert shown
    for number in shown:
        assert any(0 <= value - number < 1e-4 for value in values), (number, values)


@settings(max_examples=20, deadline=None)
@given(bound=BETWEEN, λ=BETWEEN)
def test_comparisons_and_certificates(bound: float, λ: float) -> None:
    a = network()
    c = compare_assessments([a, replace(a, network="other")])
    networks = tuple(
        Network(n.name, n.accuracy, n.n_labelled, replace(n.certified, value=bound), λ, 0.001)
        for n in c.networks
    )
    changed: Comparison = replace(c, networks=networks)
    for page in (comparison_text.to_text, comparison_markdown.to_markdown, comparison_html.to_html):
        shown = {float(number) for number in printed(page(changed)) - printed(page(c))}
        assert shown
        assert all(any(0 <= value - number < 1e-4 for value in (bound, λ)) for number in shown), shown
    made: Certificate = replace(_certificate(), bounds=(replace(_certificate().judge, value=bound),))
    shown = {float(number) for number in printed(certificate.to_text(made))}
    assert shown
    assert all(0 <= bound - number < 1e-4 for number in shown)


@cache
def _certificate() -> Certificate:
    return certify(Outputs(np.eye(2)[np.arange(100) % 2], np.arange(100) % 2), target=0.9)


@settings(deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_intervals_of_differences_are_rounded_outwards(a: float, b: float) -> None:
    c = _two()
    low, high = sorted((a, b))
    cell = difference_rows([replace(c.differences[0], low=low, high=high)])[0][3]
    shown = [float(end) for end in cell[1:-1].split(", ")]
    assert shown[0] <= low <= high <= shown[1]
    assert max(low - shown[0], shown[1] - high) < 1.001e-4


@cache
def _two() -> Comparison:
    return compare_assessments([_labelled(), replace(_labelled(), network="other")])


@cache
def _labelled() -> Assessment:
    return toy_assessment(3, 60)


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_intervals_of_errors_are_rounded_outwards(a: float, b: float) -> None:
    d: Diagnostics | Curves = _labelled().diagnostics
    low, high = sorted((a, b))
    point = replace(d.risk_coverage[-1], accuracy=Proportion((low + high) / 2, low, high, 60))
    chart = risk_chart(replace(d, risk_coverage=(point,)))
    for text in (chart.rows[0][3], str(chart.svg)):
        ends = re.search(r"\[([\d.]+)%, ([\d.]+)%\]", text)
        assert float(ends[1]) <= 100 * (1 - high) + 1e-9
        assert float(ends[2]) >= 100 * (1 - low) - 1e-9


@settings(deadline=None)
@given(BETWEEN)
def test_label_free_estimates(value: float) -> None:
    found = estimated()
    changed = replace(found, accuracy=None, estimates=tuple(replace(e, value=value) for e in found.estimates))
    shown = printed(estimates.to_text(changed))
    assert shown
    assert all(0 <= value - float(number) < 1e-4 for number in shown)


@pytest.mark.parametrize("expected", [1, 0.9999999, 0.95, 0.925])
def test_plans_say_what_they_are_for(expected: float) -> None:
    said = re.search(r"if\s+it\s+is\s+(\S+),", plans.to_text(plan(target=0.9, expected=expected)))[1]
    assert float(said) <= expected
    assert said == {1: "1", 0.9999999: "0.999999"}.get(expected, str(expected))
