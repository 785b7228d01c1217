"""The Markdown summary of gates: what it says, and that hostile text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from reports import HOSTILE, hostile_findings, toy_assessment

from infimum import Assessment
from infimum.gates._gates import Gate, gates_of
from infimum.report.gates import to_summary
from infimum.report.junit import Suite


@pytest.fixture(scope="module")
def good() -> Assessment:
    return toy_assessment(4, 500, target=0.3, name="good")


def test_gates_verdicts_and_warnings_of_all_networks(good: Assessment) -> None:
    bad = toy_assessment(4, 500, target=0.999, name="bad")
    text = to_summary([Suite(a, gates_of(a), 0.0) for a in (good, bad)])
    assert text.startswith("## Reliability: 1 of 2 gates failed\n")
    assert re.search(
        r"^\| good \| target \| passed \| at least 0\.\d{4} with 95 % confidence", text, re.MULTILINE
    )
    assert re.search(r"^\| bad \| target \| FAILED \| .* but 0.999 was asked for \|$", text, re.MULTILINE)
    assert re.search(r"^- target: .*labels", text, re.MULTILINE)
    assert "**bad**: Target 0.999: NOT met." in text
    assert all(f"- warning: {w}" in text.replace("\\", "") for w in good.warnings)
    assert text.endswith("is often above the true success probability.\n")
    assert to_summary([Suite(good, gates_of(good), 0.0)]).startswith("## Reliability: all gates passed\n")


def test_a_target_met_where_the_inputs_are_not_alike(good: Assessment) -> None:
    unlike = replace(good, exchangeability=replace(good.exchangeability, p_value=0.002))
    text = to_summary([Suite(unlike, gates_of(unlike), 0.0)])
    assert text.count("which a test REJECTS") == 2  # in the table and in the verdict
    assert "| FAILED |" not in text
    assert "| alike | FAILED |" in to_summary([Suite(unlike, gates_of(unlike, require_alike=True), 0.0)])


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_text(good: Assessment, hostile: str) -> None:
    found = hostile_findings(hostile)
    a = replace(good, network=hostile, findings=found)
    text = to_summary([Suite(a, (Gate("target", True, found[1], found),), 0.0)])
    assert not re.search(r"<\w", text)
    assert sum(line.startswith("|") for line in text.splitlines()) == 3
    text.encode()
