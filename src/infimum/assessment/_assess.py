"""assess(): one call that runs the way of the data, from labelled and unlabelled outputs to an Assessment."""

from __future__ import annotations

import logging
from typing import Any, Literal

import numpy as np

from infimum._checks import Array, Real, check_kind, check_matrix, exact_fraction
from infimum.assessment._caveats import assuming_alike, warnings_about
from infimum.assessment._diagnostics.on_calibration import curves_on_calibration
from infimum.assessment._features import features_and_head, why_no_manifold
from infimum.assessment._identity_caveats import counted_once
from infimum.assessment._judging import check_method, judging_bounds
from infimum.assessment._results import Assessment, CalibrationFacts, LambdaEstimate, Success, Target
from infimum.assessment._scan import Scan, scan
from infimum.assessment._stream_features import StreamFeatures
from infimum.bounds import Bound
from infimum.bounds._bound import check_confidence
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS, Evidence
from infimum.conformal import RAPS, Calibration, LambdaSummary, Score, calibrate
from infimum.conformal._left_out import calibration_rows
from infimum.conformal._scores import score_to_dict
from infimum.conformal._success import Empty, Step
from infimum.errors import InputError
from infimum.estimators._estimate import few_wrong
from infimum.estimators._success_level import recalibrated_lambda
from infimum.head import AnyHead, Head, HeadFunction
from infimum.identity.labelled_sets import LabelledSets, labelled_sets
from infimum.identity.rows import Identity, check_identity
from infimum.manifold import Manifold, ManifoldChoice, fit_moments, select_manifold
from infimum.manifold._by_name import Bandwidth, ManifoldName, fit_manifold, without_effect
from infimum.manifold._fidelity import Fidelity
from infimum.manifold._held_out import drawn_by_weight, held_out_fidelity
from infimum.manifold._sampling import Draw, Progress, Stopping, sample_lambda
from infimum.manifold._selection import fit_candidate
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs
from infimum.outputs._provenance import origin
from infimum.outputs._stream import OutputsStream
from infimum.shift._measured import measured_beside

logger = logging.getLogger("infimum")


def assess(
    calibration: Outputs,
    operation: Outputs | OutputsStream,
    *,
    tuning: Outputs | None = None,
    head: AnyHead | None = None,
    manifold_data: Array | None = None,
    score: Score | None = None,
    randomize: bool = True,
    temperature: Real | Literal["fit"] = 1.0,
    step: Step = None,
    empty: Empty = "argmax",
    manifold: ManifoldName | None = None,
    components: int | None = None,
    covariance: str = "full",
    bandwidth: Bandwidth = 0.1,
    stopping: Stopping | None = None,
    draw: Draw = "independent",
    seed: int = 0,
    exchangeability: bool = True,
    target: Real | None = None,
    confidence: Real = 0.95,
    method: str = "clopper_pearson",
    label_errors: Any = None,
    identity: Identity = "ids",
    name: str = "network",
    progress: Progress | None = None,
) -> Assessment:
    """Assess how reliable a classifier is on its operation (the paper's whole process, and certified bounds).

    Parameters
    ----------
    calibration, operation
        Labelled outputs that training has not seen; outputs of operational inputs, labels optional (λ*), in
        memory or as a stream (`open_stream`), with the same result. Of a stream's features 50,000 are kept, so
        that of more a manifold is fitted to some, or, class Gaussians, to the moments of all.
    tuning
        Labelled outputs for `k_reg="auto"` and `temperature="fit"`, else a part of the calibration is set aside.
    head, manifold_data
        The prediction layer, and features (m, d) that training has not seen (default: the operation's).
    score, randomize, temperature
        As in `calibrate`.
    step, empty
        The paper's δ (None: exact), and how inputs that never get a one-label set are read.
    manifold
        "kernel", "gmm" (the paper's), "class-gaussians", "neighbors", "tree", "flow" (extra), "auto" (chosen by
        `select_manifold`, which takes its own parameters) or "none". By default kernel where head and features are
        there and the operation has fewer than 2,000 inputs, or manifold data are given; none otherwise.
    components, covariance, bandwidth
        Of gmm; of gmm and class-gaussians ("shrunk" and "lowrank:r" for many dimensions); of the kernel ("auto":
        by leave-one-out likelihood of the logits, smoother than λ wants it).
    stopping, draw, seed, progress
        Of the sampling. Same seed, same result.
    exchangeability
        Whether to test that calibration and operation are alike, which every bound assumes.
    target, confidence, method
        A reliability that the bound of `method` on the labelled rows is to meet, in (0, 1); confidence of each
        certified bound. Name the method beforehand: "clopper_pearson", or "prediction_powered_betting" or
        "prediction_powered" (asymptotic) with the network's largest probability as level. The other bounds are
        listed beside it and do not decide.
    label_errors
        What may be wrong of the labels: at most so many of those at hand, as 5, or a share of those of the operation,
        as 0.02 or "2%". Every bound is lowered by what that costs, and judges so.
    identity
        What tells whether two rows are one input: "ids" that both sides have, or, where you know that no two inputs
        share it, "hash" (`input_hash`). Equal outputs never do. Labelled rows that are one input count once.

    Raises
    ------
    InputError
        When the inputs do not fit together; see `Outputs`, `Head`, `calibrate`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 400)
    >>> z = 4 * np.eye(3)[y] + rng.normal(size=(400, 3))
    >>> result = assess(Outputs(z[:200], y[:200]), Outputs(z[200:]), target=0.9)
    >>> result.target.met, result.lambda_.source
    (True, 'operation')
    """
    check_one_network(calibration, operation.first if isinstance(operation, OutputsStream) else operation)
    if head is not None:
        check_kind(head, (Head, HeadFunction), "head", "a Head, for example Head(weight, bias)")
    for outputs in (calibration, tuning):
        if outputs is not None and check_outputs(outputs, "tuning").weights is not None:
            raise InputError(
                f"{outputs.name} has weights, but labelled rows all count alike in a calibration and in a bound; "
                "leave the weights out, or use bounds.class_profile for class probabilities of operation"
            )
    score = RAPS() if score is None else score
    confidence, method = check_confidence(confidence), check_method(method)
    errors = LabelErrors.of(label_errors)
    labelled = labelled_sets(calibration, tuning, check_identity(identity))
    manifold_data = None if manifold_data is None else check_matrix(manifold_data, "manifold data")
    given, calibration, to_tune = calibration, labelled.calibration, labelled.to_tune
    wanted = None if target is None else float(exact_fraction(target, "target"))
    source = features_and_head(manifold, head, manifold_data, operation, calibration.n_classes)
    conformal = calibrate(
        calibration.logits,
        calibration.known_labels,
        score=score,
        randomize=randomize,
        temperature=temperature,
        tuning=None if to_tune is None else (to_tune.logits, to_tune.known_labels),
        seed=seed,
    )
    notes = [*conformal.notes, *counted_once(labelled)]
    logger.info(
        "calibrated on %d rows: %s, temperature %g", conformal.n, conformal.score, conformal.temperature
    )

    stream = OutputsStream.of(operation) if isinstance(operation, Outputs) else operation
    kept = None
    if source is not None and isinstance(operation, OutputsStream) and manifold_data is None:
        kept = StreamFeatures(operation, source[1], manifold, covariance, seed)
    found = scan(
        *(stream, calibration, conformal, step, empty, seed, exchangeability, kept),
        tuning=labelled.fresh,
        identity=identity,
    )
    real = found.summary
    on_operation = LambdaEstimate(
        value=real.value,
        standard_error=real.standard_error(),
        source="operation",
        n=real.n,
        effective_n=real.effective_n,
        never_singleton=real.never_singleton,
        weighted=found.weighted,
    )
    logger.info("scored %d operation inputs: λ %.4f", real.n, real.value)

    law: Manifold | None = None
    selection: ManifoldChoice | None = None
    likeness: Fidelity | None = None
    estimate, interrupted, manifold_lambda, samples = on_operation, False, None, None
    if source is None:
        notes.append(why_no_manifold(manifold, head, operation))
        notes.extend(without_effect("none", components, covariance, bandwidth))
    else:
        notes.extend(without_effect(manifold or "kernel", components, covariance, bandwidth))
        features, head = source
        weights = operation.weights if manifold_data is None else None
        if kept is not None:
            features, weights = kept.features, kept.weights
            notes.extend(kept.notes)
        everything = np.arange(len(features))
        sampled = features if weights is None else features[drawn_by_weight(everything, weights, seed)]
        if manifold == "auto":
            law, selection = select_manifold(sampled, head, conformal, seed)
            notes.append(f"manifold auto took {selection.chosen}: {selection.why}")

        def fit(rows: Array) -> Manifold:
            if selection is not None:
                return fit_candidate(selection.chosen, rows, head)
            logits = head.logits(rows)
            predicted = logits.argmax(axis=1)
            return fit_manifold(manifold, rows, predicted, components, covariance, bandwidth, seed, logits)

        law = fit(sampled) if law is None else law
        try:
            likeness = held_out_fidelity(fit, law.fit, features, weights, head, conformal, seed)
        except InputError as error:
            notes.append(f"the manifold was not compared with features held out: {error}")
        logger.info("fitted %s to %d features", law.fit.name, law.fit.n)
        behind = LambdaSummary(conformal.n, step, empty)
        behind.add(conformal.top_two(head.logits(features)), weights)
        if kept is not None and kept.moments is not None:  # of all inputs, and not only of those kept
            law, behind = fit_moments(kept.moments, covariance), real
        manifold_lambda = behind.value
        run = sample_lambda(law, head, conformal, stopping, seed, step, empty, progress, draw)
        interrupted = run.interrupted
        if run.summary.n:
            samples = run.summary.level_distribution()
            estimate = LambdaEstimate(
                value=run.summary.value,
                standard_error=run.summary.standard_error(behind.sampling_error, run.sampling_error),
                source="manifold",
                n=run.summary.n,
                effective_n=run.summary.effective_n,
                never_singleton=run.summary.never_singleton,
                converged=run.converged,
                stopping={**run.stopping.to_dict(), "draw": draw},
                history=run.history,
            )

    judge, *beside = judging_bounds(method, labelled, operation, confidence, identity, errors)
    withheld = _why_withheld(operation.weights is not None, labelled, found, conformal)
    if withheld is not None:
        notes.append(f"the bounds from success levels are not given: {withheld}")
    certified = (
        judge,
        *beside,
        *(_from_success_levels(found.runner_up, confidence, errors) if withheld is None else ()),
    )
    success = None
    if found.accuracy is not None and found.n_correct is not None:
        success = Success(found.accuracy, found.n, found.n_correct)
    measured = None
    if found.right is not None and found.independent and operation.weights is None:
        right = labelled.correct
        measured = measured_beside(found.right, found.independent, int(right.sum()), len(right))
    certified = assuming_alike(certified, found.alike, measured)
    few = few_wrong(calibration.correct[calibration_rows(conformal, len(calibration))])
    if few is not None:
        notes.append(few)
    return Assessment(
        network=name,
        n_classes=calibration.n_classes,
        calibration=_facts(conformal),
        step="exact" if step is None else str(step),
        empty=empty,
        lambda_=estimate,
        lambda_operation=on_operation,
        certified=certified,
        estimates=(recalibrated_lambda(conformal, calibration, real, seed),),
        target=None if wanted is None else Target(wanted, confidence, judge.value >= wanted, judge.method),
        manifold=None if law is None else law.fit.to_dict(),
        selection=selection,
        fidelity=likeness,
        exchangeability=found.alike,
        warnings=warnings_about(
            operation=found,
            labelled=labelled,
            conformal=conformal,
            estimate=estimate,
            on_operation=on_operation,
            fit=None if law is None else law.fit,
            manifold_lambda=None if manifold_data is None else manifold_lambda,
            head=head,
            target=wanted,
            interrupted=interrupted,
            measured=measured,
        ),
        notes=tuple(notes),
        provenance=origin(
            seed,
            {"calibration": given, "tuning": tuning, "operation": found.fingerprints},
            manifold_data,
            head,
        ),
        interrupted=interrupted,
        diagnostics=found.collector.diagnostics(samples, wanted),
        on_calibration=None
        if found.accuracy is not None
        else curves_on_calibration(conformal, calibration, step, empty, wanted),
        success=success,
        measured=measured,
        correct=found.correct,
        incorrect=found.incorrect,
        pearson=found.pearson,
    )


def _why_withheld(weighted: bool, labelled: LabelledSets, found: Scan, conformal: Calibration) -> str | None:
    """What breaks the law of the p-values that the bounds from success levels rest on, if anything does."""
    if weighted:
        return "the operation is weighted, and the calibration is not of the weighted distribution"
    if labelled.tuning is not None and conformal.n_tuning and labelled.fresh is None:
        return "the score or the temperature was tuned on calibration rows"
    if not found.independent:
        return "every operation input is a labelled row too"
    return None


def _from_success_levels(runner_up: Array, confidence: float, errors: LabelErrors) -> tuple[Bound, ...]:
    """Bounds from the p-values alone: exact levels, the top label never dropped, whatever λ's reading is."""
    evidence = Evidence(errors, runner_up=runner_up)
    made_of_them = [method for method in METHODS.values() if method.needs <= {"p_values"}]
    return tuple(method.bound(evidence, (), confidence) for method in made_of_them)


def _facts(conformal: Calibration) -> CalibrationFacts:
    return CalibrationFacts(
        n=conformal.n,
        score=score_to_dict(conformal.score),
        temperature=float(conformal.temperature),
        randomize=conformal.randomize,
        seed=conformal.seed,
        n_tuning=conformal.n_tuning,
    )
