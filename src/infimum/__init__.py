"""infimum: how reliable a trained classifier is, at least. Names load when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infimum.assessment import assess as assess
    from infimum.bounds import clopper_pearson as clopper_pearson
    from infimum.comparison import Comparison as Comparison
    from infimum.comparison import compare as compare
    from infimum.comparison import compare_assessments as compare_assessments
    from infimum.conformal import calibrate as calibrate
    from infimum.errors import InputError as InputError
    from infimum.head import Head as Head
    from infimum.outputs import Outputs as Outputs
    from infimum.results import Assessment as Assessment
    from infimum.sampling import Stopping as Stopping

__version__ = "0.1.0"

_HOME = {
    "Assessment": "infimum.results",
    "Comparison": "infimum.comparison",
    "Head": "infimum.head",
    "InputError": "infimum.errors",
    "Outputs": "infimum.outputs",
    "Stopping": "infimum.sampling",
    "assess": "infimum.assessment",
    "calibrate": "infimum.conformal",
    "clopper_pearson": "infimum.bounds",
    "compare": "infimum.comparison",
    "compare_assessments": "infimum.comparison",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    try:
        return importlib.import_module(f"infimum.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"infimum.{name}":
            raise
        raise AttributeError(f"module 'infimum' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(__all__)
