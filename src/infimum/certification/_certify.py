"""certify(): every bound that labelled rows allow, and whether the one named beforehand reaches a target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infimum._checks import Real, check_kind, check_seed, exact_fraction
from infimum.assessment._caveats import assuming_alike
from infimum.assessment._results import Target
from infimum.bounds import Bound, best, clopper_pearson_per_class
from infimum.bounds._bound import check_confidence
from infimum.bounds._label_errors import BY_CLASS, LabelErrors
from infimum.bounds._registry import METHODS
from infimum.certification._candidates import Candidates, candidates
from infimum.certification._certificate import Certificate
from infimum.certification._draw import likeness_in_strata
from infimum.certification._labelled import Labelled
from infimum.conformal import Calibration
from infimum.errors import InputError
from infimum.identity.findings import copies_left_out, ids_refuted, may_be_shared, may_repeat
from infimum.identity.hints import compared_raw, hinted, share_repeated
from infimum.identity.membership import told_by_ids
from infimum.identity.rows import Identity, Rows, check_identity
from infimum.identity.shared import Found, shared_rows
from infimum.io.findings import Finding, those, warning
from infimum.io.provenance import made_with
from infimum.outputs._findings import FEW
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs
from infimum.shift import Exchangeability
from infimum.shift._exchangeability import exchangeability_of_others
from infimum.shift._findings import not_alike

AUTO = "auto"

MOST_CLASSES = 10**6
"""More classes than this have no bound each."""


def certify(
    labelled: Labelled | Outputs,
    *,
    target: Real,
    confidence: Real = 0.95,
    method: str | None = None,
    operation: Outputs | None = None,
    calibration: Outputs | Calibration | None = None,
    profile: Any = None,
    per_class: bool = False,
    label_errors: Any = None,
    identity: Identity = "ids",
    seed: int = 0,
    name: str = "network",
) -> Certificate:
    """Judge by labelled rows whether Success(f) ≥ target, with every bound that the data allow beside it.

    Parameters
    ----------
    labelled
        Rows that neither training nor the calibration has seen: a random sample of the operation, or drawn in
        strata (`Labelled.load` of a filled selection).
    target, confidence
        The reliability wanted, in (0, 1), and the confidence of each bound.
    method
        One of `METHODS`, named before the labels are seen. None: "clopper_pearson"; "class_profile" with
        `profile`; "stratified_chernoff" for rows drawn in strata. "auto": `bounds.best`, which chooses among
        finite-sample ones and splits the error over them.
    operation
        Outputs on unlabelled inputs. Labelled rows among them are left out of them.
    calibration
        *Other* labelled rows (or a calibration of other rows), from which the levels of inputs are made. They
        must not be among `labelled`: levels that have seen a label make its bound invalid. A finished calibration
        cannot be compared, and a warning says so.
    profile
        (K,) class probabilities of operation, where the labelled rows have other class shares.
    identity
        What tells whether two rows are one input: "ids" that both have, or, where you know that no two inputs share
        it, "hash" (`input_hash`). Equal outputs never do.
    per_class
        Also a bound for every class, all together at `confidence`.
    label_errors
        What may be wrong of the labels: at most so many of all that are given, as 5, or a share of those of the
        operation (with strata Σ w_s e_s), as 0.02 or "2%". Every bound is lowered by what that costs, or withheld.

    Raises
    ------
    InputError
        When inputs do not fit together, `calibration` shares rows with `labelled`, `labelled` has weights, or
        `method` cannot be given.

    >>> import numpy as np
    >>> made = certify(Labelled(np.arange(400) < 396), target=0.97)
    >>> made.target.met, made.target.by, round(made.judge.value, 3)
    (True, 'clopper_pearson', 0.977)
    """
    rows = labelled if isinstance(labelled, Labelled) else Labelled.of(labelled, check_identity(identity))
    if rows.identity != check_identity(identity):
        raise InputError(
            f"{rows.name} tells inputs by {rows.identity!r}, and identity is {identity!r}; make it by the same"
        )
    if operation is not None:
        check_outputs(operation, "operation")
    if calibration is not None:
        check_kind(
            calibration, (Outputs, Calibration), "calibration", "Outputs with labels, or a Calibration"
        )
    wanted, errors = float(exact_fraction(target, "target")), LabelErrors.of(label_errors)
    if per_class and errors.any:
        raise InputError(f"per_class: {BY_CLASS}; leave one of the two out")
    confidence, seed = check_confidence(confidence), check_seed(seed)
    if method is not None and method not in (*METHODS, AUTO):
        raise InputError(f"method must be one of {', '.join(METHODS)} or {AUTO}, not {method!r}")
    again = _check_together(rows, operation, calibration, identity)
    bounds = candidates(rows, operation, calibration, profile, seed, identity, errors)
    judge, others = _judge(bounds, rows, method, confidence)
    alike, untested = None, None
    if operation is not None and rows.design is not None:
        alike, untested = likeness_in_strata(rows, operation, calibration, seed)
    elif operation is not None and rows.outputs is not None and profile is None:
        alike = exchangeability_of_others(rows.outputs, operation, seed=seed, identity=identity)
    together: tuple[Bound, ...] = ()
    if per_class:
        together = _per_class(rows, confidence)
    return Certificate(
        network=name,
        target=Target(wanted, confidence, judge.value >= wanted, judge.method),
        n=len(rows),
        wrong=rows.wrong,
        bounds=assuming_alike((judge, *others), alike),
        per_class=together,
        withheld=bounds.withheld,
        exchangeability=alike,
        findings=_findings(rows, operation, calibration, judge, alike, again, untested),
        provenance=made_with(seed, method=method or "default"),
    )


def _check_together(
    rows: Labelled, operation: Outputs | None, calibration: Outputs | Calibration | None, identity: Identity
) -> Found | None:
    """One network, and no row that both calibrates and certifies; what was found of such rows."""
    if rows.outputs is not None and operation is not None:
        check_one_network(rows.outputs, operation)
    if not isinstance(calibration, Outputs):
        classes = {o.n_classes for o in (rows.outputs, operation) if o is not None}
        if calibration is not None and classes and classes != {calibration.n_classes}:
            raise InputError(
                f"the calibration has {calibration.n_classes} classes, the outputs have {max(classes)}"
            )
        return None
    if operation is not None:
        check_one_network(calibration, operation)
    if rows.outputs is not None:
        check_one_network(calibration, rows.outputs)
    again = shared_rows([Rows.of(calibration, identity)], rows.rows)
    if again.n:
        raise InputError(
            f"{again.n} rows of {rows.name} are calibration rows too; levels made from a label cannot certify with it: "
            "give labels that the calibration has not seen, or leave the calibration out"
        )
    return again


def _judge(
    bounds: Candidates, rows: Labelled, method: str | None, confidence: float
) -> tuple[Bound, list[Bound]]:
    """The bound that decides, and all others; which one decides does not depend on the labels."""
    method = bounds.default if method is None else method
    if method == AUTO:
        judge = best(bounds.contenders, rows.correct, confidence)
    elif method in bounds.possible:
        judge = bounds.possible[method](rows.correct, confidence)
    else:
        possible = ", ".join(bounds.possible) or "none"
        raise InputError(
            f"method {method} cannot judge: {bounds.withheld[method]}. Possible here: {possible}"
        )
    judge = replace(judge, judges=True)
    others = [
        make(rows.correct, confidence) for name, make in bounds.possible.items() if name != judge.method
    ]
    return judge, others


def _told(rows: Labelled, calibration: Outputs) -> bool:
    """Whether ids tell which rows are in both."""
    return told_by_ids(Rows.of(calibration), rows.rows)


def _per_class(rows: Labelled, confidence: float) -> tuple[Bound, ...]:
    """A bound for every class, with its name where it has one."""
    if rows.design is not None:
        raise InputError(
            f"{rows.name} was drawn in strata, and bounds per class need labels drawn evenly within each class: "
            "leave per_class (--per-class) out"
        )
    if rows.classes is None:
        raise InputError(
            f"{rows.name}: bounds per class need labels, not only what is right: give logits and labels, or predicted "
            "and label"
        )
    if rows.classes.n > MOST_CLASSES:
        raise InputError(
            f"{rows.name}: the class numbers go up to {rows.classes.n - 1}: are they class numbers?"
        )
    names = rows.classes.names
    bounds = clopper_pearson_per_class(rows.correct, rows.classes.labels, rows.classes.n, confidence)
    if names is None:
        return bounds
    return tuple(
        replace(b, details={**b.details, "name": name}) for b, name in zip(bounds, names, strict=True)
    )


def _comparable(rows: Labelled, calibration: Outputs | Calibration) -> bool:
    """Whether rows in both would be noticed: by their ids, or hinted at by outputs that do not repeat themselves."""
    if not isinstance(calibration, Outputs):
        return False
    return _told(rows, calibration) or (rows.outputs is not None and share_repeated(calibration) < 0.5)


def _may_be_shared(rows: Labelled, calibration: Outputs | Calibration | None) -> Finding | None:
    if not isinstance(calibration, Outputs) or rows.outputs is None:
        return None
    equal, raw = hinted(calibration, rows.outputs), compared_raw(calibration, rows.outputs)
    return may_be_shared(equal, len(rows), "labelled rows", raw, _told(rows, calibration))


def _findings(
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    judge: Bound,
    alike: Exchangeability | None,
    again: Found | None,
    untested: Finding | None,
) -> tuple[Finding, ...]:
    asymptotic = None
    if judge.validity == "asymptotic":
        asymptotic = warning("asymptotic", method=judge.method, few=len(rows) if len(rows) < FEW else None)
    weighted = operation is not None and operation.weights is not None
    return those(
        (
            copies_left_out("labelled", rows.copies, len(rows)),
            ids_refuted(rows.refuted, "labelled rows", "another"),
            None if again is None else ids_refuted(again.refuted, "labelled rows", "a calibration row"),
            None if rows.outputs is None or rows.ids is not None else may_repeat(rows.outputs, operation),
            _may_be_shared(rows, calibration),
            None
            if calibration is None or _comparable(rows, calibration)
            else warning("calibration-unchecked"),
            not_alike(alike),
            untested,
            asymptotic,
            warning("no-row-right") if rows.wrong == len(rows) else None,
            warning("profile-of-labelled-rows") if weighted else None,
        )
    )
