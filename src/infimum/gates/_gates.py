"""Gates for continuous integration: whether a target is met, and whether a released bound is kept."""

from __future__ import annotations

from dataclasses import dataclass

from infimum._checks import Real, exact_fraction
from infimum._rounding import floor4, percent, unrounded
from infimum.assessment._results import Assessment
from infimum.bounds import Bound
from infimum.bounds._clopper_pearson import binomial_lower, labels_needed, successes_needed
from infimum.bounds._label_errors import LabelErrors
from infimum.comparison._inputs import hashes
from infimum.errors import InputError
from infimum.io.records import Record
from infimum.report.wording import alike, named

BINOMIAL = "clopper_pearson"

LABEL_ANEW = (
    "every bound holds for inputs like the labelled ones: look for a difference in preprocessing; else label a random "
    "sample of the operation and certify on that"
)

OFTEN = 0.1
"""A gate that fails more often than this for a network as good as the released one is said to be too tight."""


@dataclass(frozen=True)
class Gate(Record):
    """What was asked, whether it holds, why, and what a reader should know besides."""

    name: str
    passed: bool
    message: str
    notes: tuple[str, ...] = ()


def gates_of(
    a: Assessment,
    released: Assessment | None = None,
    tolerance: Real | None = None,
    require_alike: bool = False,
) -> tuple[Gate, ...]:
    """Every gate that was asked for: the target, the released bound, and whether the inputs look alike."""
    found = (
        target_gate(a),
        None if released is None or tolerance is None else baseline_gate(a, released, tolerance),
        alike_gate(a) if require_alike else None,
    )
    return tuple(gate for gate in found if gate is not None)


def target_gate(a: Assessment) -> Gate | None:
    """Whether the bound named beforehand reaches the target; None where no target was set.

    It passes a network whose reliability is below the target with probability at most 1 − confidence. It may fail
    one that is above it: the notes say how many labels would do.
    """
    if a.target is None:
        return None
    bound = a.judge
    said = (
        f"at least {floor4(bound.value)} with {percent(bound.confidence)} confidence ({named(bound.method)}, "
        f"{bound.n:,} labelled inputs)"
    )
    if a.target.met:
        return Gate("target", True, f"{said}, {unrounded(a.target.value)} was asked for{_if_alike(a)}")
    message = f"{said}, but {unrounded(a.target.value)} was asked for"
    # How many labels would do is known of Clopper–Pearson's only.
    help_ = (what_would_do(bound, a.target.value),) if bound.method == BINOMIAL else ()
    return Gate("target", False, message, help_)


def baseline_gate(a: Assessment, released: Assessment, tolerance: Real) -> Gate:
    """Whether the bound is not below that of a released assessment by more than `tolerance`, in [0, 1).

    Passing is a claim on reliability: with its confidence, Success(f) ≥ the bound ≥ the released one − tolerance.
    Failing is none: a bound also falls by the chance of the labels drawn, and with fewer of them. The notes give
    the probability that a network exactly as accurate as the released one was measured would fail (known for
    Clopper–Pearson bounds of labels that are right). Whether this network is *worse* than the released one is for
    `infimum compare` on the same inputs.

    Raises InputError where the two bounds are not of the same method and confidence.
    """
    allowed = float(exact_fraction(tolerance, "tolerance", inside=False))
    new, old = a.judge, released.judge
    if (new.method, new.confidence) != (old.method, old.confidence):
        raise InputError(
            f"the released bound is {old.method} at {percent(old.confidence)}, this one {new.method} at "
            f"{percent(new.confidence)}: they cannot be compared; assess one of the two as the other"
        )
    least = old.value - allowed
    passed = new.value >= least
    message = (
        f"at least {floor4(new.value)} ({new.n:,} labelled inputs); released: {floor4(old.value)} ({old.n:,}), "
        f"which may fall by {unrounded(allowed)}{_if_alike(a) if passed else ''}"
    )
    notes = []
    binomial = old.method == BINOMIAL and not label_error_share(old) and not label_error_share(new)
    chance = false_alarm(old, new.n, allowed) if binomial else None
    if chance is not None and (not passed or chance > OFTEN):
        notes.append(
            f"a network exactly as accurate as the released one was measured would fail this gate in {chance:.0%} of "
            f"the draws of {new.n:,} labelled inputs"
            + ("; allow a larger tolerance, or label more" if chance > OFTEN else "")
        )
    if not passed:
        notes.append(
            "a lower bound alone does not show that the network is worse: compare the two on one data set"
        )
    if _same_labels(a, released):
        notes.append(
            "the labelled inputs may be those of the released assessment (equal labels or ids): a bound holds only if "
            "they did not serve to choose between versions; draw new ones from time to time"
        )
    return Gate("baseline", passed, message, tuple(notes))


def alike_gate(a: Assessment) -> Gate:
    """Whether the tests left standing what every bound assumes: labelled and operational inputs are alike.

    It fails inputs that are alike with probability at most the test's level; where the operation has labels, which
    are then tested too, at most that and `measured.LEVEL`. Passing is no proof that they are.

    Raises InputError for an assessment without the test.
    """
    found = a.exchangeability
    if found is None:
        raise InputError(
            "the assessment has no test of whether calibration and operation are alike: it was not asked for, or every "
            "operation input is a labelled row too"
        )
    message, measured, passed = alike(found).rstrip("."), a.measured, not a.contradicted
    if measured is not None and measured.rejected:
        message += (
            f"; but the accuracy of the operation ({measured.operation:.4f}) is below that of the labelled inputs "
            f"({measured.labelled:.4f}, p {measured.p_in_words})"
        )
    return Gate("alike", passed, message, () if passed else (LABEL_ANEW,))


def _if_alike(a: Assessment) -> str:
    against = "; this holds only if labelled and operational inputs are alike, which a test REJECTS"
    return against if a.contradicted else ""


def false_alarm(released: Bound, n: int, tolerance: float) -> float:
    """Probability that n new labels give a bound below released − tolerance at the released measured accuracy.

    With k₀ of n₀ released inputs correct: Pr(Binomial(n, k₀/n₀) < k), k the fewest whose bound is high enough.
    """
    from scipy.stats import binom

    needed = successes_needed(released.value - tolerance, n, 1.0 - released.confidence)
    if needed is None:
        return 1.0
    return float(binom.cdf(needed - 1, n, _right(released) / released.n))


def what_would_do(bound: Bound, at_least: float) -> str:
    """How many labels a Clopper–Pearson bound would need, at the accuracy measured or without errors."""
    right = _right(bound)
    accuracy, wrong = right / bound.n, bound.n - right
    seen = f"{wrong:,} of {bound.n:,} labelled inputs were wrong (accuracy {floor4(accuracy)})"
    cost = label_error_share(bound)
    if cost:
        seen += f", and labels may be wrong, which costs {cost:.4g} as long as that share of them may be"
        at_least = min(1.0, at_least + cost)
    needed = labels_needed(at_least, accuracy, bound.confidence)
    if accuracy <= at_least:
        return f"{seen}: that is not above {unrounded(at_least)}, so more labels alone will not help"
    if needed is None:
        return f"{seen}: the accuracy is too near {unrounded(at_least)} for any number of labels to tell"
    return f"{seen}: about {needed:,} labels would be needed at this accuracy"


def fewest_without_errors(bound: Bound, at_least: float) -> int | None:
    """How many labels would do if all were right; wrong ones allowed for keep their count, or their rate.

    >>> import numpy as np
    >>> from infimum.bounds import clopper_pearson
    >>> fewest_without_errors(clopper_pearson(np.ones(100, dtype=bool), label_errors=5), 0.9)
    103
    """
    errors = LabelErrors.behind(bound)
    count, wanted, miss = errors.count, at_least + errors.rate, 1.0 - bound.confidence
    low = labels_needed(wanted, 1.0, bound.confidence)
    if low is None or not count:
        return low
    high = low + count
    while float(binomial_lower(high - count, high, miss)) < wanted:
        low, high = high, 2 * high
    while low < high:  # the bound of n − j right of n grows with n
        middle = (low + high) // 2
        enough = float(binomial_lower(middle - count, middle, miss)) >= wanted
        low, high = (low, middle) if enough else (middle + 1, high)
    return high


def label_error_share(bound: Bound) -> float:
    """The share of labels that may be wrong, which more labels do not make smaller."""
    errors = LabelErrors.behind(bound)
    return errors.rate + errors.count / bound.n


def _right(bound: Bound) -> int:
    """How many of its labelled inputs were right; InputError for a bound that was not made of their number."""
    if bound.successes is None:
        raise InputError(f"the {bound.method} bound does not say how many of its {bound.n} inputs were right")
    return bound.successes


def _same_labels(a: Assessment, b: Assessment) -> bool:
    ours, theirs = (hashes(x, "calibration") for x in (a, b))
    return any(name in ours and ours[name] == theirs.get(name) for name in ("labels", "ids"))
