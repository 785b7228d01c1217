"""A comparison for the terminal: plain text, no colour needed to read it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from infimum._text import in_brief, printable
from infimum.comparison._results import Comparison
from infimum.report.comparison import words
from infimum.report.figures import NO_GUARANTEE
from infimum.report.findings import ignored
from infimum.report.text import WIDTH

LONGEST = 40
"""Letters of a cell of the table; names that are longer are cut, the reports hold them whole."""


MOST = 24
"""Rows of the table of pairs: of more, those of networks that stand next to one another are shown."""


def to_text(c: Comparison) -> str:
    """Headline, table of networks, pairs, what is not settled, notes and warnings."""
    lines = [*_wrapped(words.headline(c)), *_wrapped(words.unsettled(c)), *_wrapped(words.how(c)), ""]
    lines += _table(words.NETWORK_HEAD, words.network_rows(c))
    if c.differences:
        shown = words.neighbours(c) if len(c.differences) > MOST else c.differences
        rows = [row[:-1] for row in words.difference_rows(shown)]
        lines += ["", *_table(words.DIFFERENCE_HEAD[:-1], rows)]
        if len(shown) < len(c.differences):
            lines += _wrapped(
                f"{len(shown)} of {len(c.differences)} pairs, of networks next to one another in the ranking; the "
                "reports and the JSON hold all"
            )
    lines += ["", *_wrapped(words.preservation(c)), *_wrapped(words.multiplicity(c)), *_wrapped(NO_GUARANTEE)]
    for head, items in (("note", c.notes), ("warning", c.warnings)):
        for item in items:
            lines += _wrapped(f"{head}: {in_brief(item)}")
    lines += ignored(c.ignored)
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(printable(text), WIDTH, subsequent_indent="  ")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [list(head), *([_cut(printable(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return [
        ("  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in cells
    ]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
