"""Options that are objects, written as text: which registry reads each, and their help, made when it is asked for."""

from __future__ import annotations

import importlib
import re
from typing import Any

from typer.core import TyperCommand

from infimum.errors import InputError

METAVAR = "NAME[:K=V,…]"
"""Short, so that what stands beside it is not cut where a terminal is narrow."""

PAIRS = "KEY=VALUE,…"

HOMES = {
    "SCORES": "infimum.conformal._scores",
    "LEVELS": "infimum.conformal._options",
    "MANIFOLDS": "infimum.manifold._options",
    "SAMPLINGS": "infimum.manifold._stopping",
    "JUDGES": "infimum.bounds._judges",
    "IMAGES": "infimum.data._images",
    "NETWORKS": "infimum.cli.network",
    "LABELS": "infimum.cli.network",
}
"""Where each registry is; what it needs loads when help is printed, or the option is read."""


def registry(name: str) -> Any:
    """The registry of that name."""
    return getattr(importlib.import_module(HOMES[name]), name)


def filled(text: str) -> str:
    """A help text with what its registry says in place of {NAME}.

    >>> filled("One of {JUDGES}.")
    'One of clopper_pearson; prediction_powered; prediction_powered_betting.'
    """
    return re.sub(r"\{([A-Z]+)\}", lambda found: registry(found[1]).help(), text)


class Command(TyperCommand):
    """A command whose help tells what its registries know."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty text, which an unset variable of a shell leaves: for a path it would be this folder."""
        for before, given in zip(["", *args], args, strict=False):
            name, equals, value = given.partition("=")
            if given == "" or (given.startswith("--") and equals and not value):
                which = name if equals else before if before.startswith("-") else "an argument"
                raise InputError(f"{which} is empty; give a value, or leave it out")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in, then print."""
        for parameter in self.params:
            if getattr(parameter, "help", None):
                parameter.help = filled(parameter.help)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
