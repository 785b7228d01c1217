"""The tightest of several bounds, without peeking: the largest of several 95 % bounds is not a 95 % bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from infimum.bounds.base import Bound, check_confidence
from infimum.bounds.observations import check_bounded, check_correct
from infimum.checks import Array, Real, check_seed
from infimum.errors import InputError

Candidate = Callable[[Array, float], Bound]
"""A bound as a function of what is right and the confidence; all else it needs is fixed in it beforehand."""

REHEARSALS = 20


def best(
    candidates: Mapping[str, Candidate],
    correct: Any,
    confidence: Real = 0.95,
    levels: Any = None,
    seed: int = 0,
) -> Bound:
    """The largest lower bound among candidates, at the confidence asked for; the result says how it was chosen.

    With `levels` (n,), expected success rates of the labelled inputs that these labels did not calibrate, the
    method is chosen *before the labels count*: each candidate is rehearsed on labels drawn from the levels,
    and the one whose bound is largest on average is taken at the whole confidence. Wrong levels may choose
    badly, but never break the bound. Without levels the error 1 − confidence is split evenly over the
    candidates, and the largest bound is taken.

    `candidates` maps names to functions (correct, confidence) -> Bound, each tried only when it is needed;
    `correct` (n,) right or wrong. Raises InputError for no candidate, or levels that do not fit.

    >>> import numpy as np
    >>> from infimum.bounds import best, betting, clopper_pearson
    >>> bound = best({"exact": clopper_pearson, "betting": betting}, np.arange(200) < 190, levels=np.full(200, 0.9))
    >>> bound.method, round(bound.value, 3), bound.confidence
    ('clopper_pearson', 0.917, 0.95)
    """
    confidence = check_confidence(confidence)
    right = check_correct(correct)
    if not candidates:
        raise InputError(
            "candidates is empty: name at least one bound, for example {'exact': clopper_pearson}"
        )
    names = ", ".join(candidates)
    if levels is not None:
        expected = check_bounded(levels, "levels", n=len(right))
        name = _rehearse(candidates, expected, confidence, check_seed(seed))
        found = candidates[name](right, confidence)
        how = f"{name} was chosen among {names} by rehearsal on the levels, not on the labels"
        return replace(found, assumptions=(*found.assumptions, how))
    share = 1.0 - (1.0 - confidence) / len(candidates)
    tried = [make(right, share) for make in candidates.values()]
    found = max(tried, key=lambda bound: bound.value)
    how = f"the largest of {names}, each at confidence {share:.6g}: the error was split over all of them"
    # All must hold together, so one that holds only in the limit makes the choice hold only in the limit.
    asymptotic = any(bound.validity == "asymptotic" for bound in tried)
    return replace(
        found,
        confidence=confidence,
        assumptions=(*dict.fromkeys(text for bound in tried for text in bound.assumptions), how),
        validity="asymptotic" if asymptotic else found.validity,
    )


def _rehearse(candidates: Mapping[str, Candidate], levels: Array, confidence: float, seed: int) -> str:
    """The candidate of the largest mean bound over labels drawn from the levels; the first of equals."""
    if len(candidates) == 1:
        return next(iter(candidates))
    rng = np.random.default_rng([seed, 0xBE57])
    drawn = rng.random((REHEARSALS, len(levels))) < levels
    means = {
        name: float(np.mean([make(labels, confidence).value for labels in drawn]))
        for name, make in candidates.items()
    }
    return max(means, key=lambda name: means[name])
