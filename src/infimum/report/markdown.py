"""An assessment as Markdown, for pull requests and archives."""

from __future__ import annotations

import re

from infimum.report.figures import NO_GUARANTEE, facts, figures, verdict
from infimum.results import Assessment


def to_markdown(a: Assessment) -> str:
    """The same content as the terminal summary."""
    lines = [f"# Reliability of {escape(a.network)}", "", f"**{escape(verdict(a))}**", ""]
    lines += ["| figure | value | rests on |", "| --- | --- | --- |"]
    for row in figures(a):
        value = f"**{row.value}**" if row.holds else row.value
        lines.append(f"| {row.label} | {value} | {row.about} |")
    lines += ["", NO_GUARANTEE, ""]
    if a.warnings:
        lines += ["## Warnings", "", *(f"- {escape(w)}" for w in a.warnings), ""]
    lines += ["## How it was made", "", *(f"- {escape(line)}" for line in (*facts(a), *a.notes))]
    bound_lines = [f"- {escape(b.method)}: {'; '.join(b.assumptions)}" for b in a.certified]
    lines += ["", "## What the certified bounds assume", "", *bound_lines]
    versions = ", ".join(f"{key} {value}" for key, value in a.provenance.items())
    return "\n".join([*lines, "", f"Made with {escape(versions)}.", ""])


def escape(text: str) -> str:
    r"""Text from outside as plain Markdown text: no markup, no HTML, one line.

    >>> escape("<b>|*x*")
    '&lt;b&gt;\\|\\*x\\*'
    """
    one_line = "".join(c if c.isprintable() else " " for c in text)
    one_line = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", one_line)
