"""How reliable a network is: the way from labelled and unlabelled outputs to an Assessment, a frozen record."""

from infimum.assessment._assess import assess
from infimum.assessment._diagnostics import Diagnostics, diagnose
from infimum.assessment._results import Assessment, CalibrationFacts, LambdaEstimate, Success, Target

__all__ = [
    "Assessment",
    "CalibrationFacts",
    "Diagnostics",
    "LambdaEstimate",
    "Success",
    "Target",
    "assess",
    "diagnose",
]
