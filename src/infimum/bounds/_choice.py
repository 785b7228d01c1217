"""The tightest of several bounds, without peeking: the largest of several 95 % bounds is not a 95 % bound.

Two ways hold. Split the error: k bounds at 1 − α/k hold together with 1 − α, so the largest of them does (`best`).
Or choose before the labelled inputs are drawn, on other inputs (`rehearse`). Rehearsing on the labelled inputs
themselves would not do: where their levels foretell their labels it is peeking, though no label was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from infimum._checks import Array, Real, check_seed
from infimum._rounding import floored
from infimum._streams import Stream
from infimum.bounds._bound import Bound, check_confidence
from infimum.bounds._observations import check_bounded, check_correct
from infimum.errors import InputError

Candidate = Callable[[Array, float], Bound]
"""A bound as a function of what is right and the confidence; all else it needs is fixed in it beforehand."""

REHEARSALS = 20


def best(candidates: Mapping[str, Candidate], correct: Any, confidence: Real = 0.95) -> Bound:
    """The largest lower bound among candidates, at the confidence asked for; the result says how it was chosen.

    The error 1 − confidence is split evenly over the candidates, so that all hold together (Bonferroni), and the
    largest bound is taken: valid however the candidates depend on each other.

    `candidates` maps names to functions (correct, confidence) -> Bound; `correct` (n,) right or wrong. Raises
    InputError for no candidate, or a `correct` that is not 0/1.

    >>> import numpy as np
    >>> from infimum.bounds import best, betting, clopper_pearson
    >>> bound = best({"exact": clopper_pearson, "betting": betting}, np.arange(200) < 190)
    >>> bound.method, round(bound.value, 3), bound.confidence
    ('clopper_pearson', 0.91, 0.95)
    """
    confidence = check_confidence(confidence)
    right = check_correct(correct)
    names = ", ".join(_some(candidates))
    share = 1.0 - (1.0 - confidence) / len(candidates)
    tried = [make(right, share) for make in candidates.values()]
    largest = max(tried, key=lambda bound: bound.value)
    shown = floored(share, 6).rstrip("0")
    how = f"the largest of {names}, each at confidence {shown}: the error was split over all of them"
    # All must hold together, so one that holds only in the limit makes the choice hold only in the limit.
    asymptotic = any(bound.validity == "asymptotic" for bound in tried)
    return replace(
        largest,
        confidence=confidence,
        assumptions=(*dict.fromkeys(text for bound in tried for text in bound.assumptions), how),
        validity="asymptotic" if asymptotic else largest.validity,
    )


def rehearse(candidates: Mapping[str, Candidate], levels: Any, confidence: Real = 0.95, seed: int = 0) -> str:
    """Name of the candidate whose bound is largest on average over labels drawn from levels: a choice without labels.

    `levels` (n,) expected success rates, in [0, 1], of n inputs that are *not* those to be labelled: drawn alike,
    for example other operation inputs. `candidates` as for `best`, built on these inputs. Then the choice is
    independent of the labelled inputs, and the chosen bound holds on them at the whole confidence; wrong levels
    choose badly, no more. Bounds that differ in luck only, as that of either half of the labels, show why the
    inputs must be others: chosen by levels that foretell the labels, such a bound misses up to twice too often.
    Raises InputError for no candidate, or levels outside [0, 1].

    >>> import numpy as np
    >>> from infimum.bounds import betting, clopper_pearson, rehearse
    >>> rehearse({"exact": clopper_pearson, "betting": betting}, np.full(200, 0.9))
    'exact'
    """
    confidence = check_confidence(confidence)
    expected = check_bounded(levels, "levels")
    rng = Stream.BOUND_REHEARSAL.generator(check_seed(seed))
    drawn = rng.random((REHEARSALS, len(expected))) < expected
    means = {
        name: float(np.mean([make(labels, confidence).value for labels in drawn]))
        for name, make in _some(candidates).items()
    }
    return max(means, key=lambda name: means[name])


def _some(candidates: Mapping[str, Candidate]) -> Mapping[str, Candidate]:
    if not candidates:
        raise InputError(
            "candidates is empty: name at least one bound, for example {'exact': clopper_pearson}"
        )
    return candidates
