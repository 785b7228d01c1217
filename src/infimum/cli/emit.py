"""The end of every command that has a result: JSON alone to stdout, or its text, and what was written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol, runtime_checkable

import typer

from infimum.cli.console import note, say, say_json
from infimum.errors import ExitCode


@runtime_checkable
class Result(Protocol):
    """What a command may end with."""

    def to_json(self) -> str:
        """The JSON document."""

    def summary(self) -> str:
        """The text."""


def emit(result: Result, json: str | None, quiet: bool, written: Sequence[Path] = ()) -> None:
    """Print the JSON document alone where --json is -, else the text and what was written, unless quiet."""
    if json == "-":
        say_json(result.to_json())
    elif not quiet:
        say(result.summary(), end="\n" if written else "")
        if written:
            note("written", ", ".join(map(str, written)))


def end(code: ExitCode) -> NoReturn:
    """End the command with this code."""
    raise typer.Exit(int(code))
