"""The methods that may judge the target of an assessment, as objects or by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from infimum._grammar import Kind, Registry
from infimum.errors import InputError


@dataclass(frozen=True)
class ClopperPearson:
    """The exact binomial bound on the labelled rows."""

    name: ClassVar[str] = "clopper_pearson"


@dataclass(frozen=True)
class PredictionPowered:
    """The bound that takes unlabelled rows too: by "betting", which holds for any number of rows, or "asymptotic".

    >>> PredictionPowered().name
    'prediction_powered_betting'
    """

    interval: Literal["betting", "asymptotic"] = "betting"

    def __post_init__(self) -> None:
        if self.interval not in ("betting", "asymptotic"):
            raise InputError(f"interval must be betting or asymptotic, not {self.interval!r}")

    @property
    def name(self) -> str:
        """What the bound is called."""
        return "prediction_powered_betting" if self.interval == "betting" else "prediction_powered"


Judge = ClopperPearson | PredictionPowered

JUDGES: Registry[Judge] = Registry(
    "method",
    {
        "clopper_pearson": Kind.of(ClopperPearson),
        "prediction_powered": Kind(lambda: PredictionPowered("asymptotic"), {}, {}),
        "prediction_powered_betting": Kind(lambda: PredictionPowered("betting"), {}, {}),
    },
    takes=lambda given: isinstance(given, get_args(Judge)),
)
