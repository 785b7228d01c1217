"""ATC: average thresholded confidence (Garg, Balakrishnan, Lipton, Neyshabur and Sedghi, 2022)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array
from infimum.bounds import Estimate
from infimum.errors import InputError
from infimum.estimators._estimate import check_pair, estimate_of, standard_error
from infimum.estimators._scaling import Confidence, confidence, fitted
from infimum.outputs._outputs import Outputs

By = Literal["max_probability", "negative_entropy"]


def thresholded_confidence(
    calibration: Outputs, operation: Outputs, *, by: By = "max_probability", seed: int = 0
) -> Estimate:
    """ATC: the share of operation inputs whose score is at or above t, of which as many calibration rows are
    below as are classified wrongly.

    Score `by` the largest probability or the negative entropy, after temperature scaling on the calibration.
    The bootstrap keeps the temperature: without shift the estimate does not depend on it to first order.
    Raises InputError where the two do not fit together.

    >>> import numpy as np
    >>> z, y = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]), np.array([1, 0, 0, 0])
    >>> thresholded_confidence(Outputs(z, y), Outputs(z)).value
    0.75
    """
    check_pair(calibration, operation, seed)
    if by not in get_args(By):
        raise InputError(f"by must be one of {', '.join(get_args(By))}, not {by!r}")
    temperature = fitted(calibration)
    ours, theirs = (_score(confidence(o.logits, temperature.value), by) for o in (calibration, operation))
    order = np.argsort(ours, kind="stable")
    ours, correct = ours[order], calibration.correct[order]

    def at_or_above(counts: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " m"]:
        above: Array = theirs >= threshold(ours, correct, counts[order])
        return above

    above = at_or_above(np.ones(len(ours), dtype=np.int64))
    weights = np.ones(len(theirs)) if operation.weights is None else operation.weights
    ascending = np.argsort(theirs, kind="stable")
    sorted_theirs, share = theirs[ascending], np.append(0.0, np.cumsum(weights[ascending])) / weights.sum()

    def refit(counts: Int[np.ndarray, " n"]) -> float:
        t = threshold(ours, correct, counts[order])
        return 1.0 - float(share[np.searchsorted(sorted_theirs, t, side="left")])

    error = standard_error(refit, len(ours), above.astype(np.float64), operation.weights, seed)
    name = by.replace("_", " ")
    return estimate_of(
        float(np.average(above, weights=weights)),
        error,
        f"atc_{by}",
        f"share of inputs whose {name} passes a threshold that the calibration's accuracy sets",
    )


def threshold(
    scores: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"], counts: Int[np.ndarray, " n"]
) -> float:
    """The smallest of the ascending scores up to which more rows lie than are wrong; +∞ if all are wrong."""
    wrong = (counts * ~correct).sum()
    passes = np.cumsum(counts) > wrong
    return float(scores[passes.argmax()]) if passes.any() else np.inf


def _score(sure: Confidence, by: By) -> Array:
    return -sure.others if by == "max_probability" else -sure.entropy
