"""How `--manifold auto` chose: the candidates as a table."""

from __future__ import annotations

from infimum._rounding import signed
from infimum._text import printable
from infimum.manifold._selection import Candidate, ManifoldChoice

HEAD = ("manifold", "λ on samples − λ held out", "log-likelihood", "verdict")


def selection_title(s: ManifoldChoice) -> str:
    """What the table shows; why one was chosen is among the notes."""
    return f"Candidates of manifold auto, each judged on features that it was not fitted to ({s.n} in all)"


def selection_rows(s: ManifoldChoice) -> list[tuple[str, ...]]:
    """A row per candidate under HEAD; nothing is shown of what was not computed."""
    return [
        (
            printable(c.name),
            ""
            if c.difference is None or c.standard_error is None
            else f"{signed(c.difference)} ± {c.standard_error:.4f}",
            "" if c.log_likelihood is None else f"{c.log_likelihood:.3f}",
            "chosen" if c.passed and c.name == s.chosen else verdict(c),
        )
        for c in s.candidates
    ]


VERDICTS = {
    "passed": "passed",
    "too-dear": "not tried: a step of EM would take seconds",
    "collapsed": "out: its components no longer stand for the classes",
    "lambda-differs": "out: λ differs by more than 0.01 and two standard errors",
    "no-density": "out: some held-out logits have no density",
}


def verdict(c: Candidate) -> str:
    """What became of a candidate."""
    return VERDICTS.get(c.verdict, f"not possible: {printable(c.why)}")


def selection_table(s: ManifoldChoice) -> list[str]:
    """Lines of the table in plain text."""
    rows = [HEAD, *selection_rows(s)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
