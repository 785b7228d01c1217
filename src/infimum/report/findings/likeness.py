"""Whether calibration and operation are alike, which every bound assumes."""

from __future__ import annotations

from infimum.report.findings.registry import constant, says
from infimum.report.wording import p_of_labels, p_of_permutations, tested


@says(
    "not-alike", "A test finds that calibration and operation differ: nothing here holds for this operation."
)
def _(p_value: float, auc: float | None, distance: float, permutations: int) -> str:
    found = tested(p_value, auc, distance, permutations)
    return (
        f"calibration and operation are not alike ({found}): what is said here, bounds included, holds for "
        "inputs like the calibration's, not for this operation. Look for a difference in preprocessing; else label "
        "a random sample of the operation and calibrate and certify on that"
    )


@says("labels-contradict", "Labels of the operation show that it is less accurate than the labelled inputs.")
def _(operation: float, labelled: float, p_value: float) -> str:
    return (
        f"the accuracy measured on the operation ({operation:.4f}) is below that of the labelled inputs "
        f"behind the bound ({labelled:.4f}; Fisher's exact test, p {p_of_labels(p_value)}): the bound does not "
        "hold for this operation; calibrate and certify on a random sample of it"
    )


@says("rejected-by-test", "Among what a bound assumes: that the inputs are alike, which a test rejects.")
def _(p_value: float, permutations: int | None = None) -> str:
    test = (
        f"a test of their labels REJECTS (p {p_of_labels(p_value)})"
        if permutations is None
        else f"a test REJECTS (p {p_of_permutations(p_value, permutations)})"
    )
    return f"labelled and operational inputs are alike, which {test}"


constant(
    "profile-of-labelled-rows",
    "The operation's weights do not enter a bound on the labelled rows.",
    "the operational profile is that of the labelled rows: the operation's weights do not enter",
)
