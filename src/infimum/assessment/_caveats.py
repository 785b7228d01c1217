"""What a reader of an assessment must be warned of, the gravest first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infimum.assessment._results import LambdaEstimate
from infimum.assessment._scan import Scan
from infimum.bounds import Bound
from infimum.conformal import Calibration
from infimum.head import AnyHead
from infimum.identity.findings import belonging, labelled_twice
from infimum.identity.labelled_sets import LabelledSets
from infimum.io.findings import Finding, those, warning
from infimum.manifold._manifold import ManifoldFit
from infimum.outputs._findings import FEW, few_operation, saturation
from infimum.outputs._outputs import Outputs
from infimum.shift import Exchangeability
from infimum.shift._findings import labels_contradict, not_alike
from infimum.shift._measured import Measured

FAR = 0.01
"""Differences between λ on samples and on real inputs below this are not worth a warning."""


def warnings_about(
    *,
    operation: Scan,
    labelled: LabelledSets,
    conformal: Calibration,
    estimate: LambdaEstimate,
    on_operation: LambdaEstimate,
    fit: ManifoldFit | None,
    manifold_lambda: float | None,
    head: AnyHead | None,
    target: float | None,
    interrupted: bool,
    measured: Measured | None = None,
) -> tuple[Finding, ...]:
    """All warnings an assessment owes its reader, the gravest first."""
    calibration, tuning = labelled.calibration, labelled.tuning
    found: list[Finding | None] = [
        warning("interrupted") if interrupted else None,
        not_alike(operation.alike),
        labels_contradict(measured),
        *belonging(operation.belonging, operation.n),
        *labelled_twice(labelled, operation.first),
        _wrong_head(operation.first, head),
        capped(conformal, estimate.value, target),
        _classes_without_labels(calibration),
        saturation("calibration", calibration.saturated, len(calibration)),
        None if tuning is None else saturation("tuning", tuning.saturated, len(tuning)),
        saturation("operation", operation.saturated, operation.n),
        few_operation(operation.n) or _few_weighted(on_operation),
        warning("few-features", n=fit.n) if fit is not None and fit.n < FEW else None,
        *_mixture(fit),
        *_samples(estimate, on_operation, manifold_lambda, interrupted),
        _above_accuracy(operation, on_operation),
    ]
    return those(found)


def assuming_alike(
    bounds: tuple[Bound, ...], alike: Exchangeability | None, measured: Measured | None = None
) -> tuple[Bound, ...]:
    """The bounds; where calibration and operation are found to differ, with that among what they assume."""
    if measured is not None and measured.rejected:
        against = warning("rejected-by-test", p_value=measured.p_value)
    elif alike is not None and alike.rejected:
        against = warning("rejected-by-test", p_value=alike.p_value, permutations=alike.permutations)
    else:
        return bounds
    return tuple(replace(bound, assumptions=(*bound.assumptions, str(against))) for bound in bounds)


def _few_weighted(on_operation: LambdaEstimate) -> Finding | None:
    n = on_operation.effective_n
    return warning("few-weighted-inputs", effective_n=n) if n < FEW else None


def _wrong_head(operation: Outputs, head: AnyHead | None) -> Finding | None:
    """Whether head(features) gives the logits, up to a constant per row (probabilities lose it)."""
    if head is None or operation.features is None or operation.features.shape[1] != head.n_features:
        return None
    rows = np.arange(min(len(operation), 1000))
    if operation.saturated_rows is not None:
        rows = np.setdiff1d(rows, operation.saturated_rows)
    if not len(rows):
        return None
    ours, theirs = head.logits(operation.features[rows]), operation.logits[rows].astype(np.float64)
    ours, theirs = (z - z.max(axis=1, keepdims=True) for z in (ours, theirs))
    theirs = np.maximum(theirs, -80.0)  # clipped probabilities say no more
    difference = np.abs(np.maximum(ours, -80.0) - theirs)
    worst = int(difference.max(axis=1).argmax())
    if difference[worst].max() <= 0.02 * (1.0 + np.abs(theirs[worst]).max()):
        return None
    return warning("wrong-head", difference=float(difference.max()), row=int(rows[worst]))


def _classes_without_labels(calibration: Outputs) -> Finding | None:
    missing = np.setdiff1d(np.arange(calibration.n_classes), calibration.known_labels)
    if not len(missing):
        return None
    names = calibration.class_names
    some = [str(names[k]) if names is not None else str(k) for k in missing[:5].tolist()]
    return warning("classes-without-labels", classes=some, more=len(missing) - len(some))


def capped(conformal: Calibration, value: float = 0.0, target: float | None = None) -> Finding | None:
    """A warning where the calibration is so small that λ ≤ n/(n+1) matters."""
    n, most = conformal.n, conformal.n / (conformal.n + 1)
    if n < FEW or value > most - 1 / (n + 1) or (target is not None and most < target):
        return warning("capped", n=n)
    return None


def _mixture(fit: ManifoldFit | None) -> list[Finding | None]:
    if fit is None:
        return []
    return [
        None
        if fit.converged
        else warning("fit-not-converged", flow=fit.name == "flow", iterations=fit.iterations),
        warning("mixture-collapsed", agreement=fit.agreement) if fit.collapsed else None,
    ]


def _samples(
    estimate: LambdaEstimate, on_operation: LambdaEstimate, manifold_lambda: float | None, interrupted: bool
) -> list[Finding]:
    if estimate.source != "manifold":
        return []
    # The calibration is common to both, so its part does not enter the difference.
    real, drawn = on_operation.standard_error, estimate.standard_error
    noise = 3 * float(np.hypot(real.sampling, np.hypot(drawn.sampling, drawn.manifold)))
    gap = estimate.value - on_operation.value
    found: list[Finding] = []
    if not estimate.converged and not interrupted:
        found.append(warning("sampling-not-converged", n=estimate.n))
    if abs(gap) > max(FAR, 0 if manifold_lambda is None else noise):
        found.append(warning("samples-far", samples=estimate.value, operation=on_operation.value))
    if manifold_lambda is not None:
        excess = manifold_lambda - on_operation.value
        if excess > max(FAR / 2, 3 * float(np.hypot(real.sampling, drawn.manifold))):
            found.append(
                warning("manifold-data-confident", manifold=manifold_lambda, operation=on_operation.value)
            )
    return found


def _above_accuracy(operation: Scan, on_operation: LambdaEstimate) -> Finding | None:
    if operation.accuracy is None or on_operation.value <= operation.accuracy:
        return None
    return warning("lambda-above-accuracy", level=on_operation.value, accuracy=operation.accuracy)
