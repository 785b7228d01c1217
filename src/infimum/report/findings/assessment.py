"""What an assessment says beside its figures."""

from __future__ import annotations

from infimum._rounding import floor4
from infimum.report.findings.registry import says

WITHHELD = {
    "weighted": "the operation is weighted, and the calibration is not of the weighted distribution",
    "tuned": "the score or the temperature was tuned on calibration rows",
    "no-other-inputs": "every operation input is a labelled row too",
}


@says("level-bounds-withheld", "The bounds from success levels would not hold here, and are not given.")
def _(why: str) -> str:
    return f"the bounds from success levels are not given: {WITHHELD[why]}"


@says(
    "lambda-above-accuracy", "λ is above the accuracy measured on the same inputs: it is no lower bound here."
)
def _(level: float, accuracy: float) -> str:
    return (
        f"λ ({floor4(level)}) is above the accuracy measured on the same inputs "
        f"({accuracy:.4f}): here it is not a lower bound"
    )
