"""Success under a class-weighted operational profile: Σ_c w_c a_c, from labels whose class shares may differ.

Let a_c be the accuracy on class c, n_c its labelled inputs, T = Σ_c w_c k_c/n_c the weighted accuracy seen, and
s_c = w_c/n_c. Given the labels the k_c are independent binomials, so for the true a and every λ ≥ 0 (Chernoff)

    log Pr(T ≥ t) ≤ Σ_c n_c log(1 − a_c + a_c e^{λ s_c}) − λ t.

The a are not known. A box Π_c [lo_c, hi_c] holds them with probability 1 − α/10 (Clopper–Pearson, Šidák); for
every μ > 0 and every a in it with Σ_c w_c a_c = v the right side is at most D(λ, μ) + μ v, where

    D(λ, μ) = Σ_c max_{lo_c ≤ a ≤ hi_c} [n_c log(1 − a + a e^{λ s_c}) − μ w_c a] − λ t   (Lagrangian duality),

hence sup_{λ, μ} (log(9α/10) − D(λ, μ))/μ, with t = T as seen, exceeds the true Σ_c w_c a_c with probability at
most α (the box after Berger and Boos 1994). Each pair (λ, μ) that is tried gives a valid value: an optimum found
inexactly costs tightness, never validity. One linear statistic is tested, so no price is paid per class.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, Real, check_numbers, check_weights
from infimum.bounds._bound import DRAWN_ALIKE, Bound, check_confidence
from infimum.bounds._clopper_pearson import binomial_lower, class_counts, sidak_miss
from infimum.errors import InputError

BOX_SHARE = 0.1
"""Share of the chance of error that the box of class accuracies takes: it costs some 2 %, and saves up to a
sixth of the gap where few classes carry the profile."""


def class_profile(correct: Any, labels: Any, profile: Any, confidence: Real = 0.95) -> Bound:
    """Lower bound on Σ_c w_c Pr(f(X) = Y | Y = c), `profile` (K,) being the class probabilities w of operation.

    `correct` (n,) boolean or 0/1, `labels` (n,) in 0..K−1. Exact in finite samples for any class shares of the
    labelled inputs, which need only be drawn fairly within each class. A class of the profile without labels
    counts as never correct. Raises InputError, also where `profile` does not sum to 1.

    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 200)
    >>> correct = np.r_[np.arange(200) < 196, np.arange(200) < 150]
    >>> round(class_profile(correct, labels, [0.9, 0.1]).value, 3)
    0.92
    """
    confidence = check_confidence(confidence)
    share = check_profile(profile)
    right, n = class_counts(correct, labels, len(share))
    known = (share > 0) & (n > 0)
    missing = np.flatnonzero((share > 0) & (n == 0))
    assumptions = [
        "within each class, the labelled inputs were drawn independently from the operational distribution",
        *DRAWN_ALIKE[1:],
        "the class probabilities of operation are those given",
    ]
    if len(missing):
        some = ", ".join(str(c) for c in missing[:5]) + (", …" if len(missing) > 5 else "")
        assumptions.append(
            f"class {some} of the profile (probability {share[missing].sum():.4g} in all) has no labelled input "
            "and counts as never correct"
        )
    value = weighted_lower(right[known], n[known], share[known], 1.0 - confidence) if known.any() else 0.0
    return Bound(
        value=value,
        confidence=confidence,
        method="class_profile",
        n=int(n[known].sum()),
        successes=int(right[known].sum()),
        weighted=True,
        assumptions=tuple(assumptions),
        details={"without_labels": float(share[missing].sum())},
    )


def check_profile(profile: Any) -> Float[np.ndarray, " K"]:
    """Class probabilities (K,), K ≥ 2, that sum to 1.

    >>> check_profile([0.25, 0.75]).tolist()
    [0.25, 0.75]
    """
    array = check_numbers(profile, "profile")
    if array.ndim != 1 or len(array) < 2:
        raise InputError(
            f"profile must hold one probability for each of 2 or more classes, not shape {array.shape}"
        )
    share = check_weights(array, len(array), "profile")
    total = float(share.sum())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"profile sums to {total:.6g}; class probabilities sum to 1 (divide by their sum)")
    return share / total


def weighted_lower(right: Array, n: Array, w: Array, miss: float) -> float:
    """The supremum of the module's docstring, at least 0."""
    from scipy.optimize import minimize_scalar

    each = sidak_miss(1.0 - BOX_SHARE * miss, len(n)) / 2
    low, high = binomial_lower(right, n, each), 1.0 - binomial_lower(n - right, n, each)
    log_miss = math.log((1.0 - BOX_SHARE) * miss)
    per_row = w / n
    seen = float((per_row * right).sum())
    scale = 1.0 / float((w * per_row).sum())  # effective number of rows: λ and μ are of its order

    def value(lambda_: float, mu: float) -> float:
        tilt = lambda_ * per_row
        # Where the bracket of D has its maximum: n g/(1 + a g) = μ w with g = e^{λs} − 1.
        a = np.clip(1.0 / (mu * per_row) - 1.0 / np.expm1(np.minimum(tilt, 700.0)), low, high)
        with np.errstate(divide="ignore"):
            log_mgf = np.logaddexp(np.log1p(-a), np.log(a) + tilt)
        dual = float((n * log_mgf - mu * w * a).sum()) - lambda_ * seen
        return (log_miss - dual) / mu

    centre = math.log(scale)

    def best_over_mu(log_lambda: float) -> float:
        optimum = minimize_scalar(
            lambda log_mu: -value(math.exp(log_lambda), math.exp(log_mu)),
            bounds=(centre - 8.0, centre + 10.0),
            method="bounded",
            options={"xatol": 1e-4},
        )
        return float(optimum.fun)

    optimum = minimize_scalar(
        best_over_mu, bounds=(centre - 8.0, centre + 8.0), method="bounded", options={"xatol": 1e-3}
    )
    return max(0.0, -float(optimum.fun))
