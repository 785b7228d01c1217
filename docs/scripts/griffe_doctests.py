"""A doctest that closes a docstring becomes its own section: numpy's format would read it as one more exception."""

from __future__ import annotations

from typing import Any

import griffe


def with_section(text: str) -> str:
    """The docstring with a heading before its first doctest, where a section with entries stands before it."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(">>> ")), None)
    underlined = first is not None and any(set(line) == {"-"} for line in lines[:first])
    if first is None or not underlined:
        return text
    return "\n".join([*lines[:first], "Examples", "--------", *lines[first:]])


class Doctests(griffe.Extension):
    """Gives closing doctests a section of their own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = with_section(obj.docstring.value)
