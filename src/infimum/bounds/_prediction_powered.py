"""Prediction-powered lower bounds on Success(f): few labels, many inputs without, and a level for each input.

With C = 1 where the classifier is right and g(x) in [0, 1] a level fixed beforehand (λ(x), or better the
recalibrated one), Success(f) = E[C − ρ g] + ρ E[g] for every ρ: the first mean needs labels, and varies less
than C where g tells right from wrong; the second needs none. g decides the width, never the validity.

"asymptotic": PPI++ (Angelopoulos, Duchi and Zrnic 2023), ρ tuned to the smallest variance, a normal interval.

"betting", for every n. Let x_i = C_i + ρ(1 − g_i) ≥ 0, of mean M = m + ρ(1 − μ) when Success(f) = m and
E[g] = μ, and κ_j predictable. For the true (m, μ)
    Π_i (1 + θ_i (x_i − M)/M₀) · Π_j (1 + κ_j (g_j − μ)),   M₀ = m + ρ(1 − μ₀) ≥ M,
has mean 1 over the labelled i and the unlabelled j, so it reaches 1/α₁ with probability at most α₁. μ is not
known but lies in a two-sided betting interval [μ₀, μ₁] of confidence 1 − α₂. m is rejected when the product
is at least 1/α₁ for every μ in it; its logarithm is concave in μ, so the two ends decide. α = α₁ + α₂. With
stakes in the proportion Σκ = ρ Σθ/M₀ the dependence on μ cancels to first order: the two errors add as those of
independent means do, where a bound of each part would add their widths.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from infimum._checks import Real, check_share
from infimum.bounds._betting import betting_bounds, kelly, lowest_mean, running_mean, stakes
from infimum.bounds._bound import LABELS_RIGHT, Bound, check_confidence
from infimum.bounds._clopper_pearson import clopper_pearson
from infimum.bounds._observations import check_bounded, check_correct
from infimum.errors import InputError

MEAN_SHARE = 0.02
"""Share of α spent on the interval of E[g]: it enters to second order only."""


def prediction_powered(
    correct: Any,
    predicted_labelled: Any,
    predicted_unlabelled: Any,
    confidence: Real = 0.95,
    method: Literal["asymptotic", "betting"] = "asymptotic",
    power: Real | None = None,
) -> Bound:
    """Lower bound on Success(f) from n labelled inputs and N unlabelled ones with levels in [0, 1].

    Parameters
    ----------
    correct, predicted_labelled
        (n,) right or wrong, and the level of each of these inputs, in the order of drawing.
    predicted_unlabelled
        (N,) levels of other inputs of the same distribution, none of them among the labelled.
    method
        "asymptotic" (PPI++, n ≥ 2) or "betting" (holds for every n, and is wider).
    power
        ρ in [0, 1]. None: tuned on the data ("asymptotic"), or N/(N + n) ("betting"), the best for calibrated
        levels. Levels of which another factor is known to be better must have it chosen before the labels.

    Raises
    ------
    InputError
        For lengths that do not fit, levels outside [0, 1], a `correct` that is not 0/1.

    >>> import numpy as np
    >>> from infimum.bounds import clopper_pearson, prediction_powered
    >>> rng = np.random.default_rng(0)
    >>> level = 1 - rng.random(5300) ** 8
    >>> correct = rng.random(300) < level[:300]
    >>> [round(b.value, 3) for b in (
    ...     clopper_pearson(correct), prediction_powered(correct, level[:300], level[300:]),
    ...     prediction_powered(correct, level[:300], level[300:], method="betting"))]
    [0.808, 0.859, 0.838]
    """
    confidence = check_confidence(confidence)
    right = check_correct(correct)
    labelled = check_bounded(predicted_labelled, "predicted_labelled", n=len(right))
    unlabelled = check_bounded(predicted_unlabelled, "predicted_unlabelled")
    power = None if power is None else check_share(power, "power")
    if method == "asymptotic":
        return _asymptotic(right, labelled, unlabelled, confidence, power)
    if method == "betting":
        return _betting(right, labelled, unlabelled, confidence, power)
    raise InputError(f"method must be asymptotic or betting, not {method!r}")


ASSUMPTIONS = (
    "labelled and unlabelled inputs were drawn independently from the operational distribution",
    "the levels were fixed before the labels were seen: none of these labels calibrated them",
    LABELS_RIGHT,
)


def _asymptotic(
    correct: Bool[np.ndarray, " n"],
    labelled: Float[np.ndarray, " n"],
    unlabelled: Float[np.ndarray, " N"],
    confidence: float,
    power: Real | None,
) -> Bound:
    """PPI++ for a mean (Angelopoulos et al. 2023, sections 2 and 6)."""
    from scipy.special import ndtri

    n, n_unlabelled = len(correct), len(unlabelled)
    if n < 2:
        raise InputError("the asymptotic prediction-powered bound needs at least two labels")
    if power is None:
        spread = np.var(np.concatenate([labelled, unlabelled]), ddof=1)
        together = np.mean((correct - correct.mean()) * (labelled - labelled.mean()))
        best = together / ((1.0 + n / n_unlabelled) * spread) if spread > 0 else 0.0
        power = min(1.0, max(0.0, float(best)))
    rest = correct - power * labelled
    error = math.sqrt(np.var(rest) / n + power**2 * np.var(unlabelled) / n_unlabelled)
    value = float(rest.mean() + power * unlabelled.mean() - ndtri(confidence) * error)
    wrong = int(n - correct.sum())
    notes = [f"asymptotic: the normal approximation, with {wrong} errors seen, is taken to hold"]
    if wrong == 0:
        notes.append("no error was seen, so no variance: Clopper–Pearson's bound is taken where it is lower")
        value = min(value, clopper_pearson(correct, confidence).value)
    return Bound(
        value=min(1.0, max(0.0, value)),
        confidence=confidence,
        method="prediction_powered",
        n=n,
        successes=n - wrong,
        assumptions=(*ASSUMPTIONS, *notes),
        validity="asymptotic",
    )


def _betting(
    correct: Bool[np.ndarray, " n"],
    labelled: Float[np.ndarray, " n"],
    unlabelled: Float[np.ndarray, " N"],
    confidence: float,
    power: Real | None,
) -> Bound:
    n, n_unlabelled = len(correct), len(unlabelled)
    power = n_unlabelled / (n_unlabelled + n) if power is None else float(power)
    alpha = 1.0 - confidence
    ends = betting_bounds(np.stack([unlabelled, 1.0 - unlabelled]), 1.0 - MEAN_SHARE * alpha / 2.0)
    lowest, highest = float(ends[0]), 1.0 - float(ends[1])
    threshold = -math.log((1.0 - MEAN_SHARE) * alpha)

    x = correct + power * (1.0 - labelled)
    theta = stakes(x[None], threshold / n)
    kappa = _unlabelled_stakes(unlabelled, n, power, threshold)
    means = []
    for mean in (lowest, highest):
        won = float(np.log1p(kappa * (unlabelled - mean)).sum())
        # x − M = x + ρ(mean − lowest) − M₀
        shifted = x + power * (mean - lowest)
        means.append(float(lowest_mean(shifted[None], theta, threshold - won)[0]))
    value = min(means) - power * (1.0 - lowest)
    return Bound(
        value=min(1.0, max(0.0, value)),
        confidence=confidence,
        method="prediction_powered_betting",
        n=n,
        successes=int(correct.sum()),
        assumptions=(
            *ASSUMPTIONS,
            "both are given in the order of drawing, or in another that does not depend on labels and levels",
        ),
    )


def _unlabelled_stakes(
    levels: Float[np.ndarray, " N"], n: int, power: float, threshold: float
) -> Float[np.ndarray, " N"]:
    """κ_j ≤ 1/2 from the levels before the j-th: ρ n/N times the stake that calibrated levels would call for.

    Were the levels calibrated, x would have the mean M = μ + ρ(1 − μ) and the variance of C − ρg,
    E[g(1 − g)] + (1 − ρ)² Var g.
    """
    mean, square = running_mean(np.stack([levels, levels**2]))
    expected = mean + power * (1.0 - mean)
    variance = np.maximum(mean - square + (1.0 - power) ** 2 * (square - mean**2), 1e-12)
    stake = kelly(expected[None], (expected**2 + variance)[None], threshold / n)[0] / expected
    kappa: Float[np.ndarray, " N"] = np.minimum(power * n / len(levels) * stake, 0.5)
    return kappa
