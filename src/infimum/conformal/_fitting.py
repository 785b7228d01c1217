"""calibrate(): labelled logits -> Calibration, choosing `k_reg` and the temperature on rows of their own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from jaxtyping import Complex, Int

from infimum._checks import Array, Real, check_labels, check_logits, check_positive, check_seed
from infimum._streams import Stream
from infimum.conformal._calibration import Calibration, check_draws
from infimum.conformal._draws import Draws, uniform_draws
from infimum.conformal._ranking import CHUNK, Ranked, ranked_rows
from infimum.conformal._scores import RAPS, Score, keys
from infimum.conformal._temperature import fit_temperature
from infimum.errors import InputError
from infimum.io.findings import Finding, note

TUNING_SHARE = Fraction(1, 5)
"""Share of the calibration rows set aside when something must be tuned and no tuning rows are given."""


def calibrate(
    logits: Array,
    labels: Array,
    score: Score | None = None,
    randomize: bool | Array = True,
    temperature: Real | Literal["fit"] = 1.0,
    tuning: tuple[Array, Array] | None = None,
    seed: int = 0,
) -> Calibration:
    """Calibrate on labelled inputs that the network was not trained on (docs/method.md §2).

    Parameters
    ----------
    logits, labels
        (n, K) finite, n ≥ 2, K ≥ 2; (n,) whole numbers 0..K−1.
    score
        One of LAC, APS, RAPS (the default), SAPS, TopK, Margin.
    randomize
        True: one uniform draw per input, by (seed, row). False: the deterministic score. An array (n,): the
        draws themselves. Scores without a random form record False.
    temperature
        Divides the logits; "fit" minimises the negative log-likelihood of the tuning rows.
    tuning
        (logits, labels) for `k_reg="auto"` and `temperature="fit"`; without it a seeded fifth of the rows is
        set aside, and is no longer part of the calibration.
    seed
        Of every draw made here and later from this calibration.

    Raises
    ------
    InputError
        For logits or labels that are not as above.

    >>> import numpy as np
    >>> from infimum.conformal import RAPS, calibrate
    >>> cal = calibrate(np.eye(3)[[0, 1, 2, 0]] * 4, np.array([0, 1, 2, 1]), score=RAPS(), seed=1)
    >>> cal.n, cal.randomize
    (4, True)
    """
    score = RAPS() if score is None else score
    if isinstance(score, type) or not isinstance(score, Score):
        raise InputError(
            f"score must be one of LAC(), APS(), RAPS(), SAPS(), TopK(), Margin(), not {score!r}"
        )
    seed = check_seed(seed)
    logits = check_logits(logits, "calibration logits")
    n, n_classes = logits.shape
    labels = check_labels(labels, n, n_classes, "calibration labels")
    if n < 2:
        raise InputError("calibration has 1 row; at least 2 are needed, and some hundreds to say anything")
    if temperature != "fit":
        temperature = check_positive(temperature, "temperature")
    draws = None if isinstance(randomize, bool) else check_draws(randomize, n)
    randomized = score.has_random_form and (draws is not None or bool(np.any(randomize)))

    findings: list[Finding] = []
    rows = np.arange(n)
    n_tuning = 0
    if temperature == "fit" or getattr(score, "k_reg", None) == "auto":
        if tuning is None:
            rows, aside = set_aside(n, seed)
            tuning = (logits[aside], labels[aside])
            findings.append(note("set-aside-for-tuning", aside=len(aside), n=n))
        tuning_logits = check_logits(tuning[0], "tuning logits", n_classes)
        n_tuning = len(tuning_logits)
        tuning_labels = check_labels(tuning[1], n_tuning, n_classes, "tuning labels")
        if temperature == "fit":
            temperature, told = fit_temperature(tuning_logits, tuning_labels)
            findings += told
        if isinstance(score, RAPS) and score.k_reg == "auto":
            score = RAPS(score.penalty, tune_k_reg(tuning_logits, tuning_labels))
    elif tuning is not None:
        findings.append(note("tuning-unused"))

    u: Draws = 1
    if randomized:
        u = (uniform_draws(seed, "calibration", n) if draws is None else draws)[rows]
    scores = label_keys(logits, labels, score, temperature, u, rows if len(rows) < n else None)
    return Calibration(
        score=score,
        keys=np.sort(scores),
        n_classes=n_classes,
        temperature=temperature,
        randomize=randomized,
        seed=seed,
        n_tuning=n_tuning,
        findings=tuple(findings),
    )


def label_keys(
    logits: Array, labels: Array, score: Score, temperature: float, u: Draws, only: Array | None = None
) -> Complex[np.ndarray, " n"]:
    """Keys of the scores of the given labels, by the reference ranking, in chunks; `u` is that of the rows `only`."""
    n_classes = logits.shape[1]
    n = len(logits) if only is None else len(only)
    result = np.empty(n, dtype=np.complex128)
    for start in range(0, n, size := max(1, CHUNK // n_classes)):
        rows = slice(start, start + size)
        which = rows if only is None else only[rows]
        at, ranked = _of_labels(logits[which], labels[which], temperature)
        u_at = u if isinstance(u, int | float) else u[rows]
        result[rows] = keys(*score.parts(Ranked(*(np.asarray(f)[at] for f in ranked)), u_at))
    return result


def _of_labels(logits: Array, labels: Array, temperature: float) -> tuple[tuple[Array, Array], Ranked]:
    """Index of each row's label among the ranks, and the ranks."""
    order, ranked = ranked_rows(logits.astype(np.float64), temperature)
    return (np.arange(len(labels)), (order == labels[:, None]).argmax(axis=1)), ranked


def true_ranks(logits: Array, labels: Array) -> Int[np.ndarray, " n"]:
    """o(y) of each label, 1 for the predicted class; ties by the lower index; in chunks.

    >>> true_ranks(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([1, 1])).tolist()
    [2, 1]
    """
    n, n_classes = logits.shape
    ranks = np.empty(n, dtype=np.int64)
    for start in range(0, n, size := max(1, CHUNK // n_classes)):
        z, y = logits[start : start + size], labels[start : start + size, None]
        own = np.take_along_axis(z, y, axis=1)
        before = (z > own) | ((z == own) & (np.arange(n_classes) < y))
        ranks[start : start + size] = 1 + before.sum(axis=1)
    return ranks


def tune_k_reg(logits: Array, labels: Array) -> int:
    """The ⌈0.9 (n+1)⌉-th smallest rank of the true label, at most the largest (docs/method.md §2).

    >>> tune_k_reg(np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([0, 1]))
    2
    """
    ranks = np.sort(true_ranks(logits, labels))
    k = math.ceil(Fraction(9, 10) * (len(ranks) + 1))
    return int(ranks[min(k, len(ranks)) - 1])


def set_aside(n: int, seed: int) -> tuple[Array, Array]:
    """Row numbers kept for calibration, and those set aside for tuning: a seeded split, each in order."""
    if n < 4:
        raise InputError(f"calibration has {n} rows, too few to set some aside for tuning; pass tuning rows")
    mixed = Stream.TUNING_SPLIT.generator(seed).permutation(n)
    k = max(1, round(TUNING_SHARE * n))
    return np.sort(mixed[k:]), np.sort(mixed[:k])
