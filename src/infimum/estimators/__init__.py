"""Label-free estimates of Success(f), one file each: labelled calibration and unlabelled operation in, `Estimate` out.

None is a guarantee: see `bounds` for those.
"""

from infimum.estimators.average_confidence import average_confidence, difference_of_confidences
from infimum.estimators.base import Estimate
from infimum.estimators.calibrated_confidence import calibrated_confidence
from infimum.estimators.side_by_side import Estimates, estimate
from infimum.estimators.success_level import recalibrated_success_level, success_level
from infimum.estimators.thresholded_confidence import thresholded_confidence

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
