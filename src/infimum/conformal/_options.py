"""How success levels are made, beside the score: the options of a calibration and of Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from infimum._checks import Real, check_positive
from infimum._grammar import Kind, Registry
from infimum.conformal._success import Empty, Step, step_fraction
from infimum.errors import InputError


@dataclass(frozen=True)
class SuccessLevels:
    """What success levels are read from: `temperature` and `randomize` as in `calibrate`, then Algorithm 1's reading.

    `step` is the paper's δ between error levels (None: exact); `empty` says how inputs that never get a one-label set
    are read: "argmax" keeps the top label, "zero" scores 0, "nan" leaves them out.

    >>> LEVELS.read("temperature=fit,step=0.01")
    SuccessLevels(temperature='fit', randomize=True, step='0.01', empty='argmax')
    """

    temperature: Real | Literal["fit"] = 1.0
    randomize: bool = True
    step: Step = None
    empty: Empty = "argmax"

    def __post_init__(self) -> None:
        if self.temperature != "fit":
            check_positive(self.temperature, "temperature")
        if not isinstance(self.randomize, bool):
            raise InputError(f"randomize must be true or false, not {self.randomize!r}")
        if self.empty not in get_args(Empty):
            raise InputError(f"empty must be one of {', '.join(get_args(Empty))}, not {self.empty!r}")
        step_fraction(self.step)


def _written(
    temperature: float | Literal["fit", "none"] = 1.0,
    randomize: bool = True,
    step: str = "exact",
    empty: Empty = "argmax",
) -> SuccessLevels:
    return SuccessLevels(
        1.0 if temperature == "none" else temperature, randomize, None if step == "exact" else step, empty
    )


LEVELS: Registry[SuccessLevels] = Registry(
    "levels",
    {
        "levels": Kind(
            _written,
            {
                "temperature": float | Literal["fit", "none"],
                "randomize": bool,
                "step": str,  # kept as it is written: 0.1 is a tenth
                "empty": Empty,
            },
            {"temperature": 1.0, "randomize": True, "step": "exact", "empty": "argmax"},
        )
    },
    takes=lambda given: isinstance(given, SuccessLevels),
    default="levels",
)
