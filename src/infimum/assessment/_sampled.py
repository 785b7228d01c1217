"""λ over samples: the manifold that is asked for, fitted to features, how near it comes, and what a run on it gives."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum.assessment._asked import Asked
from infimum.assessment._features import why_no_manifold
from infimum.assessment._results import LambdaEstimate
from infimum.assessment._scan import Scan
from infimum.assessment._stream_features import StreamFeatures
from infimum.conformal import Calibration, LambdaSummary
from infimum.errors import InputError
from infimum.head import AnyHead
from infimum.io.findings import Finding, note
from infimum.manifold import Manifold, ManifoldChoice, fit_moments, select_manifold
from infimum.manifold._fidelity import Fidelity
from infimum.manifold._held_out import drawn_by_weight, held_out_fidelity
from infimum.manifold._manifold import ManifoldFit
from infimum.manifold._options import Auto, ClassGaussians, Kernel, NoManifold
from infimum.manifold._sampling import Progress, SampledLambda, sample_lambda
from infimum.manifold._selection import fit_candidate
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream

logger = logging.getLogger("infimum")


@dataclass(frozen=True, eq=False)
class Sampled:
    """What sampling gave: `estimate` and `levels` (of the samples) are None where nothing was sampled.

    `manifold_lambda` is λ of the features that the manifold stands for; `interrupted`: Ctrl-C ended the run.
    """

    fit: ManifoldFit | None = None
    selection: ManifoldChoice | None = None
    fidelity: Fidelity | None = None
    estimate: LambdaEstimate | None = None
    levels: tuple[Array, Array] | None = None
    manifold_lambda: float | None = None
    interrupted: bool = False
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class _Features:
    """Features (n, d) a manifold is fitted to, their weights, and what a reader should know of them."""

    values: Array
    weights: Array | None
    head: AnyHead
    findings: tuple[Finding, ...] = ()

    def drawn(self, seed: int) -> Float[np.ndarray, "n d"]:
        """As many of them, drawn by their weights where they have some."""
        everything = np.arange(len(self.values))
        return (
            self.values
            if self.weights is None
            else self.values[drawn_by_weight(everything, self.weights, seed)]
        )


def sampled(
    asked: Asked,
    source: tuple[Array, AnyHead] | None,
    kept: StreamFeatures | None,
    operation: Outputs | OutputsStream,
    conformal: Calibration,
    found: Scan,
    progress: Progress | None,
) -> Sampled:
    """Fit the manifold, compare it with features held out, and sample λ from it. Raises InputError as these do.

    `source`: features and head, None where nothing is to be sampled; `kept` are those of a stream.
    """
    if source is None:
        return Sampled(findings=(why_no_manifold(asked.manifold, asked.head, operation),))
    features = _features(asked, source, kept, operation)
    law, selection, likeness, told = _fitted(asked, features, conformal)
    behind = LambdaSummary(conformal.n, asked.levels.step, asked.levels.empty)
    behind.add(conformal.top_two(features.head.logits(features.values)), features.weights)
    if kept is not None and kept.moments is not None and isinstance(asked.manifold, ClassGaussians):
        # Of all inputs, and not only of those kept.
        law, behind = fit_moments(kept.moments, asked.manifold.covariance), found.summary
    seed = asked.seed if asked.sampling.seed is None else asked.sampling.seed
    run = sample_lambda(
        *(law, features.head, conformal, asked.sampling.stopping, seed),
        *(asked.levels.step, asked.levels.empty, progress, asked.sampling.draw),
    )
    return Sampled(
        fit=law.fit,
        selection=selection,
        fidelity=likeness,
        estimate=_estimate(run, behind.sampling_error, asked) if run.summary.n else None,
        levels=run.summary.level_distribution() if run.summary.n else None,
        manifold_lambda=behind.value,
        interrupted=run.interrupted,
        findings=(*features.findings, *told),
    )


def _features(
    asked: Asked,
    source: tuple[Array, AnyHead],
    kept: StreamFeatures | None,
    operation: Outputs | OutputsStream,
) -> _Features:
    values, head = source
    if kept is not None:
        return _Features(kept.features, kept.weights, head, kept.findings)
    return _Features(values, operation.weights if asked.manifold_data is None else None, head)


def _fitted(
    asked: Asked, features: _Features, conformal: Calibration
) -> tuple[Manifold, ManifoldChoice | None, Fidelity | None, list[Finding]]:
    """The law of all features, how it was chosen, how near that of half comes to the rest, and what was found."""
    rows, head = features.drawn(asked.seed), features.head
    kind = Kernel() if asked.manifold is None else asked.manifold
    told: list[Finding] = []
    if isinstance(kind, NoManifold):
        raise AssertionError("features are looked for only where a manifold is wanted")
    if isinstance(kind, Auto):
        law, selection = select_manifold(rows, head, conformal, asked.seed)
        told.append(selection.why)

        def fit(some: Array) -> Manifold:
            return fit_candidate(selection.chosen, some, head)

        chosen: ManifoldChoice | None = selection
    else:

        def fit(some: Array) -> Manifold:
            logits = head.logits(some)
            return kind.fit(some, logits.argmax(axis=1), logits, asked.seed)

        law, chosen = fit(rows), None
    likeness = None
    try:
        likeness = held_out_fidelity(
            fit, law.fit, features.values, features.weights, head, conformal, asked.seed
        )
    except InputError as error:
        told.append(note("fidelity-unknown", why=str(error)))
    logger.info("fitted %s to %d features", law.fit.name, law.fit.n)
    return law, chosen, likeness, told


def _estimate(run: SampledLambda, features_error: float, asked: Asked) -> LambdaEstimate:
    return LambdaEstimate(
        value=run.summary.value,
        standard_error=run.summary.standard_error(features_error, run.sampling_error),
        source="manifold",
        n=run.summary.n,
        effective_n=run.summary.effective_n,
        never_singleton=run.summary.never_singleton,
        converged=run.converged,
        stopping={**run.stopping.to_dict(), "draw": asked.sampling.draw},
        history=run.history,
    )
