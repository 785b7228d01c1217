"""The bound that judges the target of an assessment: one method, named before the data is looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from infimum.bounds import Bound, clopper_pearson
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS, Evidence
from infimum.errors import InputError
from infimum.identity.labelled_sets import LabelledSets
from infimum.identity.rows import Identity
from infimum.identity.shared import unlabelled_rows
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream

JUDGES = tuple(name for name, method in METHODS.items() if method.judges_assessments)
"""What may judge an assessment."""

OWN_CONFIDENCE = "the levels are the network's own largest probabilities, which no label has calibrated"


def check_method(method: Any) -> str:
    """One of the methods that an assessment may be judged by.

    >>> check_method("clopper_pearson")
    'clopper_pearson'
    """
    if not isinstance(method, str) or method not in JUDGES:
        raise InputError(f"method must be one of {', '.join(JUDGES)}, not {method!r}")
    return method


def judging_bounds(
    method: str,
    labelled: LabelledSets,
    operation: Outputs | OutputsStream,
    confidence: float,
    identity: Identity = "ids",
    errors: LabelErrors | None = None,
) -> tuple[Bound, ...]:
    """The bound of `method` on all labelled inputs, which judges; Clopper–Pearson's beside it where that is another.

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
    if method == "clopper_pearson":
        return (replace(binomial, judges=True),)
    if (why := METHODS[method].why_not(errors)) is not None:
        raise InputError(f"{method} cannot judge: {why}")
    if not isinstance(operation, Outputs):
        raise InputError(
            f"{method} cannot judge an operation that is streamed: give it as one file in memory"
        )
    if operation.weights is not None:
        raise InputError(f"{method} cannot judge: the operation is weighted, and the labelled rows are not")
    from infimum.estimators._scaling import confidence as softmax_confidence

    levels = np.concatenate([softmax_confidence(outputs.logits).largest for outputs in labelled.each])
    others = unlabelled_rows(labelled.each, operation, identity)
    if not others.any():
        raise InputError(f"{method} cannot judge: every operation input is a labelled row too")
    unlabelled = softmax_confidence(operation.logits).largest[others]
    evidence = Evidence(errors, levels=levels, unlabelled_levels=unlabelled)
    powered = METHODS[method].bound(evidence, correct, confidence)
    return (replace(powered, assumptions=(*powered.assumptions, OWN_CONFIDENCE), judges=True), binomial)
