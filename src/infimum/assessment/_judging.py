"""The bounds of an assessment, and the one that judges its target: a method named before the data are looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from infimum.assessment._asked import Asked
from infimum.assessment._caveats import assuming_alike
from infimum.assessment._results import Target
from infimum.assessment._scan import Scan
from infimum.bounds import Bound, clopper_pearson
from infimum.bounds._judges import ClopperPearson, Judge
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS, Evidence
from infimum.conformal import Calibration
from infimum.errors import InputError
from infimum.estimators._scaling import confidence as softmax_confidence
from infimum.identity.labelled_sets import LabelledSets
from infimum.identity.rows import Identity
from infimum.identity.shared import unlabelled_rows
from infimum.io.findings import Finding, note
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream
from infimum.shift._measured import Measured, measured_beside

OWN_CONFIDENCE = "the levels are the network's own largest probabilities, which no label has calibrated"


def judging_bounds(
    method: Judge,
    labelled: LabelledSets,
    operation: Outputs | OutputsStream,
    confidence: float,
    identity: Identity = "ids",
    errors: LabelErrors | None = None,
) -> tuple[Bound, ...]:
    """The bound of `method` on all labelled inputs, first; Clopper–Pearson's beside it where another judges.

    The prediction-powered bounds take the network's largest softmax probability
    as level: λ(x) has seen the labels of the calibration, so it cannot be used with them (`certify` can, with
    fresh labels). Raises InputError where the operation is weighted or holds no row without a label.
    """
    correct = labelled.correct
    errors = LabelErrors() if errors is None else errors
    binomial = clopper_pearson(correct, confidence, errors)
    if operation.weights is not None:
        unweighted = (
            "the operational profile is that of the labelled inputs: the operation's weights do not enter"
        )
        binomial = replace(binomial, assumptions=(*binomial.assumptions, unweighted))
    if isinstance(method, ClopperPearson):
        return (replace(binomial, judges=True),)
    if (why := METHODS[method.name].why_not(errors)) is not None:
        raise InputError(f"{method.name} cannot judge: {why}")
    if not isinstance(operation, Outputs):
        raise InputError(
            f"{method.name} cannot judge an operation that is streamed: give it as one file in memory"
        )
    if operation.weights is not None:
        raise InputError(
            f"{method.name} cannot judge: the operation is weighted, and the labelled rows are not"
        )
    levels = np.concatenate([softmax_confidence(outputs.logits).largest for outputs in labelled.each])
    others = unlabelled_rows(labelled.each, operation, identity)
    if not others.any():
        raise InputError(f"{method.name} cannot judge: every operation input is a labelled row too")
    unlabelled = softmax_confidence(operation.logits).largest[others]
    evidence = Evidence(errors, levels=levels, unlabelled_levels=unlabelled)
    powered = METHODS[method.name].bound(evidence, correct, confidence)
    return (replace(powered, assumptions=(*powered.assumptions, OWN_CONFIDENCE), judges=True), binomial)


@dataclass(frozen=True, eq=False)
class Judged:
    """The bounds, the one that decides first; whether the target is met; and labels of both sides side by side."""

    certified: tuple[Bound, ...]
    target: Target | None
    measured: Measured | None
    findings: tuple[Finding, ...] = ()


def judged(
    asked: Asked,
    labelled: LabelledSets,
    operation: Outputs | OutputsStream,
    conformal: Calibration,
    found: Scan,
) -> Judged:
    """Every bound there is, and the verdict of the one that was named beforehand."""
    judge, *beside = judging_bounds(
        asked.method, labelled, operation, asked.confidence, asked.identity, asked.errors
    )
    withheld = _why_withheld(operation.weights is not None, labelled, found, conformal)
    levels: tuple[Bound, ...] = ()
    if withheld is None:
        evidence = Evidence(asked.errors, runner_up=found.runner_up)
        of_p_values = [method for method in METHODS.values() if method.needs <= {"p_values"}]
        levels = tuple(method.bound(evidence, (), asked.confidence) for method in of_p_values)
    measured = None
    if found.right is not None and found.independent and operation.weights is None:
        right = labelled.correct
        measured = measured_beside(found.right, found.independent, int(right.sum()), len(right))
    wanted = asked.target
    return Judged(
        certified=assuming_alike((judge, *beside, *levels), found.alike, measured),
        target=None
        if wanted is None
        else Target(wanted, asked.confidence, judge.value >= wanted, judge.method),
        measured=measured,
        findings=() if withheld is None else (note("level-bounds-withheld", why=withheld),),
    )


def _why_withheld(weighted: bool, labelled: LabelledSets, found: Scan, conformal: Calibration) -> str | None:
    """What breaks the law of the p-values that the bounds from success levels rest on, if anything does."""
    if weighted:
        return "weighted"
    if labelled.tuning is not None and conformal.n_tuning and labelled.fresh is None:
        return "tuned"
    if not found.independent:
        return "no-other-inputs"
    return None
