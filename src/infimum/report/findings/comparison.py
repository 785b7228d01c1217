"""What a comparison says beside its figures: whether the inputs are the same, and what its figures are of."""

from __future__ import annotations

from infimum._rounding import floor4
from infimum.report.findings.registry import constant, says

constant(
    "figures-alone",
    "Only figures are compared, not input by input.",
    "only the figures of the assessments are compared, not input by input: the intervals hold however the networks' "
    "errors go together, and are wide for that; their outputs, compared themselves, settle more",
)
constant(
    "accuracies-of-both-kinds",
    "Accuracies of some networks are of operation inputs, of others of calibration inputs.",
    "accuracies of some networks are of operation inputs, those of others of calibration inputs",
)
constant(
    "lambdas-of-both-kinds",
    "λ of some networks is of samples, of others of operation inputs.",
    "λ of some networks is that of samples, of others that of operation inputs",
)
constant(
    "scores-differ",
    "The assessments differ in their score or reading of levels.",
    "the assessments differ in their score or their reading of levels, and so in what λ means",
)


@says("measured-on", "Which inputs accuracies were measured on.")
def _(what: str) -> str:
    return f"accuracies were measured on the {what} inputs"


@says("repeated-inputs-left-out", "Inputs that every network was given again count once.")
def _(again: int, n: int) -> str:
    return (
        f"{again} operation inputs occur before (equal ids, labels and outputs of every network) and were left "
        f"out: {n} different inputs count"
    )


constant(
    "weighted-uncertified",
    "The inputs are weighted, so there is no certified bound.",
    "the inputs are weighted: no certified bound is given",
)
constant(
    "weighted-untested",
    "Weighted accuracies on different inputs are not tested.",
    "weighted accuracies on different inputs are not tested against one another",
)


@says("inputs-differ", "The networks were run on different inputs.")
def _(how: str) -> str:
    return f"the inputs differ ({how}): a difference may be that of the inputs, not of the networks"


constant(
    "inputs-unchecked",
    "Nothing tells whether the inputs are the same.",
    "that the inputs are the same was taken on trust: there are no labels or ids to tell by",
)


@says("lambda-against-labels", "λ ranks two networks the other way than their labels do.")
def _(higher: str, its: float, other: str, others: float) -> str:
    return (
        f"λ puts {higher} ({floor4(its)}) above {other} ({floor4(others)}), but the labels settle that "
        f"{other} is the more accurate: do not choose between these two by λ"
    )
