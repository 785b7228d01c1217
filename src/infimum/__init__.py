"""infimum: how reliable a trained classifier is, at least.

From a little labelled data, a lot of unlabelled data and what the network said of both:

- `assess(calibration, operation)`: certified bounds on the accuracy, and λ, the mean success level. `Outputs` holds
  what a network said, `Head` its prediction layer, an `Assessment` everything that was found.
- `extract`, `load`: outputs of a trained network (PyTorch, ONNX, Keras, scikit-learn, any callable) on any data.
- `certify`, `plan`: bounds from labelled rows alone, and how many labels one will need.
- `compare`, `compare_assessments`: networks side by side.
- `estimate`: label-free estimates; none of them is a guarantee.
- `assert_reliable`: the same in a test of your own.
- `calibrate`, `clopper_pearson`: conformal calibration, and the oldest of the bounds.

The rooms: `conformal`, `manifold`, `bounds`, `shift`, `estimators`, `certification`, `assessment`, `comparison`,
`gates`, `models`, `data`, `monitor`, `report`.
On the command line: `infimum --help`. Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from infimum._version import __version__
from infimum.io import faces

if TYPE_CHECKING:
    from infimum.assessment import Assessment as Assessment
    from infimum.assessment import assess as assess
    from infimum.bounds import clopper_pearson as clopper_pearson
    from infimum.certification import certify as certify
    from infimum.certification import plan as plan
    from infimum.comparison import Comparison as Comparison
    from infimum.comparison import compare as compare
    from infimum.comparison import compare_assessments as compare_assessments
    from infimum.conformal import calibrate as calibrate
    from infimum.errors import InputError as InputError
    from infimum.estimators import estimate as estimate
    from infimum.head import Head as Head
    from infimum.manifold import Sampling as Sampling
    from infimum.manifold import Stopping as Stopping
    from infimum.models import extract as extract
    from infimum.models import load as load
    from infimum.outputs import Outputs as Outputs
    from infimum.testing import assert_reliable as assert_reliable

_HOME = {
    "Assessment": "infimum.assessment",
    "Comparison": "infimum.comparison",
    "Head": "infimum.head",
    "InputError": "infimum.errors",
    "Outputs": "infimum.outputs",
    "Sampling": "infimum.manifold",
    "Stopping": "infimum.manifold",
    "assert_reliable": "infimum.testing",
    "assess": "infimum.assessment",
    "calibrate": "infimum.conformal",
    "certify": "infimum.certification",
    "clopper_pearson": "infimum.bounds",
    "compare": "infimum.comparison",
    "compare_assessments": "infimum.comparison",
    "estimate": "infimum.estimators",
    "extract": "infimum.models",
    "load": "infimum.models",
    "plan": "infimum.certification",
}

__all__ = ["__version__", *_HOME]

faces.REPORTS.append("infimum.report.faces")


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
