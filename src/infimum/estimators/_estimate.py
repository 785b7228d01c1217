"""What label-free estimates share: their note, and the standard error, a bootstrap of the calibration and a formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._arrays import effective_number
from infimum._checks import Array, check_seed
from infimum._streams import Stream
from infimum.bounds import Estimate
from infimum.errors import InputError
from infimum.io.findings import Finding, note
from infimum.outputs._outputs import Outputs, check_one_network

REPLICATES = 200
"""Bootstrap replicates: the standard error is then itself known to about 5 %."""

FEW_WRONG = 10
"""With fewer wrong rows than this an error rate is hardly known, and its distribution is skewed."""

NO_GUARANTEE = (
    "an estimate, no guarantee; it holds for operation like the calibration, and shift can mislead it"
)


def check_pair(calibration: Outputs, operation: Outputs, seed: int) -> None:
    """Two labelled calibration rows or more, operation of the same network; InputError otherwise."""
    check_one_network(calibration, operation)
    check_seed(seed)
    if len(calibration.known_labels) < 2:
        raise InputError("calibration has 1 row; at least 2 are needed, and some hundreds to say anything")


def estimate_of(value: float, standard_error: float, method: str, about: str) -> Estimate:
    """The estimate, its value kept in [0, 1]; the note says what it is and that it is no guarantee."""
    return Estimate(min(1.0, max(0.0, value)), method, f"{about}: {NO_GUARANTEE}", standard_error)


def few_wrong(correct: Bool[np.ndarray, " n"]) -> Finding | None:
    """A note on standard errors where hardly any calibration row is wrong; None where enough are.

    >>> few_wrong(np.array([True, True, False])).data
    {'wrong': 1, 'n': 3}
    """
    wrong = int((~correct).sum())
    return None if wrong >= FEW_WRONG else note("few-wrong", wrong=wrong, n=len(correct))


def mean(values: Array, weights: Array | None) -> float:
    """(Weighted) mean over the operation inputs."""
    return float(np.average(values, weights=weights))


def operation_error(values: Array, weights: Array | None, squared: Array | None = None) -> float:
    """Standard error of that mean: sd/√m, m Kish's effective number. One input alone: 1/2, the most there is.

    Of groups of inputs of one value, `weights` are the sums of their weights and `squared` of the squares.
    """
    w = np.ones(len(values)) if weights is None else weights
    squared = w**2 if squared is None else squared
    effective = float(effective_number(w.sum(), squared.sum()))
    if effective <= 1 + 1e-12:
        return 0.5
    spread = (squared * (values - np.average(values, weights=w)) ** 2).sum() / w.sum() ** 2
    return math.sqrt(spread * effective / (effective - 1))


def standard_error(
    refit: Callable[[Int[np.ndarray, " n"]], float],
    n: int,
    values: Float[np.ndarray, " m"],
    weights: Array | None,
    seed: int,
    squared: Array | None = None,
) -> float:
    """Both parts, added as independent errors.

    `refit` gives the estimate when calibration row i is counted counts[i] times (Efron's bootstrap of the n
    rows). Given the fit, the estimate is a mean of `values` (m,) over the operation, whose bootstrap standard
    error has a closed form: no need to draw a million rows 200 times.
    """
    rng = Stream.BOOTSTRAP.generator(seed)
    replicates = [refit(np.bincount(rng.integers(n, size=n), minlength=n)) for _ in range(REPLICATES)]
    return math.hypot(float(np.std(replicates, ddof=1)), operation_error(values, weights, squared))
