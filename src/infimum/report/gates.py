"""The gates of all networks in Markdown, for the page of a run or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from infimum._text import printable
from infimum.assessment._diagnostics.collect import shortened
from infimum.report.figures import NO_GUARANTEE, verdict
from infimum.report.findings import ignored
from infimum.report.junit import Suite
from infimum.report.markdown import escape, table


def to_summary(suites: Sequence[Suite]) -> str:
    """A table of the gates, what to know of each, and the verdict and the warnings of every network."""
    failed = sum(not gate.passed for suite in suites for gate in suite.gates)
    total = sum(len(suite.gates) for suite in suites)
    said = f"{failed} of {total} gates failed" if failed else "all gates passed"
    rows = [
        (_name(suite), gate.name, "passed" if gate.passed else "FAILED", printable(gate.message))
        for suite in suites
        for gate in suite.gates
    ]
    lines = [f"## Reliability: {said}", "", *table(("network", "gate", "result", "what was found"), rows), ""]
    for suite in suites:
        a = suite.assessment
        lines += [f"**{escape(_name(suite))}**: {escape(verdict(a))}", ""]
        notes = [f"- {gate.name}: {escape(note)}" for gate in suite.gates for note in gate.notes]
        warnings = [f"- warning: {escape(warning)}" for warning in a.warnings]
        left_out = [f"- {escape(line)}" for line in ignored(suite.ignored)]
        if notes or warnings or left_out:
            lines += [*notes, *warnings, *left_out, ""]
    return "\n".join([*lines, NO_GUARANTEE, ""])


def _name(suite: Suite) -> str:
    return shortened(suite.assessment.network)
