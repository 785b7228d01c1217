"""λ of the operation inputs (Algorithm 1), and λ recalibrated by isotonic regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum.bounds import Estimate
from infimum.conformal import Calibration, LambdaSummary, Score, calibrate
from infimum.conformal._left_out import calibration_rows, left_out_counts
from infimum.estimators._estimate import check_pair, estimate_of, few_wrong
from infimum.estimators._isotonic import recalibrated
from infimum.outputs._outputs import Outputs


def success_level(
    calibration: Outputs, operation: Outputs, *, score: Score | None = None, seed: int = 0
) -> Estimate:
    """λ: the mean success level λ(x) = 1 − p_(2)(x) of the operation inputs (Scheerer et al., Algorithm 1).

    `calibration` labelled; `score` as in `calibrate` (RAPS). On real networks λ is mostly above Success(f). Its
    standard error has a closed form (docs/method.md §3). Raises InputError where the two do not fit together.

    >>> import numpy as np
    >>> z = 3 * np.eye(3)[np.arange(90) % 3]
    >>> round(success_level(Outputs(z, np.arange(90) % 3), Outputs(z)).value, 2)
    0.99
    """
    check_pair(calibration, operation, seed)
    conformal = calibrate(calibration.logits, calibration.known_labels, score, seed=seed)
    summary = LambdaSummary(conformal.n)
    summary.add(conformal.top_two(operation.logits), operation.weights)
    return estimate_of(
        summary.value,
        summary.standard_error().total,
        "success_level",
        "λ, the mean success level, which on real networks is mostly above the success probability",
    )


def recalibrated_success_level(
    calibration: Outputs, operation: Outputs, *, score: Score | None = None, seed: int = 0
) -> Estimate:
    """λ recalibrated: the mean over operation of the isotonic regression of correctness on λ(x) (docs/method.md §5).

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
    summary = LambdaSummary(conformal.n)
    summary.add(conformal.top_two(operation.logits), operation.weights)
    return recalibrated_lambda(conformal, calibration, summary, seed)


def recalibrated_lambda(
    conformal: Calibration, labelled: Outputs, summary: LambdaSummary, seed: int
) -> Estimate:
    """The same of a finished calibration, the labelled rows that made it, and the λ(x) of operation inputs.

    Only the order of the scores enters, so a step between error levels makes no difference.
    """
    n, correct = conformal.n, labelled.correct[calibration_rows(conformal, len(labelled))]
    weight, squared = summary.by_count
    counts = np.flatnonzero(weight)
    estimate = recalibrated(
        left_out_ranks(conformal, labelled),
        correct,
        (n + 1 - counts) / n,
        weight[counts],
        seed,
        "recalibrated_success_level",
        "λ(x) replaced by the share of correct calibration rows at that λ(x)",
        squared[counts],
    )
    few = few_wrong(correct)
    return estimate if few is None else replace(estimate, note=f"{estimate.note}; {few}")


def left_out_ranks(conformal: Calibration, labelled: Outputs) -> Float[np.ndarray, " n"]:
    """Share of the *other* calibration scores below each row's runner-up: #{j ≠ i : s_j < S_(2)(x_i)} / (n − 1).

    `labelled` are the rows that `conformal` was made from. λ(x) by the others is this share times (n − 1)/n.
    """
    counts = left_out_counts(conformal, labelled.logits, labelled.known_labels).count_second
    share: Array = (conformal.n - counts) / (conformal.n - 1)
    return share
