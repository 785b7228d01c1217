"""Confidence-based performance estimation: the largest probability, calibrated, averaged over operation."""

from __future__ import annotations

from infimum.bounds import Estimate
from infimum.estimators._estimate import check_pair
from infimum.estimators._isotonic import recalibrated
from infimum.estimators._scaling import confidence
from infimum.outputs._outputs import Outputs


def calibrated_confidence(calibration: Outputs, operation: Outputs, *, seed: int = 0) -> Estimate:
    """CBPE: the mean over operation of the isotonic regression of correctness on the largest probability.

    Top-label calibration (Zadrozny and Elkan, 2002), averaged as in confidence-based performance estimation.
    Rows whose largest probability is 1 in floating point keep their order. Raises InputError where the two do
    not fit together.

    >>> import numpy as np
    >>> z, y = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    >>> calibrated_confidence(Outputs(z, y), Outputs(z)).value
    0.75
    """
    check_pair(calibration, operation, seed)
    return recalibrated(
        -confidence(calibration.logits).others,
        calibration.correct,
        -confidence(operation.logits).others,
        operation.weights,
        seed,
        "calibrated_confidence",
        "largest probability replaced by the share of correct calibration rows at that probability",
    )
