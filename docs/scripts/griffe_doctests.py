"""A doctest in a docstring becomes a section of examples: numpy's format reads it as text, or as one more exception."""

from __future__ import annotations

from typing import Any

import griffe


def with_section(text: str) -> str:
    """The docstring with a heading before its first doctest."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(">>> ")), None)
    return text if first is None else "\n".join([*lines[:first], "Examples", "--------", *lines[first:]])


class Doctests(griffe.Extension):
    """Gives doctests a section of their own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = with_section(obj.docstring.value)
