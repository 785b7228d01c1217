"""Gates for continuous integration: whether a target is met, and whether a released bound is kept."""

from __future__ import annotations

from dataclasses import dataclass

from infimum._checks import Real, exact_fraction
from infimum._rounding import percent
from infimum.assessment._results import Assessment
from infimum.bounds import Bound
from infimum.bounds._clopper_pearson import binomial_lower, labels_needed, successes_needed
from infimum.bounds._label_errors import LabelErrors
from infimum.comparison._inputs import hashes
from infimum.errors import InputError
from infimum.io.findings import Finding, note
from infimum.io.records import Record

BINOMIAL = "clopper_pearson"

OFTEN = 0.1
"""A gate that fails more often than this for a network as good as the released one is said to be too tight."""


@dataclass(frozen=True)
class Gate(Record):
    """What was asked, whether it holds, why (`said`), and what a reader should know besides (`beside`)."""

    name: str
    passed: bool
    said: Finding
    beside: tuple[Finding, ...] = ()

    @property
    def message(self) -> str:
        """Why, as a sentence."""
        return str(self.said)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know besides, a sentence each."""
        return tuple(map(str, self.beside))


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
    bound, met = a.judge, a.target.met
    said = note(
        "target-gate",
        bound=bound.value,
        confidence=bound.confidence,
        method=bound.method,
        n=bound.n,
        target=a.target.value,
        passed=met,
        contradicted=a.contradicted,
    )
    # Only Clopper–Pearson's says how many were right.
    helps = not met and bound.method == BINOMIAL
    return Gate("target", met, said, (labels_that_would_do(bound, a.target.value),) if helps else ())


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
    said = note(
        "baseline-gate",
        bound=new.value,
        n=new.n,
        released=old.value,
        n_released=old.n,
        tolerance=allowed,
        passed=passed,
        contradicted=a.contradicted,
    )
    beside = []
    binomial = old.method == BINOMIAL and not label_error_share(old) and not label_error_share(new)
    chance = false_alarm(old, new.n, allowed) if binomial else None
    if chance is not None and (not passed or chance > OFTEN):
        beside.append(note("false-alarm", chance=chance, n=new.n, often=chance > OFTEN))
    if not passed:
        beside.append(note("lower-is-not-worse"))
    if _same_labels(a, released):
        beside.append(note("labels-of-the-release"))
    return Gate("baseline", passed, said, tuple(beside))


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
    measured, passed = a.measured, not a.contradicted
    of_labels = {}
    if measured is not None and measured.rejected:
        of_labels = {
            "operation": measured.operation,
            "labelled": measured.labelled,
            "p_of_accuracies": measured.p_value,
        }
    said = note(
        "alike-gate",
        p_value=found.p_value,
        auc=found.auc,
        distance=found.distance,
        permutations=found.permutations,
        rejected=found.rejected,
        n_calibration=found.n_calibration,
        n_operation=found.n_operation,
        **of_labels,
    )
    return Gate("alike", passed, said, () if passed else (note("label-anew"),))


def false_alarm(released: Bound, n: int, tolerance: float) -> float:
    """Probability that n new labels give a bound below released − tolerance at the released measured accuracy.

    With k₀ of n₀ released inputs correct: Pr(Binomial(n, k₀/n₀) < k), k the fewest whose bound is high enough.
    """
    from scipy.stats import binom

    needed = successes_needed(released.value - tolerance, n, 1.0 - released.confidence)
    if needed is None:
        return 1.0
    return float(binom.cdf(needed - 1, n, _right(released) / released.n))


def labels_that_would_do(bound: Bound, at_least: float) -> Finding:
    """How many labels a Clopper–Pearson bound would need at the accuracy measured."""
    right = _right(bound)
    accuracy, cost = right / bound.n, label_error_share(bound)
    at_least = min(1.0, at_least + cost)
    return note(
        "labels-that-would-do",
        wrong=bound.n - right,
        n=bound.n,
        accuracy=accuracy,
        at_least=at_least,
        needed=labels_needed(at_least, accuracy, bound.confidence),
        cost=cost,
        above=accuracy > at_least,
    )


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
