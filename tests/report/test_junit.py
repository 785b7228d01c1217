"""JUnit XML: read back, by the rules of both schemas, with hostile text."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from reports import HOSTILE, hostile_findings, toy_assessment

from infimum.gates._gates import Gate, gates_of, target_gate
from infimum.report.junit import Suite, to_junit

# What Ant's schema allows, which is the stricter of the two: children in this order, these attributes, all needed.
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase", "system-out", "system-err"],
    "properties": ["property"],
    "testcase": ["skipped", "error", "failure"],
}
ATTRIBUTES = {
    "testsuites": set(),
    "testsuite": {
        "package",
        "id",
        "name",
        "timestamp",
        "hostname",
        "tests",
        "failures",
        "errors",
        "skipped",
        "time",
    },
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
}


def check(text: str) -> ElementTree.Element:
    """Read the document, and raise unless it is as the schema says."""
    root = ElementTree.fromstring(text)  # noqa: S314
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed = CHILDREN.get(element.tag, [])
        order = [allowed.index(child.tag) for child in element]
        assert order == sorted(order)
        assert set(element.attrib) == ATTRIBUTES.get(element.tag, set())
    for suite in root:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
        assert [c.tag for c in suite][-2:] == ["system-out", "system-err"]
        assert len(suite.findall("testcase")) == int(suite.get("tests"))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
        assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped"))
        float(suite.get("time"))
    return root


@pytest.fixture(scope="module")
def assessments() -> list:
    return [toy_assessment(4, 500, target=t) for t in (0.3, 0.999, None)]


def test_met_missed_and_no_target(assessments: list) -> None:
    gates = [target_gate(a) for a in assessments]
    suites = [
        Suite(a, () if gate is None else (gate,), 1.5) for a, gate in zip(assessments, gates, strict=True)
    ]
    root = check(to_junit(suites))
    cases = [suite.find("testcase") for suite in root]
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["skipped"]]
    assert cases[0].get("time") == "1.500"
    failure = cases[1].find("failure")
    assert "but 0.999 was asked for" in failure.get("message")
    assert "labels" in failure.text
    for suite, a in zip(root, assessments, strict=True):
        said = suite.find("system-out").text
        assert "λ is an estimate, not a guarantee" in said
        assert all(f"warning: {w}" in said for w in a.warnings)
        assert float(suite.find("properties/property").get("value")) == a.certified[0].value


@pytest.mark.parametrize("hostile", [*HOSTILE, " "])
def test_hostile_text_stays_text(assessments: list, hostile: str) -> None:
    found = hostile_findings(hostile)
    a = replace(assessments[1], network=hostile, findings=found)
    gates = (Gate("baseline", False, found[1], found), Gate("target", True, found[0], found))
    root = check(to_junit([Suite(a, gates, 0.0)]))
    to_junit([Suite(a, gates, 0.0)]).encode()
    assert len(root) == 1
    assert root[0].get("name").strip()
    assert len(root[0].findall("testcase")) == 2


def test_a_target_met_where_the_inputs_are_not_alike(assessments: list) -> None:
    a = assessments[0]
    assert a.target.met
    unlike = replace(a, exchangeability=replace(a.exchangeability, p_value=0.002, level=0.01))
    untested = replace(a, exchangeability=None)
    suites = [Suite(x, gates_of(x), 0.0) for x in (a, unlike, untested)]
    suites.append(Suite(unlike, gates_of(unlike, require_alike=True), 0.0))
    root = check(to_junit(suites))
    likeness = [
        suite.find("properties/property[@name='calibration and operation alike']").get("value")
        for suite in root
    ]
    assert likeness[0].startswith("no difference found (p ")
    assert likeness[1:] == ["REJECTED (p ≤ 0.002)", "not tested", "REJECTED (p ≤ 0.002)"]
    assert [suite.get("failures") for suite in root] == ["0", "0", "0", "1"]
    assert "met, but only if" not in root[0].find("system-out").text
    assert "met, but only if" in root[1].find("system-out").text
    assert [case.get("name") for case in root[3].findall("testcase")] == ["target", "alike"]
    assert "NOT alike" in root[3].findall("testcase")[1].find("failure").get("message")
