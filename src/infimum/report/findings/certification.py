"""What a certificate or a plan says beside its figures: bounds that are not given, tests that were not made."""

from __future__ import annotations

from infimum.report.findings.registry import constant, says

WITHHELD = {
    "drawn-in-strata": "the labels were drawn in strata, not as one random sample",
    "not-in-strata": "the labels were not drawn in strata (infimum plan --select)",
    "no-profile": "no class probabilities of operation are given",
    "other-profile": "it holds for the class shares of the labelled rows, and other class probabilities are given",
    "no-labels": "the labels of the rows are not known, only what is right (give logits and labels, or predicted and "
    "label)",
    "no-operation": "no unlabelled operation inputs are given (--operation)",
    "weighted-operation": "the operation is weighted, and the labelled rows are not",
    "no-logits": "the logits of the labelled rows are not known",
    "no-calibration": "no other labelled rows are given to make the levels of inputs from (--calibration)",
    "tuned-calibration": "the calibration's score or temperature was tuned, perhaps on calibration rows",
    "operation-is-calibration": "every operation input is a calibration row too: none is left without a label",
    "operation-is-labelled": "every operation input is a labelled row too: none is left without a label",
    "one-row": "fewer than 2 rows are labelled",
    "stopped-at-will": "labels were added until somebody stopped, and a bound for a fixed number of labels does not "
    "hold then",
    "label-errors-by-class": "a wrong label puts its row into another class, whose size then changes too: label_errors "
    "does not correct it",
}
"""Why a bound is not given, by the `why` of the finding."""


@says("bound-withheld", "A bound is not given, and why.")
def _(why: str, methods: list[str] | None = None) -> str:
    if why == "label-errors-by-count":
        return (
            "which labels are wrong is not known, and this bound may fall by more or less with each: a number of wrong "
            f"labels (label_errors) corrects {', '.join(methods or [])} only; give a rate"
        )
    return WITHHELD[why]


UNTESTED = {
    "no-columns": "the table does not hold the columns 'row', 'operation' and 'stratum_from'",
    "another-operation": "the selection was made of another operation, or of one whose outputs have changed; its bound "
    "is for the inputs that it was made of",
    "no-calibration": "that takes the calibration that the selection was made with",
    "another-calibration": "the selection was made with another calibration",
    "all-labelled": "every operation input of these strata is labelled",
}


@says("likeness-untested", "Whether labelled rows are like the operation within their strata was not tested.")
def _(why: str) -> str:
    return f"whether the labelled rows are like the operation within their strata was not tested: {UNTESTED[why]}"


constant(
    "calibration-unchecked",
    "Whether labelled rows are among the calibration's cannot be checked.",
    "whether these labelled rows are among the calibration's cannot be checked (labelled outputs as calibration, and "
    "ids on both sides, would show it); if they are, no bound that uses levels of the calibration holds",
)


@says("asymptotic", "The bound that judges holds only in the limit of many labels.")
def _(method: str, few: int | None) -> str:
    limit = f"{method} holds only in the limit of many labels"
    return limit if few is None else f"{limit}, and {few} are not many"


constant(
    "no-row-right",
    "No labelled row is right: the classes or the labels may be mixed up.",
    "no labelled row is right: look for classes in another order, or labels of other inputs",
)
constant(
    "expected-rate",
    "A plan is for the success rate expected; a lower one needs more labels.",
    "exact figures are for the success rate expected; a lower one needs more labels, and may never do",
)


@says("anytime-not-simulated", "The anytime-valid bound was not simulated: it would take too many labels.")
def _(labels: int) -> str:
    return f"anytime-valid: not simulated, since runs of {labels} labels would be needed"


@says(
    "levels-rehearsed", "Methods with levels were rehearsed on operation inputs moved to the rate expected."
)
def _(n: int, mean: float, expected: float) -> str:
    return (
        f"methods with levels were rehearsed on {n} operation inputs whose mean level "
        f"{mean:.4f} was moved to {expected:.4g}: what they need depends on how well levels tell right "
        "from wrong"
    )
