"""Rows that are one input or may be, and rows whose scores have lost their order."""

from __future__ import annotations

from infimum.report.findings.registry import constant, says


@says("operation-has-labelled-rows", "Operation inputs are labelled rows too: they leave bounds and tests.")
def _(labelled: int, n: int) -> str:
    return (
        f"{labelled} of the {n} operation inputs are labelled rows too (by their ids, or one set given twice): "
        "λ is not independent of them, and they are left out of the test of likeness and of every bound that needs "
        "other inputs"
    )


@says(
    "operation-repeats-inputs", "Operation inputs occur more than once: they count once in bounds and tests."
)
def _(repeated: int, n: int) -> str:
    return (
        f"{repeated} of the {n} operation inputs occur before (equal ids and outputs): they count once in bounds "
        "and tests, and as often as they occur in λ"
    )


@says("ids-refuted", "Rows of equal ids hold other data: the ids do not name inputs.")
def _(n: int, rows: str, other: str, left_out: bool) -> str:
    taken = "left out of bounds and tests with the labelled rows" if left_out else "taken as other inputs"
    return (
        f"{n} {rows} have the id of {other} but other outputs, labels or raw inputs, and are {taken}: "
        "are the ids row numbers? Or the outputs of another network? Ids must name inputs"
    )


@says(
    "may-be-calibration-rows",
    "Rows equal calibration rows, and nothing tells whether they are the same inputs.",
)
def _(equal: int, n: int, rows: str, raw: bool, differ: bool) -> str:
    what = "raw inputs equal to those" if raw else "the outputs"
    tell = "though their ids differ" if differ else "ids on both sides would tell"
    return (
        f"{equal} of the {n} {rows} have {what} of calibration rows and may be the same inputs ({tell}). They are "
        "taken as other inputs"
    )


@says("copies-left-out", "Labelled rows were given more than once; each input counts once.")
def _(what: str, copies: int, n: int) -> str:
    return (
        f"{copies} {what} rows are copies of others (equal ids, labels and outputs) and were left out: {n} different "
        "inputs count"
    )


@says("labelled-rows-may-repeat", "Labelled rows equal one another more than those of operation do.")
def _(n: int, rows: int, raw: bool) -> str:
    what = "raw inputs equal to those" if raw else "the outputs"
    return (
        f"{n} of the {rows} labelled rows have {what} of another. They may be different inputs, as those of "
        "trees, nearest neighbours and int8 heads, and each counts; but if they are the same inputs, no bound here "
        "holds: 'ids' would tell, and count each input once"
    )


@says("tuning-has-calibration-rows", "Tuning rows are calibration rows too: they count once in the bound.")
def _(shared: int, n: int, others_tune: bool) -> str:
    others = ", and the others tune" if others_tune else ""
    return f"{shared} of the {n} tuning rows are calibration rows too: they count once in the certified bound{others}"


@says("tuned-on-calibration", "All tuning rows are calibration rows: coverage does not hold exactly.")
def _(shared: int) -> str:
    return f"all {shared} tuning rows are calibration rows too: coverage then does not hold exactly"


@says("saturated", "Probabilities of exactly 1 have lost the order of scores; logits keep it.")
def _(what: str, saturated: int, n: int) -> str:
    return (
        f"{saturated} of the {n} {what} rows hold a probability of exactly 1: the order "
        "of their scores is lost; give logits instead"
    )


@says("few-operation-inputs", "There are fewer than 100 operation inputs.")
def _(n: int) -> str:
    return f"only {n} operation inputs"


@says("few-weighted-inputs", "The weights leave an effective number of operation inputs below 100.")
def _(effective_n: float) -> str:
    return f"the weights leave an effective number of {effective_n:.1f} operation inputs"


constant(
    "calibration-weights-unused",
    "Weights of calibration rows are not used.",
    "the calibration's weights are not used",
)


@says("few-wrong", "So few calibration rows are wrong that standard errors of estimates are too small.")
def _(wrong: int, n: int) -> str:
    return (
        f"only {wrong} of the {n} calibration rows are wrong: the standard errors of estimates of the "
        "accuracy are too small"
    )
