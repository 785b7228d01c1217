"""What a bound and an estimate are: a number, and what one may say with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from infimum.checks import exact_fraction


@dataclass(frozen=True)
class Bound:
    """A certified lower bound: Success(f) ≥ `value` with probability at least `confidence`.

    `n` is the number of labelled inputs it rests on, `assumptions` what must be true for it to hold. `validity`:
    "finite-sample", the confidence holds for every n; "asymptotic", only in the limit of many labels.
    """

    value: float
    confidence: float
    method: str
    n: int
    assumptions: tuple[str, ...]
    validity: Literal["finite-sample", "asymptotic"] = "finite-sample"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "assumptions": list(self.assumptions)}


@dataclass(frozen=True)
class Estimate:
    """A figure that is *not* a guarantee; `note` says why and what it is."""

    value: float
    method: str
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def check_confidence(confidence: Any) -> float:
    """A confidence strictly between 0 and 1.

    >>> check_confidence(0.95)
    0.95
    """
    return float(exact_fraction(confidence, "confidence"))
