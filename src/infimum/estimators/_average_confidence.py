"""Average confidence after temperature scaling, and the difference of confidences."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from infimum.bounds import Estimate
from infimum.estimators._estimate import check_pair, estimate_of, mean, standard_error
from infimum.estimators._scaling import Temperature, confidence, fitted
from infimum.outputs._outputs import Outputs


def average_confidence(calibration: Outputs, operation: Outputs, *, seed: int = 0) -> Estimate:
    """Mean of the largest probability over operation, after temperature scaling on the calibration.

    Right if a confidence of 0.8 means correct in 80 % of cases; one temperature cannot always bring that about.
    Raises InputError where the two do not fit together. Source: Guo, Pleiss, Sun and Weinberger (2017).

    >>> import numpy as np
    >>> z, y = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    >>> round(average_confidence(Outputs(z, y), Outputs(z)).value, 3)
    0.75
    """
    check_pair(calibration, operation, seed)
    temperature = fitted(calibration)
    sure = confidence(operation.logits, temperature.value)
    value, slope = mean(sure.largest, operation.weights), mean(sure.slope, operation.weights)

    def refit(counts: Int[np.ndarray, " n"]) -> float:
        return min(1.0, max(0.0, value + slope * temperature.step(counts)))

    error = standard_error(refit, len(calibration), sure.largest, operation.weights, seed)
    return estimate_of(value, error, "average_confidence", _about("mean largest probability", temperature))


def difference_of_confidences(calibration: Outputs, operation: Outputs, *, seed: int = 0) -> Estimate:
    """DoC: the calibration's accuracy, plus the mean confidence of operation minus that of the calibration.

    After temperature scaling; a bias of the confidence that both sets share drops out. Raises InputError where
    the two do not fit together. Source: Guillory, Shankar, Ebrahimi, Darrell and Schmidt (2021), slope 1.

    >>> import numpy as np
    >>> z, y = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    >>> round(difference_of_confidences(Outputs(z, y), Outputs(z)).value, 3)
    0.75
    """
    check_pair(calibration, operation, seed)
    temperature = fitted(calibration)
    ours = confidence(calibration.logits, temperature.value)
    theirs = confidence(operation.logits, temperature.value)
    surplus = calibration.correct - ours.largest
    level, slope = mean(theirs.largest, operation.weights), mean(theirs.slope, operation.weights)

    def refit(counts: Int[np.ndarray, " n"]) -> float:
        moved = (slope - mean(ours.slope, counts)) * temperature.step(counts)
        return min(1.0, max(0.0, level + mean(surplus, counts) + moved))

    error = standard_error(refit, len(calibration), theirs.largest, operation.weights, seed)
    about = _about("accuracy of the calibration plus the difference of mean confidences", temperature)
    return estimate_of(level + mean(surplus, None), error, "difference_of_confidences", about)


def _about(what: str, temperature: Temperature) -> str:
    return "; ".join((f"{what} at temperature {temperature.value:.4g}", *temperature.notes))
