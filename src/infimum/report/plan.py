"""A plan for the terminal: one row per method, labels for each probability of success."""

from __future__ import annotations

import textwrap

from infimum._rounding import floored, percent, unrounded
from infimum._text import in_brief, printable
from infimum.certification._planning import Need, Plan
from infimum.report.text import WIDTH
from infimum.report.wording import named

EXACT = (
    "Clopper–Pearson is exact: from the number given on, any number of labels does; in brackets the smallest that "
    "does (the power is a saw-tooth). The others are simulated; in brackets, what the simulation's error (± 2 standard "
    "errors) leaves open. anytime: labels after which the sequential certificate is reached; often far fewer do."
)

APPROXIMATE = "*: the confidence holds only in the limit of many labels."


def to_text(p: Plan) -> str:
    """What is planned for, the table, how to read it, and what it rests on."""
    about = (
        f"Labels needed to show a reliability of {unrounded(p.target)} with {percent(p.confidence)} confidence, "
        f"if it is {floored(p.expected, 6).rstrip('0').rstrip('.')}, by probability of success:"
    )
    rows = [("", *(unrounded(need.success) for need in p.methods[0].needs))]
    for m in p.methods:
        star = "*" if m.validity == "asymptotic" else ""
        rows.append((named(m.method) + star, *(_cell(need, m.n[-1], m.exact) for need in m.needs)))
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [*textwrap.wrap(about, WIDTH), ""]
    lines += [
        (
            "  "
            + f"{row[0]:<{width[0]}}"
            + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], width[1:], strict=True))
        )
        for row in rows
    ]
    lines += ["", *textwrap.wrap(EXACT, WIDTH)]
    if any(m.validity == "asymptotic" for m in p.methods):
        lines.append(APPROXIMATE)
    for head, items in (("note", p.notes), ("warning", p.warnings)):
        for item in items:
            lines += textwrap.wrap(f"{head}: {in_brief(item)}", WIDTH, subsequent_indent="  ")
    return "\n".join(map(printable, lines)) + "\n"


def _cell(need: Need, most: int, exact: bool) -> str:
    if need.labels is None:
        return f"> {most}"
    if exact:
        return f"{need.labels} ({need.low})"
    return f"{need.labels} ({need.low or '?'}–{need.high or '?'})"
