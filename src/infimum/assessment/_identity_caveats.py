"""What a reader must be told of rows that are one input, or may be: of their ids, and of equal outputs."""

from __future__ import annotations

from infimum.identity.hints import compared_raw, hinted, share_repeated
from infimum.identity.labelled_sets import LabelledSets
from infimum.identity.membership import Belonging, told_by_ids
from infimum.identity.rows import Rows
from infimum.outputs._outputs import Outputs


def belonging(found: Belonging, n: int) -> list[str | None]:
    """Warnings where operation inputs are labelled rows, occur twice, or may be labelled rows."""
    return [
        f"{found.labelled} of the {n} operation inputs are labelled rows too (by their ids, or one set given twice): "
        "λ is not independent of them, and they are left out of the test of likeness and of every bound that needs "
        "other inputs"
        if found.labelled
        else None,
        f"{found.repeated} of the {n} operation inputs occur before (equal ids and outputs): they count once in bounds "
        "and tests, and as often as they occur in λ"
        if found.repeated
        else None,
        refuted_ids(found.refuted, "operation inputs", "a labelled row", left_out=found.labelled > 0),
        may_be_shared(found.equal, n, "operation inputs", found.raw, found.differ),
    ]


def refuted_ids(n: int, rows: str, other: str, left_out: bool = False) -> str | None:
    """A warning where `n` rows have the id of another row and are another input; `left_out`: like the labelled ones."""
    if not n:
        return None
    taken = "left out of bounds and tests with the labelled rows" if left_out else "taken as other inputs"
    return (
        f"{n} {rows} have the id of {other} but other outputs, labels or raw inputs, and are {taken}: "
        "are the ids row numbers? Or the outputs of another network? Ids must name inputs"
    )


def may_be_shared(equal: int, n: int, rows: str, raw: bool, differ: bool = False) -> str | None:
    """A hint where `equal` of n rows equal a calibration row; nothing is done about it. `differ`: their ids do."""
    if not equal:
        return None
    what = "raw inputs equal to those" if raw else "the outputs"
    tell = "though their ids differ" if differ else "ids on both sides would tell"
    return (
        f"{equal} of the {n} {rows} have {what} of calibration rows and may be the same inputs ({tell}). They are "
        "taken as other inputs"
    )


def copies_left_out(what: str, copies: int, n: int) -> str | None:
    """A note where labelled rows were given more than once, so that n different inputs count."""
    if not copies:
        return None
    return (
        f"{copies} {what} rows are copies of others (equal ids, labels and outputs) and were left out: {n} different "
        "inputs count"
    )


def may_repeat(labelled: Outputs, others: Outputs | None) -> str | None:
    """A hint where labelled rows repeat each other more than rows of the operation do; nothing is done about it."""
    raw = labelled.input_hash is not None
    share = share_repeated(labelled, raw)
    usual = 0.0 if others is None or (raw and others.input_hash is None) else share_repeated(others, raw)
    if share <= usual or not share:
        return None
    n = round(share * len(labelled))
    what = "raw inputs equal to those" if raw else "the outputs"
    return (
        f"{n} of the {len(labelled)} labelled rows have {what} of another. They may be different inputs, as those of "
        "trees, nearest neighbours and int8 heads, and each counts; but if they are the same inputs, no bound here "
        "holds: 'ids' would tell, and count each input once"
    )


def counted_once(labelled: LabelledSets) -> list[str]:
    """Notes where labelled inputs were given more than once, in one set or in both."""
    tuning = labelled.tuning
    found = [copies_left_out("calibration", labelled.copies[0], len(labelled.calibration))]
    if tuning is not None:
        found.append(copies_left_out("tuning", labelled.copies[1], len(tuning)))
        if labelled.shared:
            others = "" if labelled.fresh is None else ", and the others tune"
            found.append(
                f"{labelled.shared} of the {len(tuning)} tuning rows are calibration rows too: they count "
                f"once in the certified bound{others}"
            )
    return [note for note in found if note is not None]


def labelled_twice(labelled: LabelledSets, first: Outputs) -> list[str | None]:
    """Warnings where labelled rows are given twice, or may be; `first` are rows of the operation to compare with."""
    found = [refuted_ids(labelled.refuted, "labelled rows", "another")]
    if labelled.calibration.ids is None:
        found.append(may_repeat(labelled.calibration, first))
    if labelled.tuning is None:
        return found
    if labelled.shared and labelled.fresh is None:
        found.append(
            f"all {labelled.shared} tuning rows are calibration rows too: coverage then does not hold exactly"
        )
    if not labelled.shared:
        equal = hinted(labelled.calibration, labelled.tuning)
        raw = compared_raw(labelled.calibration, labelled.tuning)
        told = told_by_ids(Rows.of(labelled.calibration), Rows.of(labelled.tuning))
        found.append(may_be_shared(equal, len(labelled.tuning), "tuning rows", raw, told))
    return found
