"""An assessment as Markdown, for pull requests and archives."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infimum._rounding import floor4, interval, unrounded
from infimum._text import printable
from infimum.assessment._diagnostics.classes import badness
from infimum.assessment._diagnostics.collect import shortened
from infimum.assessment._diagnostics.records import Curves, Diagnostics, Proportion
from infimum.assessment._results import Assessment
from infimum.report.figures import (
    FIDELITY,
    NO_GUARANTEE,
    ON_CALIBRATION,
    facts,
    fidelity_rows,
    figures,
    verdict,
)
from infimum.report.findings import ignored
from infimum.report.provenance import provenance_rows
from infimum.report.selection import HEAD, selection_rows, selection_title

WORST = 10
"""Rows of each of the tables of what does worst: a comment on a pull request has no room for all."""


def to_markdown(a: Assessment) -> str:
    """The content of the HTML page without the charts; the longer tables hold the ten worst rows."""
    lines = [f"# Reliability of {escape(shortened(a.network))}", "", f"**{escape(verdict(a))}**", ""]
    lines += ["| figure | value | rests on |", "| --- | --- | --- |"]
    for row in figures(a):
        value = f"**{row.value}**" if row.holds else row.value
        lines.append(f"| {escape(row.label)} | {value} | {escape(row.about)} |")
    lines += ["", NO_GUARANTEE, ""]
    if a.warnings:
        lines += ["## Warnings", "", *(f"- {escape(w)}" for w in a.warnings), ""]
    if a.ignored:
        lines += [*map(escape, ignored(a.ignored)), ""]
    if a.diagnostics is not None:
        lines += [*_thresholds(a.curves), *_worst(a.diagnostics)]
    likeness = fidelity_rows(a)
    if likeness:
        lines += ["## Does the manifold look like the data?", "", FIDELITY, ""]
        lines += [*table(("on features held out", "value"), likeness), ""]
    lines += ["## How it was made", "", *(f"- {escape(line)}" for line in (*facts(a), *a.notes))]
    if a.selection is not None and a.selection.candidates:
        lines += ["", selection_title(a.selection), "", *table(HEAD, selection_rows(a.selection))]
    bound_lines = [f"- {escape(b.method)}: {'; '.join(map(escape, b.assumptions))}" for b in a.certified]
    lines += ["", "## What the certified bounds assume", "", *bound_lines, ""]
    lines += ["## Provenance", "", *table(("of", "value"), provenance_rows(a))]
    return "\n".join(lines)


def _thresholds(d: Diagnostics | Curves | None) -> list[str]:
    if d is None or not d.wanted:
        return []
    rows = []
    for w in d.wanted:
        if w.reached is None:
            rows.append((unrounded(w.wanted), "none", "", ""))
        else:
            at = w.reached
            rows.append(
                (unrounded(w.wanted), floor4(at.threshold), f"{at.coverage:.2%}", _accuracy(at.accuracy))
            )
    head = ("wanted accuracy", "accept λ(x) ≥", "coverage", "accuracy there [95 %]")
    said = "Chosen and measured on the same inputs: a guide, not a guarantee."
    said = f"{ON_CALIBRATION} {said}" if isinstance(d, Curves) else said
    return ["## Threshold on λ(x) for a wanted accuracy", "", said, "", *table(head, rows), ""]


def _worst(d: Diagnostics) -> list[str]:
    lines = ["## Where it does worst", ""]
    labels = ("precision [95 %]", "recall [95 %]") if d.labelled else ()
    rows = [
        (
            c.name,
            "–" if c.level is None else floor4(c.level),
            *((_accuracy(c.precision), _accuracy(c.recall)) if d.labelled else ()),
            str(c.predicted),
        )
        for c in sorted(d.classes, key=badness)[:WORST]
    ]
    lines += [*table(("class", "mean λ(x) if predicted", *labels, "predicted"), rows), ""]
    if d.slices:
        head = (
            "predicted",
            "runner-up",
            *(("accuracy [95 %]",) if d.labelled else ()),
            "mean λ(x)",
            "inputs",
        )
        rows = [
            (
                s.predicted,
                s.runner_up,
                *((_accuracy(s.accuracy),) if d.labelled else ()),
                floor4(s.level),
                str(s.n),
            )
            for s in d.slices[:WORST]
        ]
        lines += [*table(head, rows), ""]
    if d.lowest:
        head = ("row", "id", "λ(x)", "predicted", *(("label",) if d.labelled else ()))
        rows = [
            (
                str(x.row),
                "–" if x.id is None else x.id,
                floor4(x.level),
                x.predicted,
                *((x.label or "",) if d.labelled else ()),
            )
            for x in d.lowest[:WORST]
        ]
        lines += ["Inputs of lowest success level:", "", *table(head, rows), ""]
    return lines


def _accuracy(p: Proportion | None) -> str:
    return "–" if p is None else f"{p.value:.4f} {interval(p.low, p.high, 3)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table; the cells are escaped."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return lines + [f"| {' | '.join(map(escape, row))} |" for row in rows]


def escape(text: str) -> str:
    r"""Text from outside as plain Markdown text: no markup, no HTML, one line, nobody notified.

    >>> escape("<b>|*x*")
    '&lt;b&gt;\\|\\*x\\*'
    >>> escape("@name, #12")
    '@&#8203;name, \\#&#8203;12'
    """
    one_line = printable(text)
    one_line = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    one_line = re.sub(r"([\\`*_\[\]|#])", r"\\\1", one_line)
    # A letter without width after @ and #: else GitHub notifies who is called so, and links issues of that number.
    return re.sub(r"([@#])(?=\w)", r"\1&#8203;", one_line)
