"""The reference of the command line, from the program itself, whenever the site is built (a hook of mkdocs)."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any

from infimum._grammar import Kind, written_values
from infimum.cli.objects import filled, registry

MARK = "<!-- the commands stand here in the built site -->"

OPTIONS_MARK = "<!-- the options stand here in the built site -->"

OPTIONS = {
    "--score": "SCORES",
    "--levels": "LEVELS",
    "--manifold": "MANIFOLDS",
    "--sampling": "SAMPLINGS",
    "--method": "JUDGES",
    "--images": "IMAGES",
    "--network": "NETWORKS",
    "--labels": "LABELS",
}
"""Whose registry is which."""


def cell(text: str) -> str:
    """Text for one cell of a table, whatever it holds."""
    return re.sub(r"([|<>\[\]*_`])", r"\\\1", " ".join(text.split()))


def value_of(kind: Any, metavar: str | None) -> str:
    """What an option takes: its placeholder, its choices, or its type."""
    if metavar:
        return metavar
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(k for k in typing.get_args(kind) if k is not type(None))
    if typing.get_origin(kind) is list:
        kind = typing.get_args(kind)[0]
    if kind is bool:
        return ""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(choice.value) for choice in kind)
    return {int: "whole number", float: "number", str: "text"}.get(kind, "path")


def row(name: str, hint: Any, default: Any) -> str:
    """One option or argument: names, what it takes, what it is."""
    kind, info = typing.get_args(hint)[:2]
    # In Annotated[...], typer.Option's first argument is a name too, not a default.
    first = [info.default] if isinstance(info.default, str) and info.default.startswith("-") else []
    names = [*first, *(info.param_decls or ())] or ["--" + name.replace("_", "-")]
    if type(info).__name__ == "ArgumentInfo":
        names, value = [(info.metavar or name).strip("[].").upper()], ""
    else:
        value = value_of(kind, info.metavar)
    shown = getattr(default, "value", default)
    says = filled(info.help or "")
    if default is inspect.Parameter.empty:
        says += " Required."
    elif shown is not None and not isinstance(shown, bool | list | tuple):
        says += f" Default: {shown}."
    return f"| `{', '.join(names)}` | {cell(value)} | {cell(says)} |"


def section(name: str, command: Callable[..., Any]) -> list[str]:
    """One command: what it does, an example, its options."""
    words, *examples = re.split(r"Examples?:", inspect.getdoc(command) or "", maxsplit=1)
    lines = [f"## infimum {name}", "", " ".join(words.split()), ""]
    lines += [f"    {line.strip()}" for line in re.findall(r"infimum [^\n]+", "".join(examples))]
    lines += ["", "| option | value | what it is |", "| --- | --- | --- |"]
    hints = typing.get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    known = [p for p in parameters if typing.get_origin(hints.get(p.name)) is typing.Annotated]
    return [*lines, *(row(p.name, hints[p.name], p.default) for p in known), ""]


def reference() -> str:
    """Every command with its description, example and options, as Markdown."""
    from infimum.cli.app import app

    functions = {command.callback.__name__: command.callback for command in app.registered_commands}  # type: ignore[union-attr]
    return "\n".join(line for name in sorted(functions) for line in section(name, functions[name]))


def options() -> str:
    """Every option that is an object: the names it takes, their parameters, and the class in Python."""
    lines = ["| option | name | parameters | in Python |", "| --- | --- | --- | --- |"]
    for option, known in OPTIONS.items():
        for name, kind in registry(known).kinds.items():
            shown = "" if registry(known).default else f"`{name}`"
            lines.append(f"| `{option}` | {shown} | {parameters(kind)} | {in_python(kind)} |")
    return "\n".join(lines)


def parameters(kind: Kind[Any]) -> str:
    """Each with what it takes."""
    return ", ".join(f"`{key}=`{cell(written_values(kind, key))}" for key in kind.hints)


def in_python(kind: Kind[Any]) -> str:
    """The class of what a kind makes, unless it is the command line's own."""
    made = type(kind.make())
    return "" if made.__module__.startswith("infimum.cli") else f"`{made.__name__}`"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls for each page."""
    for mark, made in ((MARK, reference), (OPTIONS_MARK, options)):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return markdown
