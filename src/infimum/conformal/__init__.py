"""Conformal prediction: nonconformity scores, calibration, and the success level λ(x) of Algorithm 1."""

from infimum.conformal._calibration import Calibration, TopTwo
from infimum.conformal._fitting import calibrate
from infimum.conformal._options import SuccessLevels
from infimum.conformal._scores import APS, LAC, RAPS, SAPS, Margin, Score, TopK, score_named
from infimum.conformal._summary import LambdaSummary, StandardError

__all__ = [
    "APS",
    "LAC",
    "RAPS",
    "SAPS",
    "Calibration",
    "LambdaSummary",
    "Margin",
    "Score",
    "StandardError",
    "SuccessLevels",
    "TopK",
    "TopTwo",
    "calibrate",
    "score_named",
]
