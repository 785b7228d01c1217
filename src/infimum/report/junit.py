"""Gates as JUnit XML, which every continuous integration shows: a suite per network, a test case per gate.

The file is valid against both schemas in use, that of Ant and that of Jenkins: what a reader should know besides
stands in the suite's system-out, which both allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from infimum._text import in_brief, printable
from infimum.assessment._results import Assessment
from infimum.gates._gates import Gate
from infimum.report.figures import NO_GUARANTEE, verdict
from infimum.report.wording import p_of_labels, p_of_permutations


class Suite(NamedTuple):
    """An assessment, its gates, and the seconds that it took."""

    assessment: Assessment
    gates: tuple[Gate, ...]
    seconds: float


def to_junit(suites: Sequence[Suite]) -> str:
    """The document, as text. An assessment without a gate has one test case that was skipped."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    root = Xml.Element("testsuites")
    for number, suite in enumerate(suites):
        root.append(_suite(suite, number, now))
    Xml.indent(root)
    body = Xml.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(suite: Suite, number: int, now: str) -> Xml.Element:
    a = suite.assessment
    name = printable(a.network).strip() or "network"  # the schema asks for one letter at least
    seconds = f"{suite.seconds:.3f}"
    element = Xml.Element(
        "testsuite",
        name=name,
        package="infimum",
        id=str(number),
        hostname="localhost",
        timestamp=now,
        time=seconds,
        tests=str(max(1, len(suite.gates))),
        failures=str(sum(not gate.passed for gate in suite.gates)),
        errors="0",
        skipped=str(int(not suite.gates)),
    )
    bound = a.judge
    properties = Xml.SubElement(element, "properties")
    for key, value in (
        ("certified bound", repr(bound.value)),
        ("confidence", repr(bound.confidence)),
        ("lambda (an estimate)", repr(a.lambda_.value)),
        ("calibration and operation alike", _likeness(a)),
    ):
        Xml.SubElement(properties, "property", name=key, value=value)
    for gate in suite.gates:
        case = Xml.SubElement(element, "testcase", classname=f"infimum.{name}", name=gate.name, time=seconds)
        if not gate.passed:
            said = in_brief(gate.message)
            failure = Xml.SubElement(case, "failure", message=said, type=f"infimum.{gate.name}")
            failure.text = "\n".join([said, *map(printable, gate.notes)])
    if not suite.gates:
        case = Xml.SubElement(element, "testcase", classname=f"infimum.{name}", name="target", time=seconds)
        Xml.SubElement(case, "skipped")
    notes = [note for gate in suite.gates if gate.passed for note in gate.notes]
    warnings = [f"warning: {warning}" for warning in a.warnings]
    lines = [verdict(a), *(gate.message for gate in suite.gates), *notes, *warnings, NO_GUARANTEE]
    Xml.SubElement(element, "system-out").text = "\n".join(map(printable, lines))
    Xml.SubElement(element, "system-err")
    return element


def _likeness(a: Assessment) -> str:
    if a.exchangeability is None:
        return "not tested"
    said = "REJECTED" if a.exchangeability.rejected else "no difference found"
    measured = a.measured
    of_labels = (
        ""
        if measured is None or not measured.rejected
        else f"; labels: REJECTED (p {p_of_labels(measured.p_value)})"
    )
    p = p_of_permutations(a.exchangeability.p_value, a.exchangeability.permutations)
    return f"{said} (p {p}){of_labels}"
