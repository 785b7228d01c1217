"""What stands beside λ in the study: bounds that hold, and two plain estimates, on the same data."""

from __future__ import annotations

import numpy as np

from infimum._checks import Array
from infimum.bounds import clopper_pearson, marginal_conformal
from infimum.conformal import Calibration
from infimum.conformal._success import levels_of
from infimum.conformal._temperature import fit_temperature
from infimum.estimators._scaling import confidence
from infimum.outputs._outputs import Outputs


def beside(
    calibration: Outputs, tuning: Outputs, evaluation: Outputs, conformal: Calibration
) -> dict[str, float]:
    """Clopper–Pearson (95 %) on the calibration labels, the certified marginal conformal bound (95 %), the average
    confidence after temperature scaling, and the recalibrated λ; scaling and recalibration use the tuning labels.
    """
    temperature, _ = fit_temperature(tuning.logits, tuning.known_labels)
    return {
        "clopper_pearson": clopper_pearson(calibration.correct).value,
        "marginal_conformal": marginal_conformal(conformal, evaluation.logits).value,
        "average_confidence": float(confidence(evaluation.logits, temperature).largest.mean()),
        "recalibrated": recalibrated(conformal, tuning, evaluation),
    }


def recalibrated(conformal: Calibration, tuning: Outputs, evaluation: Outputs) -> float:
    """Mean over the evaluation inputs of an isotonic regression of correctness on λ(x), fitted on the tuning rows."""
    from sklearn.isotonic import IsotonicRegression

    def levels(outputs: Outputs) -> Array:
        counts = conformal.top_two(outputs.logits)
        return levels_of(counts.count_top, counts.count_second, conformal.n)

    fit = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    fit.fit(levels(tuning), tuning.correct.astype(np.float64))
    return float(fit.predict(levels(evaluation)).mean())
