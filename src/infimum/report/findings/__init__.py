"""The words of every finding. Each module says those of one topic; `registry` has all codes."""

from infimum.report.findings import (
    assessment,
    calibration,
    certification,
    comparison,
    gates,
    inputs,
    likeness,
    manifold,
)
from infimum.report.findings.registry import CODES, check_codes, ignored, said

__all__ = [
    "CODES",
    "assessment",
    "calibration",
    "certification",
    "check_codes",
    "comparison",
    "gates",
    "ignored",
    "inputs",
    "likeness",
    "manifold",
    "said",
]
