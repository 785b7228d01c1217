"""Label-free estimates of Success(f), one file each: labelled calibration and unlabelled operation in, `Estimate` out.

None is a guarantee: see `bounds` for those.
"""

from infimum.bounds import Estimate
from infimum.estimators._average_confidence import average_confidence, difference_of_confidences
from infimum.estimators._calibrated_confidence import calibrated_confidence
from infimum.estimators._side_by_side import Estimates, estimate
from infimum.estimators._success_level import recalibrated_success_level, success_level
from infimum.estimators._thresholded_confidence import thresholded_confidence

__all__ = [
    "Estimate",
    "Estimates",
    "average_confidence",
    "calibrated_confidence",
    "difference_of_confidences",
    "estimate",
    "recalibrated_success_level",
    "success_level",
    "thresholded_confidence",
]
