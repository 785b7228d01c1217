"""Two questions of the study's page: why λ ≤ λ* for the authors' MNIST networks, and what region maps are worth."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from infimum._streams import Stream
from infimum.conformal import LambdaSummary
from infimum.conformal._success import levels_of
from infimum.io.replacing import write_bytes
from infimum.manifold import Manifold, fit_gmm, fit_kernel
from infimum.manifold._sampling import sample_lambda
from infimum.monitor import RegionMap
from infimum.study.measuring import FIDELITY, Repetition, prepare
from infimum.study.stages import Stage, StageOutputs, law, outputs

FROM_MEANS = "mixture, EM from class means alone"
FROM_CLASSES = "mixture, EM from class weights, means and covariances"
REAL = "real inputs of D_eval"

MAP_SAMPLES = 20_000
"""One iteration of the paper's sampling process."""


def manifolds(stage: Stage) -> list[dict[str, Any]]:
    """λ on samples of one D_gaus by manifold, beside λ on the real features of D_gaus and on D_eval.

    λ is in the paper's steps and exact, the calibration that of the first repetition.
    """
    return _kept(stage, "manifolds.json", _manifolds)


def region_maps(stage: Stage) -> list[dict[str, Any]]:
    """Region maps fitted to samples of the paper's mixture and their levels, judged on D_eval."""
    return _kept(stage, "region-maps.json", _region_maps)


def _kept(stage: Stage, name: str, make: Any) -> list[dict[str, Any]]:
    path = stage.folder / name
    if not path.exists():
        stage.say(name.removesuffix(".json").replace("-", " "))
        measured = outputs(stage)
        rows = make(stage, measured, prepare(measured.test, FIDELITY, stage.seed))
        write_bytes(path, (json.dumps(rows, indent=1) + "\n").encode())
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def _manifolds(stage: Stage, measured: StageOutputs, rep: Repetition) -> list[dict[str, Any]]:
    features = measured.manifold["fidelity"]
    predicted = measured.head.logits(features).argmax(axis=1)
    laws: dict[str, Manifold] = {
        FROM_MEANS: law(stage, measured, FIDELITY),
        FROM_CLASSES: fit_gmm(features, predicted, seed=stage.seed),
        "kernel": fit_kernel(features, predicted),
    }
    rows: list[dict[str, Any]] = []
    for name, manifold in laws.items():
        stepped, exact = (
            sample_lambda(manifold, measured.head, rep.conformal, FIDELITY.stopping, stage.seed, step)
            for step in (FIDELITY.step, None)
        )
        weights = getattr(manifold, "weights", None)
        rows.append(
            {
                "manifold": name,
                "lambda": stepped.summary.value,
                "lambda_exact": exact.summary.value,
                "log_likelihood": manifold.fit.log_likelihood,
                "agreement": manifold.fit.agreement,
                "largest_weights": None if weights is None else sorted(weights.tolist(), reverse=True),
            }
        )
    for name, logits in (
        ("real features of D_gaus", measured.head.logits(features)),
        (REAL, rep.evaluation.logits),
    ):
        counts = rep.conformal.top_two(logits)
        stepped_real, exact_real = (LambdaSummary(rep.conformal.n, step) for step in (FIDELITY.step, None))
        stepped_real.add(counts)
        exact_real.add(counts)
        rows.append({"manifold": name, "lambda": stepped_real.value, "lambda_exact": exact_real.value})
    return rows


def _region_maps(stage: Stage, measured: StageOutputs, rep: Repetition) -> list[dict[str, Any]]:
    rng = Stream.STUDY_REGION_MAP.generator(stage.seed)
    samples = law(stage, measured, FIDELITY).sample(MAP_SAMPLES, rng)
    counts = rep.conformal.top_two(measured.head.logits(samples), stream="samples")
    levels = levels_of(counts.count_top, counts.count_second, rep.conformal.n, FIDELITY.step)
    if measured.test.features is None:
        raise TypeError("the study's outputs hold features")
    features = measured.test.features[rep.rows]
    correct = rep.evaluation.correct
    rows = []
    for kind in ("tree", "neighbors"):
        areas = RegionMap(kind, stage.seed).fit(samples, levels)
        began = time.perf_counter()
        estimated = areas.predict(features)
        seconds = time.perf_counter() - began
        varies = np.ptp(estimated) > 0 and np.ptp(rep.levels) > 0
        rows.append(
            {
                "map": kind,
                "correct": float(estimated[correct].mean()),
                "incorrect": float(estimated[~correct].mean()) if (~correct).any() else None,
                "mean_difference": float(np.abs(estimated - rep.levels).mean()),
                "correlation": float(np.corrcoef(estimated, rep.levels)[0, 1]) if varies else None,
                "microseconds": 1e6 * seconds / len(features),
            }
        )
    return rows
