"""One repetition of the study on one trained network: calibration, evaluation and sampling, to M1–M4 and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.conformal import RAPS, Calibration, calibrate
from infimum.conformal._fitting import true_ranks
from infimum.conformal._success import Step, levels_of
from infimum.head import Head
from infimum.manifold import Manifold
from infimum.manifold._sampling import sample_lambda
from infimum.manifold._stopping import Stopping
from infimum.outputs._outputs import Outputs
from infimum.study.beside import beside
from infimum.study.datasets import split_test
from infimum.study.metrics import by_position, mean_of, mean_squared_error, pearson, reliability

BINS = 50
"""Of the histograms of success levels on [0, 1]."""


@dataclass(frozen=True)
class Mode:
    """How a repetition is run: the paper's way to the letter, or infimum's defaults."""

    name: str
    step: Step
    stopping: Stopping


FIDELITY = Mode("fidelity", "0.01", Stopping("samples", max_samples=1_000_000, batch=20_000))
"""RAPS with penalty 0.01, error levels in steps of 0.01, 50 iterations of 20,000 samples of the mixture."""

RECOMMENDED = Mode("recommended", None, Stopping())
"""RAPS with penalty 0.01, exact levels, the kernel manifold until the sampling error is at most 5e-4."""

MODES = {mode.name: mode for mode in (FIDELITY, RECOMMENDED)}


@dataclass(frozen=True, eq=False)
class Repetition:
    """What one repetition is measured on: the three parts of the test file, and the calibration."""

    evaluation: Outputs
    calibration: Outputs
    tuning: Outputs
    conformal: Calibration
    levels: Array
    """λ(x) of each evaluation input."""
    rows: Array
    """Rows of the test file that are the evaluation inputs, in their order."""


def prepare(test: Outputs, mode: Mode, seed: int) -> Repetition:
    """D_eval, D_cal and D_tun drawn anew, RAPS calibrated with its k_reg tuned, every evaluation input scored."""
    parts = split_test(len(test), seed)
    evaluation, calibration, tuning = (_rows(test, rows) for rows in parts)
    conformal = calibrate(
        calibration.logits,
        calibration.known_labels,
        score=RAPS(0.01, "auto"),
        tuning=(tuning.logits, tuning.known_labels),
        seed=seed,
    )
    counts = conformal.top_two(evaluation.logits)
    levels = levels_of(counts.count_top, counts.count_second, conformal.n, mode.step)
    return Repetition(evaluation, calibration, tuning, conformal, levels, parts[0])


def measure(test: Outputs, law: Manifold, head: Head, mode: Mode, seed: int) -> dict[str, Any]:
    """The figures of one repetition, and what the study's pictures are drawn from; NaN becomes None."""
    rep = prepare(test, mode, seed)
    run = sample_lambda(law, head, rep.conformal, mode.stopping, seed, mode.step)
    labels, correct, levels = rep.evaluation.known_labels, rep.evaluation.correct, rep.levels
    position = true_ranks(rep.evaluation.logits, labels) - 1
    correlation, p_value = pearson(levels, position)
    figures = {
        "lambda_sampled": run.summary.value,
        "lambda_operation": float(levels.mean()),
        "success": float(correct.mean()),
        "mse": mean_squared_error(rep.evaluation.logits, labels),
        "success_level": float(levels.mean()),
        "success_level_correct": mean_of(levels, correct),
        "success_level_incorrect": mean_of(levels, ~correct),
        "position_incorrect": mean_of(position, ~correct),
        "pearson": correlation,
        "pearson_p": p_value,
        **beside(rep.calibration, rep.tuning, rep.evaluation, rep.conformal),
    }
    edges = np.linspace(0, 1, BINS + 1)
    return {
        "figures": {key: None if np.isnan(value) else value for key, value in figures.items()},
        "n_calibration": rep.conformal.n,
        "k_reg": getattr(rep.conformal.score, "k_reg", None),
        "n_samples": run.summary.n,
        "converged": run.converged,
        "history": [[batch.n, batch.value] for batch in run.history],
        "by_position": by_position(levels, position),
        "histogram": {
            "correct": np.histogram(levels[correct], edges)[0].tolist(),
            "incorrect": np.histogram(levels[~correct], edges)[0].tolist(),
        },
        "reliability": reliability(levels, correct),
    }


def _rows(outputs: Outputs, rows: Array) -> Outputs:
    return Outputs(outputs.logits[rows], outputs.known_labels[rows], name=outputs.name)
