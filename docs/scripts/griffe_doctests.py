"""Docstrings as numpy's format wants them, for the reference.

A doctest becomes a section of examples: it would be read as text, or as one more exception. Parameters that share a
description are written apart: all would get the type of the first.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?: +.*\n?)+)", re.MULTILINE)


def apart(text: str) -> str:
    """The docstring with each parameter under its own name."""
    return SHARED.sub(lambda m: "".join(f"{name}\n{m[2].rstrip()}\n" for name in m[1].split(", ")), text)


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
            obj.docstring.value = with_section(apart(obj.docstring.value))
