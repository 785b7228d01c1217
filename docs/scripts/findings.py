"""The table of docs/findings.md: every code, its level, meaning and advice. `check` fails where it is not of today."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from infimum.report.findings import CODES, WHAT_TO_DO

PAGE = Path(__file__).parents[1] / "findings.md"
SOURCE = Path(__file__).parents[2] / "src" / "infimum"
HEAD = "| code | level | what it means | what to do |\n| --- | --- | --- | --- |\n"


def levels() -> dict[str, str]:
    """The level of each code, from where findings are made: `warning("code", …)` or `note("code", …)`."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "cli"):  # its note("written", …) prints a line, and makes no finding
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in ("note", "warning") and isinstance(first, ast.Constant):
                    found.setdefault(str(first.value), set()).add(node.func.id)
    if two := [code for code in CODES if len(found.get(code, ())) != 1]:
        raise ValueError(f"these codes are made nowhere, or with two levels: {two}")
    return {code: found[code].pop() for code in CODES}


def table() -> str:
    """A row for every code, in the order of the alphabet."""
    level = levels()
    rows = [f"| `{c}` | {level[c]} | {CODES[c].meaning} | {WHAT_TO_DO[c]} |\n" for c in sorted(CODES)]
    return HEAD + "".join(rows)


def with_table(page: str) -> str:
    """The page with the table of today."""
    return page[: page.index("| code |")] + table()


if __name__ == "__main__":
    now = PAGE.read_text(encoding="utf-8")
    if sys.argv[1:] == ["check"]:
        sys.exit(0 if with_table(now) == now else f"{PAGE} is not of today: python {sys.argv[0]}")
    PAGE.write_text(with_table(now), encoding="utf-8")
