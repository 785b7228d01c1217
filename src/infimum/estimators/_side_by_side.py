"""estimate(): every label-free estimate side by side, with the truth where operation has labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infimum.bounds import Estimate
from infimum.estimators._average_confidence import average_confidence, difference_of_confidences
from infimum.estimators._calibrated_confidence import calibrated_confidence
from infimum.estimators._estimate import check_pair, few_wrong
from infimum.estimators._success_level import recalibrated_success_level, success_level
from infimum.estimators._thresholded_confidence import thresholded_confidence
from infimum.identity.findings import belonging, copies_left_out, ids_refuted
from infimum.identity.labelled_sets import without_copies
from infimum.identity.membership import Membership
from infimum.io.faces import Shown
from infimum.io.findings import Finding, those, warning
from infimum.io.provenance import made_with
from infimum.io.ranges import Count, Probability
from infimum.io.records import Document
from infimum.outputs._findings import few_operation, saturation
from infimum.outputs._outputs import Outputs
from infimum.shift import Exchangeability
from infimum.shift._exchangeability import exchangeability_of_others
from infimum.shift._findings import not_alike


@dataclass(frozen=True)
class Estimates(Document, Shown):
    """Estimates of Success(f), none of them a guarantee; and whether calibration and operation look alike.

    `accuracy`: the (weighted) share of correct operation inputs, None without labels.
    """

    SCHEMA = "infimum/estimates/2"

    estimates: tuple[Estimate, ...]
    accuracy: Probability | None
    n_calibration: Count
    n_operation: Count
    exchangeability: Exchangeability | None
    findings: tuple[Finding, ...]
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. The `error` of each is the estimate − accuracy, None where that is not known."""
        truth, plain = self.accuracy, super().to_dict()
        for of_one in plain["estimates"]:
            of_one["error"] = None if truth is None else of_one["value"] - truth
        return plain


def estimate(calibration: Outputs, operation: Outputs, *, seed: int = 0) -> Estimates:
    """Estimate Success(f) in every way that needs no operation labels, λ first.

    `calibration` labelled, unseen by training; `operation` labelled or not. Same seed, same result. Raises
    InputError where the two do not fit together.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(600, 3)) * 3
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> found = estimate(Outputs(z[:300], y[:300]), Outputs(z[300:]))
    >>> [e.method for e in found.estimates][:2], found.accuracy
    (['success_level', 'recalibrated_success_level'], None)
    """
    check_pair(calibration, operation, seed)
    calibration, copies, refuted = without_copies(calibration)
    who = Membership([calibration])
    who.among(operation)
    who.compare(operation)
    estimates = (
        success_level(calibration, operation, seed=seed),
        recalibrated_success_level(calibration, operation, seed=seed),
        calibrated_confidence(calibration, operation, seed=seed),
        average_confidence(calibration, operation, seed=seed),
        difference_of_confidences(calibration, operation, seed=seed),
        thresholded_confidence(calibration, operation, by="max_probability", seed=seed),
        thresholded_confidence(calibration, operation, by="negative_entropy", seed=seed),
    )
    alike = exchangeability_of_others(calibration, operation, seed=seed)
    findings = (
        not_alike(alike),
        *belonging(who.found, len(operation)),
        copies_left_out("calibration", copies, len(calibration)),
        ids_refuted(refuted, "calibration rows", "another"),
        few_wrong(calibration.correct),
        few_operation(len(operation)),
        warning("calibration-weights-unused") if calibration.weights is not None else None,
        saturation("calibration", calibration.saturated, len(calibration)),
        saturation("operation", operation.saturated, len(operation)),
    )
    return Estimates(
        estimates=estimates,
        accuracy=None if operation.labels is None else operation.accuracy,
        n_calibration=len(calibration),
        n_operation=len(operation),
        exchangeability=alike,
        findings=those(findings),
        provenance=made_with(seed),
    )
