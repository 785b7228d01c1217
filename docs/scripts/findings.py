"""The table of docs/findings.md: every code and what it means. `check` fails where the page is not of today."""

from __future__ import annotations

import sys
from pathlib import Path

from infimum.report.findings import CODES

PAGE = Path(__file__).parents[1] / "findings.md"
HEAD = "| code | what it means |\n| --- | --- |\n"


def table() -> str:
    """A row for every code, in the order of the alphabet."""
    return HEAD + "".join(f"| `{code}` | {CODES[code].meaning} |\n" for code in sorted(CODES))


def with_table(page: str) -> str:
    """The page with the table of today."""
    return page[: page.index(HEAD)] + table()


if __name__ == "__main__":
    now = PAGE.read_text(encoding="utf-8")
    if sys.argv[1:] == ["check"]:
        sys.exit(0 if with_table(now) == now else f"{PAGE} is not of today: python {sys.argv[0]}")
    PAGE.write_text(with_table(now), encoding="utf-8")
