"""Algorithm 1 as the paper's code runs it: at every error level a quantile, ranks and scores anew, for open inputs."""

from __future__ import annotations

import numpy as np

from infimum.conformal import RAPS


def scores_of_all_labels(probabilities: np.ndarray, u: np.ndarray, score: RAPS) -> np.ndarray:
    """RAPS of every label (n, K), by the formula in float64: sort, cumulate, put back."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    p = np.take_along_axis(probabilities, order, axis=1)
    above = np.cumsum(p, axis=1) - p
    penalty = score.penalty * np.maximum(0, np.arange(1, p.shape[1] + 1) - score.k_reg)
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, above + u[:, None] * p + penalty, axis=1)
    return scores


def softmax(z: np.ndarray) -> np.ndarray:
    """In float64."""
    e = np.exp(z.astype(np.float64) - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def levels_by_rescoring(
    logits: np.ndarray,
    calibration: np.ndarray,
    labels: np.ndarray,
    score: RAPS,
    seed: int,
    step: float = 0.01,
) -> np.ndarray:
    """Success level of each row on the grid of error levels; 0 where no level leaves one label."""
    rng = np.random.default_rng(seed)
    u_own, u = rng.random(len(calibration)), rng.random(len(logits))
    levels = np.zeros(len(logits))
    open_rows = np.arange(len(logits))
    for k in range(1, round(1 / step)):
        own = scores_of_all_labels(softmax(calibration), u_own, score)[np.arange(len(labels)), labels]
        rank = int(np.ceil((len(own) + 1) * (1 - k * step)))
        quantile = np.sort(own)[rank - 1] if rank <= len(own) else np.inf
        sets = scores_of_all_labels(softmax(logits[open_rows]), u[open_rows], score) <= quantile
        single = sets.sum(axis=1) == 1
        levels[open_rows[single]] = 1 - k * step
        open_rows = open_rows[~single]
    return levels
