"""Success levels of one network, with what a paired comparison needs of its calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infimum.conformal import LambdaSummary, Score, calibrate
from infimum.conformal._fitting import label_keys
from infimum.conformal._success import levels_of
from infimum.errors import InputError
from infimum.outputs._outputs import Outputs


@dataclass(frozen=True, eq=False)
class ScoredOperation:
    """λ(x) of the operation inputs and, of each calibration row, how many of them it does not reach.

    `exceeded` is G(s_i), the (weighted) share of the inputs whose runner-up scores above s_i (docs/method.md §3);
    `value` is λ and `error` its standard error.
    """

    levels: Float[np.ndarray, " m"]
    exceeded: Float[np.ndarray, " n"]
    value: float
    error: float


def levels_by(
    calibration: Outputs, operation: Outputs, score: Score, randomize: bool, seed: int
) -> ScoredOperation:
    """Calibrate on all rows of `calibration` and score `operation`, with exact levels.

    Raises InputError for a score that is still to be tuned: each network would then keep other rows.
    """
    if getattr(score, "k_reg", None) == "auto":
        raise InputError("k_reg must be a number here: tuning it would calibrate each network on other rows")
    labels = calibration.known_labels
    conformal = calibrate(calibration.logits, labels, score=score, randomize=randomize, seed=seed)
    counts = conformal.top_two(operation.logits)
    summary = LambdaSummary(conformal.n)
    summary.add(counts, operation.weights)
    draws = conformal.draws(conformal.n, None, 0, "calibration")
    own = label_keys(calibration.logits, labels, conformal.score, conformal.temperature, draws)
    below = np.searchsorted(conformal.keys, own, side="left")
    # The runner-up scores above s_i just when more scores lie below it than lie below s_i.
    share = np.bincount(conformal.n + 1 - counts.count_second, operation.weights, minlength=conformal.n + 2)
    above = np.cumsum(share[::-1])[::-1] / share.sum()
    return ScoredOperation(
        levels=levels_of(counts.count_top, counts.count_second, conformal.n),
        exceeded=above[below + 1],
        value=summary.value,
        error=summary.standard_error().total,
    )
