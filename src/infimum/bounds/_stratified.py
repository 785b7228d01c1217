"""Lower bounds on Success(f) = Σ w_s a_s from labels drawn in strata whose shares w_s of the operation are known."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.special import bdtr, betaincinv, betaln, logsumexp, ndtri

from infimum._checks import Real, check_labels, check_seed, check_weights
from infimum._streams import Stream
from infimum.bounds._bound import LABELS_RIGHT, Bound, check_confidence
from infimum.bounds._class_profile import weighted_lower
from infimum.bounds._clopper_pearson import binomial_lower
from infimum.bounds._constrained import constrained_rates, log_likelihood, mean_after_drop
from infimum.bounds._observations import check_bounded, check_correct
from infimum.errors import InputError

Method = Literal["bootstrap", "signed_root", "e_process", "bonferroni", "chernoff"]

PRIOR_STRENGTHS = np.array([2.0, 20.0, 200.0])
"""Pseudo-labels that levels given to the e-process are worth in a stratum: all are mixed, as levels may be wrong."""

PerStratum = Float[np.ndarray, " S"]


def stratified(
    correct: Any,
    stratum: Any,
    weights: Any,
    confidence: Real = 0.95,
    method: Method = "bootstrap",
    levels: Any = None,
    draws: int = 2000,
    seed: int = 0,
) -> Bound:
    """Lower bound on Σ w_s a_s, a_s the success rate in stratum s, from labels drawn at random within strata.

    Parameters
    ----------
    correct, stratum
        (n,) right or wrong, and the stratum 0..S−1 of each labelled input.
    weights
        (S,) shares of the operation, known from many unlabelled inputs (`strata`); scaled to sum 1.
    method
        "bootstrap": the constrained likelihood ratio, with a parametric bootstrap at the constrained maximum;
        approximate. "signed_root": the same with a normal quantile; cheaper, and too high where few errors
        were seen. "e_process": a mixture likelihood ratio, for every n and at every time (labels may be added
        until the bound suffices); wider. "bonferroni": Clopper–Pearson in each stratum at (1 − confidence)/S;
        for every n, widest, for reference. "chernoff": `class_profile`'s bound with strata for classes; for every n
        and every allocation, Clopper–Pearson's where there is one stratum.
    levels
        (S,) expected success rates, fixed before the labels: the prior means of the e-process.
    draws, seed
        Of the bootstrap. Same seed, same result.

    Raises
    ------
    InputError
        When a stratum of positive weight has no label, or inputs do not fit together.

    >>> import numpy as np
    >>> from infimum.bounds import stratified
    >>> correct = np.repeat([1, 0, 1, 0], [149, 1, 120, 30])
    >>> stratum = np.repeat([0, 1], 150)
    >>> [round(stratified(correct, stratum, [0.9, 0.1], method=m).value, 3)
    ...  for m in ("bootstrap", "signed_root", "e_process", "bonferroni")]
    [0.956, 0.958, 0.91, 0.94]
    """
    confidence = check_confidence(confidence)
    k, n, w = _counts(correct, stratum, weights)
    present = w > 0
    prior = None if levels is None else check_bounded(levels, "levels", n=len(w))[present]
    k, n, w = k[present], n[present], w[present]
    alpha = 1.0 - confidence
    if method not in get_args(Method):
        raise InputError(f"method must be one of {', '.join(get_args(Method))}, not {method!r}")
    if method == "signed_root":
        value = mean_after_drop(0.5 * float(ndtri(confidence)) ** 2, k, n, w)
    elif method == "bootstrap":
        value = _bootstrap(k, n, w, alpha, draws, seed)
    elif method == "e_process":
        value = _e_process(k, n, w, alpha, prior)
    elif method == "chernoff":
        value = float(binomial_lower(k[0], n[0], alpha)) if len(n) == 1 else weighted_lower(k, n, w, alpha)
    else:
        value = _bonferroni(k, n, w, alpha)
    approximate = method in ("bootstrap", "signed_root")
    notes: tuple[str, ...] = (
        "labels were drawn independently, and with equal chances, among the operation inputs of each stratum",
        "strata and weights were fixed before the labels; the bound is for the inputs that have these weights",
        LABELS_RIGHT,
    )
    if approximate:
        notes = (*notes, "approximate: the coverage of the likelihood ratio is not proven for finite samples")
    return Bound(
        value=value,
        confidence=confidence,
        method=f"stratified_{method}",
        n=int(n.sum()),
        successes=int(k.sum()),
        weighted=True,
        assumptions=notes,
        validity="asymptotic" if approximate else "finite-sample",
    )


def _counts(correct: Any, stratum: Any, weights: Any) -> tuple[PerStratum, PerStratum, PerStratum]:
    """Right answers, labels and share of each stratum."""
    right = check_correct(correct)
    w = check_weights(weights, None)
    rows = check_labels(stratum, len(right), len(w), "stratum")
    n = np.bincount(rows, minlength=len(w)).astype(np.float64)
    unseen = np.flatnonzero((n == 0) & (w > 0))
    if len(unseen):
        s = int(unseen[0])
        raise InputError(
            f"stratum {s} holds {w[s] / w.sum():.3g} of the operation but has no label: "
            "label some of its inputs, or join it with another stratum"
        )
    return np.bincount(rows, right, minlength=len(w)), n, w / w.sum()


def _bootstrap(k: PerStratum, n: PerStratum, w: PerStratum, alpha: float, draws: int, seed: int) -> float:
    """The largest m (found by halving) that counts drawn at the constrained maximum reject at level α.

    The p-value of m is the share of draws, and the data, whose log-likelihood ratio against m is at least that
    of the data. All m use the same uniform numbers, so the p-value moves smoothly. With one stratum this is
    Clopper–Pearson's bound.
    """
    if not isinstance(draws, int) or isinstance(draws, bool) or (draws + 1) * alpha < 5:
        raise InputError(f"draws must be a whole number, at least {math.ceil(5 / alpha)}, not {draws!r}")
    if not k.any():
        return 0.0
    uniform = Stream.STRATIFIED_BOOTSTRAP.generator(check_seed(seed)).random((draws, len(n)))
    most = log_likelihood(k, n, k / n)

    def p_value(m: float) -> float:
        a = constrained_rates(m, k[None], n, w)[0]
        seen = most - log_likelihood(k, n, a)
        drawn = np.stack(
            [np.searchsorted(bdtr(np.arange(n[s]), int(n[s]), a[s]), uniform[:, s]) for s in range(len(n))],
            axis=1,
        ).astype(np.float64)
        drawn = drawn[(drawn / n) @ w > m]
        ratio = log_likelihood(drawn, n, drawn / n) - log_likelihood(
            drawn, n, constrained_rates(m, drawn, n, w)
        )
        return (1.0 + float((ratio >= seen - 1e-9).sum())) / (draws + 1.0)

    low, high = mean_after_drop(2.0 * math.log(1.0 / alpha) + len(n), k, n, w), float(w @ (k / n))
    for _ in range(16):
        middle = (low + high) / 2.0
        low, high = (middle, high) if p_value(middle) <= alpha else (low, middle)
    return low


def _e_process(k: PerStratum, n: PerStratum, w: PerStratum, alpha: float, prior: PerStratum | None) -> float:
    """Rates drawn from Beta laws against the best rates with Σ w_s a_s ≤ m (Wasserman et al. 2020; Turner et al. 2024).

    For any true rates the ratio of the mixture's likelihood to theirs is a martingale of mean 1, and theirs is
    at most the constrained maximum: so the ratio to that maximum ever reaches 1/α with probability at most α.
    """
    if prior is None:
        a = b = np.full((1, len(n)), 0.5)
    else:
        a = 0.5 + PRIOR_STRENGTHS[:, None] * prior
        b = 0.5 + PRIOR_STRENGTHS[:, None] * (1.0 - prior)
    mixture = float(logsumexp((betaln(a + k, b + n - k) - betaln(a, b)).sum(axis=1)) - math.log(len(a)))
    most = float(log_likelihood(k, n, k / n))
    return mean_after_drop(most - mixture - math.log(alpha), k, n, w)


def _bonferroni(k: PerStratum, n: PerStratum, w: PerStratum, alpha: float) -> float:
    lowest = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, alpha / len(n)), 0.0)
    return float(w @ lowest)
