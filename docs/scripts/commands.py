"""The reference of the command line, from the program itself, whenever the site is built (a hook of mkdocs)."""

from __future__ import annotations

import re
from typing import Any

MARK = "<!-- the commands stand here in the built site -->"


def cell(text: str) -> str:
    """Text for one cell of a table, whatever it holds."""
    return re.sub(r"([|<>\[\]*_`])", r"\\\1", " ".join(text.split()))


def table(parameters: list[Any]) -> list[str]:
    """One row per option or argument."""
    rows = ["| option | value | what it is |", "| --- | --- | --- |"]
    for p in parameters:
        names = ", ".join([*p.opts, *p.secondary_opts]) if p.param_type_name == "option" else p.human_readable_name
        choices = getattr(p.type, "choices", None)
        shown = p.metavar or ("or ".join("") if choices is None else ", ".join(str(getattr(c, "value", c)) for c in choices))
        if not shown and not getattr(p, "is_flag", False):
            shown = p.type.name
        default = getattr(p.default, "value", p.default)
        stands = default is not None and not callable(default) and not isinstance(default, bool | tuple | list)
        says = (p.help or "") + (" Required." if p.required else f" Default: {default}." if stands else "")
        rows.append(f"| `{names}` | {cell(shown)} | {cell(says)} |")
    return rows


def reference() -> str:
    """Every command with its description, example and options, as Markdown."""
    from typer.main import get_command

    from infimum.cli.main import app

    program = get_command(app)
    lines = []
    for name, command in sorted(program.commands.items()):  # type: ignore[attr-defined]
        words, _, example = (command.help or "").partition("Example")
        lines += [f"## infimum {name}", "", " ".join(words.split()), ""]
        for line in re.findall(r"infimum [^\n]+", example):
            lines += [f"    {line}"]
        lines += ["", *table([p for p in command.params if p.name != "help"]), ""]
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What mkdocs calls for each page."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown
