"""What a reader must be told of rows that are one input, or may be: of their ids, and of equal outputs."""

from __future__ import annotations

from infimum.identity.hints import compared_raw, hinted, share_repeated
from infimum.identity.labelled_sets import LabelledSets
from infimum.identity.membership import Belonging, told_by_ids
from infimum.identity.rows import Rows
from infimum.io.findings import Finding, note, those, warning
from infimum.outputs._outputs import Outputs


def belonging(found: Belonging, n: int) -> tuple[Finding | None, ...]:
    """Warnings where operation inputs are labelled rows, occur twice, or may be labelled rows."""
    return (
        warning("operation-has-labelled-rows", labelled=found.labelled, n=n) if found.labelled else None,
        warning("operation-repeats-inputs", repeated=found.repeated, n=n) if found.repeated else None,
        ids_refuted(found.refuted, "operation inputs", "a labelled row", left_out=found.labelled > 0),
        may_be_shared(found.equal, n, "operation inputs", found.raw, found.differ),
    )


def ids_refuted(n: int, rows: str, other: str, left_out: bool = False) -> Finding | None:
    """A warning where `n` rows have the id of another row and are another input; `left_out`: like the labelled ones."""
    return warning("ids-refuted", n=n, rows=rows, other=other, left_out=left_out) if n else None


def may_be_shared(equal: int, n: int, rows: str, raw: bool, differ: bool = False) -> Finding | None:
    """A hint where `equal` of n rows equal a calibration row; nothing is done about it. `differ`: their ids do."""
    if not equal:
        return None
    return warning("may-be-calibration-rows", equal=equal, n=n, rows=rows, raw=raw, differ=differ)


def copies_left_out(what: str, copies: int, n: int) -> Finding | None:
    """A note where labelled rows were given more than once, so that n different inputs count."""
    return note("copies-left-out", what=what, copies=copies, n=n) if copies else None


def may_repeat(labelled: Outputs, others: Outputs | None) -> Finding | None:
    """A hint where labelled rows repeat each other more than rows of the operation do; nothing is done about it."""
    raw = labelled.input_hash is not None
    share = share_repeated(labelled, raw)
    usual = 0.0 if others is None or (raw and others.input_hash is None) else share_repeated(others, raw)
    if share <= usual or not share:
        return None
    return warning("labelled-rows-may-repeat", n=round(share * len(labelled)), rows=len(labelled), raw=raw)


def counted_once(labelled: LabelledSets) -> tuple[Finding, ...]:
    """Notes where labelled inputs were given more than once, in one set or in both."""
    tuning = labelled.tuning
    found = [copies_left_out("calibration", labelled.copies[0], len(labelled.calibration))]
    if tuning is not None:
        found.append(copies_left_out("tuning", labelled.copies[1], len(tuning)))
        if labelled.shared:
            others = labelled.fresh is not None
            found.append(
                note("tuning-has-calibration-rows", shared=labelled.shared, n=len(tuning), others_tune=others)
            )
    return those(found)


def labelled_twice(labelled: LabelledSets, first: Outputs) -> tuple[Finding | None, ...]:
    """Warnings where labelled rows are given twice, or may be; `first` are rows of the operation to compare with."""
    found = [ids_refuted(labelled.refuted, "labelled rows", "another")]
    if labelled.calibration.ids is None:
        found.append(may_repeat(labelled.calibration, first))
    if labelled.tuning is None:
        return tuple(found)
    if labelled.shared and labelled.fresh is None:
        found.append(warning("tuned-on-calibration", shared=labelled.shared))
    if not labelled.shared:
        equal = hinted(labelled.calibration, labelled.tuning)
        raw = compared_raw(labelled.calibration, labelled.tuning)
        told = told_by_ids(Rows.of(labelled.calibration), Rows.of(labelled.tuning))
        found.append(may_be_shared(equal, len(labelled.tuning), "tuning rows", raw, told))
    return tuple(found)
