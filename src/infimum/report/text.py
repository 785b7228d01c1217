"""An assessment for the terminal: plain text, no colour needed to read it."""

from __future__ import annotations

import textwrap

from infimum._text import in_brief, printable
from infimum.assessment._results import Assessment
from infimum.report.figures import NO_GUARANTEE, facts, figures, verdict
from infimum.report.findings import ignored
from infimum.report.selection import selection_table, selection_title

WIDTH = 100


def to_text(a: Assessment) -> str:
    """Verdict, figures, what λ is not, how it was made, notes and warnings."""
    rows = figures(a)
    label = max(len(row.label) for row in rows)
    value = max(len(row.value) for row in rows)
    lines = [in_brief(a.network), "", *textwrap.wrap(verdict(a), WIDTH), ""]
    lines += [f"  {r.label:<{label}}  {r.value:<{value}}  {r.about}" for r in rows]
    lines += ["", *textwrap.wrap(NO_GUARANTEE, WIDTH), ""]
    for fact in facts(a):
        lines += textwrap.wrap(fact, WIDTH)
    if a.selection is not None and a.selection.candidates:
        lines += ["", selection_title(a.selection), "", *selection_table(a.selection), ""]
    for head, items in (("note", a.notes), ("warning", a.warnings)):
        for item in items:
            lines += textwrap.wrap(f"{head}: {in_brief(item)}", WIDTH, subsequent_indent="  ")
    lines += ignored(a.ignored)
    return "\n".join(map(printable, lines)) + "\n"
