"""A comparison as Markdown, for pull requests and archives."""

from __future__ import annotations

from infimum.comparison._results import Comparison
from infimum.report.comparison import words
from infimum.report.figures import NO_GUARANTEE
from infimum.report.findings import ignored
from infimum.report.markdown import escape, table


def to_markdown(c: Comparison) -> str:
    """The content of the HTML page without the chart."""
    lines = ["# Networks compared", "", f"**{escape(words.headline(c))}**", ""]
    lines += [escape(words.unsettled(c)), "", words.how(c), ""]
    lines += [*table(words.NETWORK_HEAD, words.network_rows(c)), ""]
    lines += [words.preservation(c), "", words.multiplicity(c), "", NO_GUARANTEE, ""]
    if c.warnings:
        lines += ["## Warnings", "", *(f"- {escape(w)}" for w in c.warnings), ""]
    if c.ignored:
        lines += [*map(escape, ignored(c.ignored)), ""]
    if c.differences:
        lines += [
            "## Differences",
            "",
            *table(words.DIFFERENCE_HEAD, words.difference_rows(c.differences)),
            "",
        ]
    if c.notes:
        lines += ["## Notes", "", *(f"- {escape(n)}" for n in c.notes), ""]
    return "\n".join(lines)
