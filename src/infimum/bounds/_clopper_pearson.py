"""The exact binomial lower bound on labelled data (Clopper and Pearson, 1934), for all classes and for each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, Real, check_labels
from infimum.bounds._bound import DRAWN_ALIKE, Bound, Estimate, check_confidence
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._observations import check_correct
from infimum.errors import InputError

MOST_LABELS = 10**9
"""More labels than this are not worth telling."""


def clopper_pearson(correct: Any, confidence: Real = 0.95, label_errors: Any = None) -> Bound:
    """One-sided Clopper–Pearson bound on Success(f) from which labelled inputs were classified correctly.

    `correct` (n,) boolean or 0/1, n ≥ 1. The bound is the p with Pr(Binomial(n, p) ≥ k) = 1 − confidence, a
    Beta quantile; 0 when nothing was correct. Holds for every n. `label_errors`: at most how many of the labels are
    wrong (5), or with which probability each is (0.02). Raises InputError for other input.

    >>> import numpy as np
    >>> from infimum.bounds import clopper_pearson
    >>> round(clopper_pearson(np.ones(58, dtype=bool), confidence=0.95).value, 3)
    0.95
    >>> round(clopper_pearson(np.ones(100, dtype=bool), label_errors=5).value, 4)
    0.8977
    """
    confidence, errors = check_confidence(confidence), LabelErrors.of(label_errors)
    right = check_correct(correct)
    n, k = len(right), int(right.sum())
    value, if_right = (float(binomial_lower(max(0, k - j), n, 1.0 - confidence)) for j in (errors.count, 0))
    bound = Bound(value, confidence, "clopper_pearson", n, DRAWN_ALIKE, successes=k)
    return errors.corrected(bound, if_right)


def clopper_pearson_per_class(
    correct: Any, labels: Any, n_classes: int, confidence: Real = 0.95
) -> tuple[Bound, ...]:
    """Lower bounds on Pr(f(X) = Y | Y = c), one per class c, which hold *all together* with `confidence`.

    `correct` (n,) as in `clopper_pearson`, `labels` (n,) in 0..n_classes−1. Given the labels the classes are
    independent, so each of the K' classes that have labels gets the level confidence^(1/K') (Šidák 1967),
    which is a little more than Bonferroni's. A class without labels gets the bound 0. Raises InputError.

    >>> bounds = clopper_pearson_per_class([1] * 90 + [0] * 10, [0] * 50 + [1] * 50, n_classes=2)
    >>> [round(b.value, 3) for b in bounds]
    [0.929, 0.663]
    """
    confidence = check_confidence(confidence)
    right, n = class_counts(correct, labels, n_classes)
    with_labels = int((n > 0).sum())
    values = binomial_lower(right, n, sidak_miss(confidence, with_labels))
    together = (
        f"the bounds of all {n_classes} classes hold together with this confidence "
        f"(Šidák over the {with_labels} classes with labels)"
    )
    return tuple(
        Bound(
            value=float(values[c]),
            confidence=confidence,
            method="clopper_pearson_per_class",
            n=int(n[c]),
            successes=int(right[c]),
            assumptions=(
                "within the class, the labelled inputs were drawn independently from the operational distribution",
                *DRAWN_ALIKE[1:],
                together if n[c] else f"class {c} has no labelled input: nothing is known of it",
            ),
            details={"class": c},
        )
        for c in range(n_classes)
    )


def wilson(correct: Any, confidence: Real = 0.95) -> Estimate:
    """One-sided Wilson score limit (Wilson 1927), for display beside an accuracy: approximate, no guarantee.

    With p̂ = k/n and z the normal quantile: (p̂ + z²/2n − z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n). For accuracies
    near 1 it misses more often than it says, so it is an `Estimate`, which no target can be judged by.

    >>> import numpy as np
    >>> wilson(np.arange(100) < 99).value > clopper_pearson(np.arange(100) < 99).value
    True
    """
    from scipy.special import ndtri

    confidence = check_confidence(confidence)
    right = check_correct(correct)
    n, share, z = len(right), float(right.mean()), float(ndtri(confidence))
    half_width = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Estimate(
        value=min(1.0, max(0.0, (share + z**2 / (2 * n) - half_width) / (1 + z**2 / n))),
        method="wilson",
        note=f"approximate one-sided {confidence * 100:.10g} % limit on {n} labelled inputs, for display: "
        "near 1 it misses more often than it says; clopper_pearson is the one that holds",
    )


def binomial_lower(right: Any, n: Any, miss: float) -> Float[np.ndarray, "..."]:
    """The p with Pr(Binomial(n, p) ≥ right) = miss, elementwise; 0 for right = 0 (and n = 0)."""
    from scipy.special import betaincinv

    right, n = np.asarray(right), np.asarray(n)
    lower: Array = np.where(right > 0, betaincinv(np.maximum(right, 1), n - right + 1, miss), 0.0)
    return lower


def successes_needed(at_least: float, n: int, miss: float) -> int | None:
    """Fewest correct of n inputs whose bound, missed with chance `miss`, is `at_least`; None if even n are too few.

    >>> successes_needed(0.95, 58, 0.05), successes_needed(0.95, 59, 0.05)
    (None, 59)
    """
    if float(binomial_lower(n, n, miss)) < at_least:
        return None
    low, high = 0, n  # the bound grows with the number of correct inputs
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if float(binomial_lower(middle, n, miss)) < at_least else (low, middle)
    return low


def labels_needed(at_least: float, accuracy: float, confidence: float = 0.95) -> int | None:
    """About how many labelled inputs the bound needs to reach `at_least`, if it stays at this accuracy.

    The smallest n whose bound of n · accuracy correct inputs does; that number need not be whole, so a few more
    or fewer may do. None where the accuracy itself is not above `at_least`, or a billion labels are too few.

    >>> labels_needed(0.95, 1.0), labels_needed(0.95, 0.96), labels_needed(0.95, 0.95)
    (59, 1332, None)
    """
    if accuracy <= at_least:
        return None
    low, high = 0, MOST_LABELS
    while high - low > 1:
        middle = (low + high) // 2
        reached = float(binomial_lower(accuracy * middle, middle, 1.0 - confidence)) >= at_least
        low, high = (low, middle) if reached else (middle, high)
    return None if high == MOST_LABELS else high


def sidak_miss(confidence: float, tests: int) -> float:
    """Chance of error of each of `tests` independent bounds that hold together with `confidence`.

    >>> round(sidak_miss(0.95, 10), 5)
    0.00512
    """
    return -math.expm1(math.log(confidence) / tests)


def class_counts(correct: Any, labels: Any, n_classes: int) -> tuple[Array, Array]:
    """Number of correct and of all labelled inputs of each class, (n_classes,) each."""
    right = check_correct(correct)
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise InputError(f"n_classes must be a whole number, 2 or more, not {n_classes!r}")
    classes = check_labels(labels, len(right), int(n_classes))
    n = np.bincount(classes, minlength=n_classes)
    return np.bincount(classes[right], minlength=n_classes), n
