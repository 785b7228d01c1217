"""What a bound and an estimate are: a number, and what one may say with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from infimum._checks import exact_fraction
from infimum.errors import InputError
from infimum.io.ranges import Confidence, Count, Probability
from infimum.io.records import Record

LABELS_RIGHT = "their labels are right"
"""What every bound on labelled rows assumes, unless it was corrected for wrong ones (`label_errors.py`)."""

DRAWN_ALIKE = (
    "the labelled inputs were drawn independently from the operational distribution",
    "they were used neither to train nor to select the network",
    LABELS_RIGHT,
)
"""What every bound on labelled rows assumes."""


@dataclass(frozen=True)
class Bound(Record):
    """A certified lower bound: Success(f) ≥ `value` with probability at least `confidence`.

    `n` is the number of labelled inputs it rests on, `assumptions` what must be true for it to hold, `details`
    what else a reader may want to know (plain values, as the error level that attains the bound). `validity`:
    "finite-sample", the confidence holds for every n; "asymptotic", only in the limit of many labels.
    `successes` of the n were right, as labelled; None where it was not made from right and wrong answers.
    `weighted`: those inputs stand for shares of the operation (classes, strata), so that successes/n is not the
    accuracy that is bounded. `judges`: it was named beforehand to decide on a target.
    """

    value: Probability
    confidence: Confidence
    method: str
    n: Count
    assumptions: tuple[str, ...]
    details: dict[str, Any] = field(default_factory=dict, hash=False)
    validity: Literal["finite-sample", "asymptotic"] = "finite-sample"
    successes: Count | None = None
    weighted: bool = False
    judges: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.successes is not None and self.successes > self.n:
            raise InputError(f"Bound.successes is {self.successes}, of {self.n} inputs")


@dataclass(frozen=True)
class MeanBound(Bound):
    """The same of a mean of values that lie elsewhere than from 0 to 1."""

    value: float


@dataclass(frozen=True)
class Estimate(Record):
    """A figure for Success(f) that is *not* a guarantee; `note` says why, and what it is.

    `standard_error` is what drawing other inputs would change; it knows nothing of a bias of the method, nor of a shift
    between calibration and operation. None where it is not known.
    """

    value: Probability
    method: str
    note: str
    standard_error: Probability | None = None


def check_judge(bounds: Sequence[Bound], what: str) -> None:
    """Raise InputError unless the first of the bounds judges, and no other."""
    if not bounds:
        raise InputError(f"{what} is empty: the bound that judges is missing")
    if [bound.judges for bound in bounds] != [True, *[False] * (len(bounds) - 1)]:
        raise InputError(f"{what}: the first bound judges, and no other")


def check_confidence(confidence: Any) -> float:
    """A confidence strictly between 0 and 1.

    >>> check_confidence(0.95)
    0.95
    """
    return float(exact_fraction(confidence, "confidence"))


def split_miss(miss: float, n: int, m: int) -> tuple[float, float]:
    """A chance of error split over two samples of n and m rows before either is seen: about as their errors.

    To make z(a)σ + z(b)τ small under a + b = miss, put the derivatives equal: σ/φ(z(a)) = τ/φ(z(b)). Far out
    φ(z(a)) ≈ z a, hence a : b ≈ σ : τ ≈ √m : √n. Any split is valid; this one is nearly the tightest.

    >>> [round(a, 6) for a in split_miss(0.05, 100, 1600)]
    [0.04, 0.01]
    """
    first = miss * math.sqrt(m) / (math.sqrt(n) + math.sqrt(m))
    return first, miss - first
