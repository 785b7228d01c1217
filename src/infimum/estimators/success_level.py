"""λ of the operation inputs (Algorithm 1), and λ recalibrated by isotonic regression."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infimum.checks import Array
from infimum.conformal import Calibration, LambdaSummary, Score, calibrate
from infimum.conformal.fitting import true_ranks
from infimum.estimators.base import Estimate, check_pair, made
from infimum.estimators.isotonic import recalibrated
from infimum.outputs import Outputs


def success_level(
    calibration: Outputs, operation: Outputs, *, score: Score | None = None, seed: int = 0
) -> Estimate:
    """λ: the mean success level λ(x) = 1 − p_(2)(x) of the operation inputs (Scheerer et al., Algorithm 1).

    `calibration` labelled; `score` as in `calibrate` (RAPS). On real networks λ is mostly above Success(f). Its
    standard error has a closed form (METHOD §3). Raises InputError where the two do not fit together.

    >>> import numpy as np
    >>> z = 3 * np.eye(3)[np.arange(90) % 3]
    >>> round(success_level(Outputs(z, np.arange(90) % 3), Outputs(z)).value, 2)
    0.99
    """
    check_pair(calibration, operation, seed)
    conformal = calibrate(calibration.logits, calibration.known_labels, score, seed=seed)
    summary = LambdaSummary(conformal.n)
    summary.add(conformal.top_two(operation.logits), operation.weights)
    return made(
        summary.value,
        summary.standard_error().total,
        "success_level",
        "λ, the mean success level, which on real networks is mostly above the success probability",
    )


def recalibrated_success_level(
    calibration: Outputs, operation: Outputs, *, score: Score | None = None, seed: int = 0
) -> Estimate:
    """λ recalibrated: the mean over operation of the isotonic regression of correctness on λ(x) (METHOD §5).

    The λ(x) of a labelled row is taken by leaving its own score out of the calibration, so that it means the
    same as that of an operation input. With the score left in, a wrong row's runner-up p-value would be one
    count higher because the row is wrong: its label would leak. `score` as in `calibrate` (RAPS). Raises
    InputError where the two do not fit together.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(900, 3)) * 3
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> found = recalibrated_success_level(Outputs(z[:400], y[:400]), Outputs(z[400:]))
    >>> bool(abs(found.value - Outputs(z[400:], y[400:]).accuracy) < 0.03)
    True
    """
    check_pair(calibration, operation, seed)
    conformal = calibrate(calibration.logits, calibration.known_labels, score, seed=seed)
    counts = conformal.top_two(operation.logits).count_second
    return recalibrated(
        left_out_ranks(conformal, calibration),
        calibration.correct,
        (conformal.n + 1 - counts) / conformal.n,
        operation.weights,
        seed,
        "recalibrated_success_level",
        "λ(x) replaced by the share of correct calibration rows at that λ(x)",
    )


def left_out_ranks(conformal: Calibration, labelled: Outputs) -> Float[np.ndarray, " n"]:
    """Share of the *other* calibration scores below each row's runner-up: #{j ≠ i : s_j < S_(2)(x_i)} / (n − 1).

    `labelled` are the n rows that `conformal` was made from. λ(x) is this share times n/(n+1). The row's own
    score is at least S_(2) unless its label is the predicted one; then it is S_(1), below S_(2) or equal to it.
    """
    draws = conformal.draws(len(labelled), None, 0, "calibration")
    u = None if isinstance(draws, int | float) else draws
    counts = conformal.top_two(labelled.logits, u, stream="calibration")
    below = conformal.n + 1 - counts.count_second
    own = (true_ranks(labelled.logits, labelled.known_labels) == 1) & (counts.count_top > counts.count_second)
    share: Array = (below - own) / (conformal.n - 1)
    return share
