"""assess(): one call that runs the way of the data, from labelled and unlabelled outputs to an Assessment.

Ask → count every input once → calibrate → scan the operation → sample → judge → say: each a function of records.
"""

from __future__ import annotations

import logging
from typing import Any

from infimum._checks import Array, Real
from infimum.assessment._asked import Asked
from infimum.assessment._caveats import warnings_about
from infimum.assessment._diagnostics.on_calibration import curves_on_calibration
from infimum.assessment._features import features_and_head
from infimum.assessment._judging import Judged, judged
from infimum.assessment._results import Assessment, CalibrationFacts, LambdaEstimate, Success
from infimum.assessment._sampled import Sampled, sampled
from infimum.assessment._scan import Scan, scan
from infimum.assessment._stream_features import StreamFeatures
from infimum.bounds._judges import Judge
from infimum.conformal import Calibration, Score, calibrate
from infimum.conformal._left_out import calibration_rows
from infimum.conformal._options import SuccessLevels
from infimum.conformal._scores import score_to_dict
from infimum.errors import InputError
from infimum.estimators._estimate import few_wrong
from infimum.estimators._success_level import recalibrated_lambda
from infimum.head import AnyHead
from infimum.identity.findings import counted_once
from infimum.identity.labelled_sets import LabelledSets, labelled_sets
from infimum.identity.rows import Identity
from infimum.io.findings import those
from infimum.manifold._options import AnyManifold
from infimum.manifold._sampling import Progress
from infimum.manifold._stopping import Sampling
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs
from infimum.outputs._provenance import origin
from infimum.outputs._stream import OutputsStream

logger = logging.getLogger("infimum")


def assess(
    calibration: Outputs,
    operation: Outputs | OutputsStream,
    *,
    tuning: Outputs | None = None,
    head: AnyHead | None = None,
    manifold_data: Array | None = None,
    score: Score | str | None = None,
    levels: SuccessLevels | str | None = None,
    manifold: AnyManifold | str | None = None,
    sampling: Sampling | str | None = None,
    seed: int = 0,
    exchangeability: bool = True,
    target: Real | None = None,
    confidence: Real = 0.95,
    method: Judge | str = "clopper_pearson",
    label_errors: Any = None,
    identity: Identity = "ids",
    name: str = "network",
    progress: Progress | None = None,
) -> Assessment:
    """Assess how reliable a classifier is on its operation (the paper's whole process, and certified bounds).

    An option that is an object may be given as its text too, as on the command line: `score="raps:k_reg=auto"`.

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
    score, levels
        The nonconformity score, as `RAPS(penalty=0.01)` (the default), "saps:weight=0.2"; and how success levels are
        made of it, as `SuccessLevels(temperature="fit")`, "step=0.01,empty=zero".
    manifold
        What is sampled from, as `Kernel(bandwidth=0.1)`, "gmm:components=10" (the paper's), "class-gaussians",
        "neighbors", "tree", "flow" (extra), "auto" (chosen by `select_manifold`) or "none". By default the kernel where
        head and features are there and the operation has fewer than 2,000 inputs, or manifold data are given; none
        otherwise.
    sampling, seed, progress
        Of the sampling, as `Sampling(Stopping("time", seconds=5), draw="sobol")`, "time:seconds=5". Same seed, same
        result.
    exchangeability
        Whether to test that calibration and operation are alike, which every bound assumes.
    target, confidence, method
        A reliability that the bound of `method` on the labelled rows is to meet, in (0, 1); confidence of each
        certified bound. Name the method beforehand: `ClopperPearson()` ("clopper_pearson"), or `PredictionPowered()`
        ("prediction_powered_betting"; "prediction_powered" is asymptotic) with the network's largest probability as
        level. The other bounds are listed beside it and do not decide.
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
    _check_sets(calibration, tuning, operation)
    asked = Asked.of(
        score=score,
        levels=levels,
        manifold=manifold,
        sampling=sampling,
        method=method,
        target=target,
        confidence=confidence,
        label_errors=label_errors,
        identity=identity,
        seed=seed,
        exchangeability=exchangeability,
        head=head,
        manifold_data=manifold_data,
    )
    labelled = labelled_sets(calibration, tuning, asked.identity)
    source = features_and_head(
        asked.manifold, head, asked.manifold_data, operation, labelled.calibration.n_classes
    )
    conformal = _calibrated(labelled, asked)
    kept = None
    if source is not None and isinstance(operation, OutputsStream) and asked.manifold_data is None:
        kept = StreamFeatures(operation, source[1], asked.manifold, asked.seed)
    found = scan(
        OutputsStream.of(operation) if isinstance(operation, Outputs) else operation,
        *(labelled.calibration, conformal, asked.levels.step, asked.levels.empty),
        *(asked.seed, asked.exchangeability, kept),
        tuning=labelled.fresh,
        identity=asked.identity,
    )
    logger.info("scored %d operation inputs: λ %.4f", found.summary.n, found.summary.value)
    drawn = sampled(asked, source, kept, operation, conformal, found, progress)
    verdict = judged(asked, labelled, operation, conformal, found)
    inputs = {"calibration": calibration, "tuning": tuning, "operation": found.fingerprints}
    provenance = origin(asked.seed, inputs, asked.manifold_data, head)
    return _said(name, asked, labelled, conformal, found, drawn, verdict, provenance)


def _check_sets(calibration: Outputs, tuning: Outputs | None, operation: Outputs | OutputsStream) -> None:
    check_one_network(calibration, operation.first if isinstance(operation, OutputsStream) else operation)
    for outputs in (calibration, tuning):
        if outputs is not None and check_outputs(outputs, "tuning").weights is not None:
            raise InputError(
                f"{outputs.name} has weights, but labelled rows all count alike in a calibration and in a bound; "
                "leave the weights out, or use bounds.class_profile for class probabilities of operation"
            )


def _calibrated(labelled: LabelledSets, asked: Asked) -> Calibration:
    calibration, to_tune = labelled.calibration, labelled.to_tune
    conformal = calibrate(
        calibration.logits,
        calibration.known_labels,
        score=asked.score,
        randomize=asked.levels.randomize,
        temperature=asked.levels.temperature,
        tuning=None if to_tune is None else (to_tune.logits, to_tune.known_labels),
        seed=asked.seed,
    )
    logger.info(
        "calibrated on %d rows: %s, temperature %g", conformal.n, conformal.score, conformal.temperature
    )
    return conformal


def _said(
    name: str,
    asked: Asked,
    labelled: LabelledSets,
    conformal: Calibration,
    found: Scan,
    drawn: Sampled,
    verdict: Judged,
    provenance: dict[str, Any],
) -> Assessment:
    """The record of it all, with what its reader must be told."""
    calibration, real = labelled.calibration, found.summary
    on_operation = LambdaEstimate(
        value=real.value,
        standard_error=real.standard_error(),
        source="operation",
        n=real.n,
        effective_n=real.effective_n,
        never_singleton=real.never_singleton,
        weighted=found.weighted,
    )
    estimate = on_operation if drawn.estimate is None else drawn.estimate
    success = None
    if found.accuracy is not None and found.n_correct is not None:
        success = Success(found.accuracy, found.n, found.n_correct)
    return Assessment(
        network=name,
        n_classes=calibration.n_classes,
        calibration=_facts(conformal),
        step="exact" if asked.levels.step is None else str(asked.levels.step),
        empty=asked.levels.empty,
        lambda_=estimate,
        lambda_operation=on_operation,
        certified=verdict.certified,
        estimates=(recalibrated_lambda(conformal, calibration, real, asked.seed),),
        target=verdict.target,
        manifold=None if drawn.fit is None else drawn.fit.to_dict(),
        selection=drawn.selection,
        fidelity=drawn.fidelity,
        exchangeability=found.alike,
        findings=(
            *warnings_about(
                operation=found,
                labelled=labelled,
                conformal=conformal,
                estimate=estimate,
                on_operation=on_operation,
                fit=drawn.fit,
                manifold_lambda=None if asked.manifold_data is None else drawn.manifold_lambda,
                head=asked.head,
                target=asked.target,
                interrupted=drawn.interrupted,
                measured=verdict.measured,
            ),
            *conformal.findings,
            *counted_once(labelled),
            *drawn.findings,
            *verdict.findings,
            *those([few_wrong(calibration.correct[calibration_rows(conformal, len(calibration))])]),
        ),
        provenance=provenance,
        interrupted=drawn.interrupted,
        diagnostics=found.collector.diagnostics(drawn.levels, asked.target),
        on_calibration=None
        if found.accuracy is not None
        else curves_on_calibration(
            conformal, calibration, asked.levels.step, asked.levels.empty, asked.target
        ),
        success=success,
        measured=verdict.measured,
        correct=found.correct,
        incorrect=found.incorrect,
        pearson=found.pearson,
    )


def _facts(conformal: Calibration) -> CalibrationFacts:
    return CalibrationFacts(
        n=conformal.n,
        score=score_to_dict(conformal.score),
        temperature=float(conformal.temperature),
        randomize=conformal.randomize,
        seed=conformal.seed,
        n_tuning=conformal.n_tuning,
    )
