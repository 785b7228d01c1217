"""What a reader of an assessment must be warned of, each in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infimum._rounding import floor4
from infimum.assessment._identity_caveats import belonging, labelled_twice
from infimum.assessment._results import LambdaEstimate
from infimum.assessment._scan import Scan
from infimum.bounds import Bound
from infimum.conformal import Calibration
from infimum.head import AnyHead
from infimum.identity.labelled_sets import LabelledSets
from infimum.manifold._manifold import ManifoldFit
from infimum.outputs._outputs import Outputs
from infimum.shift import Exchangeability
from infimum.shift._measured import Measured

FEW = 100
"""Fewer rows than this are called few: the cap n/(n+1) on λ then costs a hundredth or more."""

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
) -> tuple[str, ...]:
    """All warnings an assessment owes its reader, the gravest first."""
    calibration, tuning = labelled.calibration, labelled.tuning
    found: list[str | None] = [
        "interrupted: sampling was stopped before its rule held" if interrupted else None,
        not_alike(operation.alike),
        _below_labelled(measured),
        *belonging(operation.belonging, operation.n),
        *labelled_twice(labelled, operation.first),
        _wrong_head(operation.first, head),
        *_calibration(calibration, conformal, estimate, target),
        saturation("calibration", calibration.saturated, len(calibration)),
        None if tuning is None else saturation("tuning", tuning.saturated, len(tuning)),
        saturation("operation", operation.saturated, operation.n),
        _few_inputs(operation, on_operation),
        f"the manifold was fitted to {fit.n} features only" if fit is not None and fit.n < FEW else None,
        *_mixture(fit),
        *_samples(estimate, on_operation, manifold_lambda, interrupted),
        _above_accuracy(operation, on_operation),
    ]
    return tuple(warning for warning in found if warning is not None)


def not_alike(alike: Exchangeability | None) -> str | None:
    """A warning where calibration and operation differ, and what to do then."""
    if alike is None or not alike.rejected:
        return None
    return (
        f"calibration and operation are not alike ({alike.in_words}): what is said here, bounds included, holds for "
        "inputs like the calibration's, not for this operation. Look for a difference in preprocessing; else label "
        "a random sample of the operation and calibrate and certify on that"
    )


def assuming_alike(
    bounds: tuple[Bound, ...], alike: Exchangeability | None, measured: Measured | None = None
) -> tuple[Bound, ...]:
    """The bounds; where calibration and operation are found to differ, with that among what they assume."""
    if measured is not None and measured.rejected:
        test = f"a test of their labels REJECTS (p {measured.p_in_words})"
    elif alike is not None and alike.rejected:
        test = f"a test REJECTS (p {alike.p_in_words})"
    else:
        return bounds
    against = f"labelled and operational inputs are alike, which {test}"
    return tuple(replace(bound, assumptions=(*bound.assumptions, against)) for bound in bounds)


def _below_labelled(measured: Measured | None) -> str | None:
    if measured is None or not measured.rejected:
        return None
    return (
        f"the accuracy measured on the operation ({measured.operation:.4f}) is below that of the labelled inputs "
        f"behind the bound ({measured.labelled:.4f}; Fisher's exact test, p {measured.p_in_words}): the bound does not "
        "hold for this operation; calibrate and certify on a random sample of it"
    )


def _few_inputs(operation: Scan, on_operation: LambdaEstimate) -> str | None:
    if operation.n < FEW:
        return f"only {operation.n} operation inputs"
    if on_operation.effective_n < FEW:
        return f"the weights leave an effective number of {on_operation.effective_n:.1f} operation inputs"
    return None


def _wrong_head(operation: Outputs, head: AnyHead | None) -> str | None:
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
    return (
        f"head(features) differs from the operation's logits by up to {difference.max():.3g} (row {rows[worst]}): "
        "head, features and logits may belong to different networks, and λ on samples would be meaningless"
    )


def _calibration(
    calibration: Outputs, conformal: Calibration, estimate: LambdaEstimate, target: float | None
) -> list[str | None]:
    found = [cap(conformal, estimate.value, target)]
    missing = np.setdiff1d(np.arange(calibration.n_classes), calibration.known_labels)
    if len(missing):
        names = calibration.class_names
        some = ", ".join(str(names[k]) if names is not None else str(k) for k in missing[:5].tolist())
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        found.append(f"no calibration row has the label {some}{more}")
    return found


def cap(conformal: Calibration, value: float = 0.0, target: float | None = None) -> str | None:
    """A warning where the calibration is so small that λ ≤ n/(n+1) matters."""
    n, most = conformal.n, conformal.n / (conformal.n + 1)
    if n < FEW or value > most - 1 / (n + 1) or (target is not None and most < target):
        return f"λ is capped at n/(n+1) = {most:.4f}: the calibration has {n} rows"
    return None


def saturation(what: str, saturated: int, n: int) -> str | None:
    """A warning where probabilities of exactly 1 have lost the order of scores: in `saturated` of n rows."""
    if not saturated:
        return None
    return (
        f"{saturated} of the {n} {what} rows hold a probability of exactly 1: the order "
        "of their scores is lost; give logits instead"
    )


def _mixture(fit: ManifoldFit | None) -> list[str | None]:
    if fit is None:
        return []
    steps = "epochs of training" if fit.name == "flow" else "EM steps"
    agreement = "" if fit.agreement is None else f" (they agree on {fit.agreement:.0%} of the features)"
    return [
        None
        if fit.converged
        else f"the {'flow' if fit.name == 'flow' else 'mixture'} did not converge in {fit.iterations} {steps}",
        f"the mixture collapsed: its components no longer stand for the classes{agreement}"
        if fit.collapsed
        else None,
    ]


def _samples(
    estimate: LambdaEstimate, on_operation: LambdaEstimate, manifold_lambda: float | None, interrupted: bool
) -> list[str | None]:
    if estimate.source != "manifold":
        return []
    # The calibration is common to both, so its part does not enter the difference.
    real, drawn = on_operation.standard_error, estimate.standard_error
    noise = 3 * float(np.hypot(real.sampling, np.hypot(drawn.sampling, drawn.manifold)))
    gap = estimate.value - on_operation.value
    found: list[str | None] = []
    if not estimate.converged and not interrupted:
        found.append(f"sampling ended at {estimate.n} samples before its stopping rule held")
    if abs(gap) > max(FAR, 0 if manifold_lambda is None else noise):
        found.append(
            f"λ on samples ({floor4(estimate.value)}) is far from λ on the real operation inputs "
            f"({floor4(on_operation.value)}): the manifold does not look like the data"
        )
    if manifold_lambda is not None:
        excess = manifold_lambda - on_operation.value
        if excess > max(FAR / 2, 3 * float(np.hypot(real.sampling, drawn.manifold))):
            found.append(
                f"λ on the manifold's own features ({floor4(manifold_lambda)}) is above that of the operation "
                f"({floor4(on_operation.value)}): was the network trained on them? They must be unseen by training"
            )
    return found


def _above_accuracy(operation: Scan, on_operation: LambdaEstimate) -> str | None:
    if operation.accuracy is None or on_operation.value <= operation.accuracy:
        return None
    return (
        f"λ ({floor4(on_operation.value)}) is above the accuracy measured on the same inputs "
        f"({operation.accuracy:.4f}): here it is not a lower bound"
    )
