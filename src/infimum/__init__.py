"""infimum: how reliable a trained classifier is, at least. Names load when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infimum.errors import InputError as InputError

__version__ = "0.1.0"

_HOME = {
    "InputError": "infimum.errors",
}

__all__ = ["InputError", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    try:
        return importlib.import_module(f"infimum.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module 'infimum' has no attribute {name!r}") from error
