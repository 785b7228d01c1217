"""What a gate found, and what to know of it."""

from __future__ import annotations

from infimum._rounding import floor4, percent, unrounded
from infimum.report.findings.registry import constant, says
from infimum.report.wording import alike_words, named, p_of_labels

ONLY_IF = "; this holds only if labelled and operational inputs are alike, which a test REJECTS"


@says("target-gate", "Whether the bound reaches the target.")
def _(
    bound: float, confidence: float, method: str, n: int, target: float, passed: bool, contradicted: bool
) -> str:
    found = f"at least {floor4(bound)} with {percent(confidence)} confidence ({named(method)}, {n:,} labelled inputs)"
    if passed:
        return f"{found}, {unrounded(target)} was asked for{ONLY_IF if contradicted else ''}"
    return f"{found}, but {unrounded(target)} was asked for"


@says("baseline-gate", "Whether the bound is not below that of a released assessment by more than allowed.")
def _(
    bound: float, n: int, released: float, n_released: int, tolerance: float, passed: bool, contradicted: bool
) -> str:
    return (
        f"at least {floor4(bound)} ({n:,} labelled inputs); released: {floor4(released)} ({n_released:,}), "
        f"which may fall by {unrounded(tolerance)}{ONLY_IF if passed and contradicted else ''}"
    )


@says("alike-gate", "Whether the tests left standing that the inputs are alike.")
def _(
    p_value: float,
    auc: float | None,
    distance: float,
    permutations: int,
    rejected: bool,
    n_calibration: int,
    n_operation: int,
    operation: float | None = None,
    labelled: float | None = None,
    p_of_accuracies: float | None = None,
) -> str:
    found = alike_words(p_value, auc, distance, permutations, rejected, n_calibration, n_operation).rstrip(
        "."
    )
    if operation is None or labelled is None or p_of_accuracies is None:
        return found
    joined = "also" if rejected else "but"
    return (
        f"{found}; {joined} the accuracy of the operation ({operation:.4f}) is below that of the labelled inputs "
        f"({labelled:.4f}, p {p_of_labels(p_of_accuracies)})"
    )


@says("labels-that-would-do", "How many labels the bound would need.")
def _(
    wrong: int, n: int, accuracy: float, at_least: float, needed: int | None, cost: float, above: bool
) -> str:
    seen = f"{wrong:,} of {n:,} labelled inputs were wrong (accuracy {floor4(accuracy)})"
    if cost:
        seen += f", and labels may be wrong, which costs {cost:.4g} as long as that share of them may be"
    if not above:
        return f"{seen}: that is not above {unrounded(at_least)}, so more labels alone will not help"
    if needed is None:
        return f"{seen}: the accuracy is too near {unrounded(at_least)} for any number of labels to tell"
    return f"{seen}: about {needed:,} labels would be needed at this accuracy"


@says("false-alarm", "How often a network as accurate as the released one would fail this gate.")
def _(chance: float, n: int, often: bool) -> str:
    return (
        f"a network exactly as accurate as the released one was measured would fail this gate in {chance:.0%} of "
        f"the draws of {n:,} labelled inputs"
    ) + ("; allow a larger tolerance, or label more" if often else "")


constant(
    "lower-is-not-worse",
    "A lower bound alone does not show that a network is worse.",
    "a lower bound alone does not show that the network is worse: compare the two on one data set",
)
constant(
    "labels-of-the-release",
    "The labelled inputs may be those of the released assessment.",
    "the labelled inputs may be those of the released assessment (equal labels or ids): a bound holds only if "
    "they did not serve to choose between versions; draw new ones from time to time",
)
constant(
    "label-anew",
    "Inputs differ: look for a difference in preprocessing, else label a sample of the operation.",
    "every bound holds for inputs like the labelled ones: look for a difference in preprocessing; else label a random "
    "sample of the operation and certify on that",
)
