"""The study's metrics M1–M4 on labelled evaluation inputs (docs/method.md §6)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array

CHUNK = 2**20
"""Entries of the logits that are turned into probabilities at a time."""


def softmax(logits: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
    """Probabilities of the classes, as the study needs them; they saturate (docs/method.md §2).

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    p: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def mean_squared_error(logits: Float[np.ndarray, "n K"], labels: Int[np.ndarray, " n"]) -> float:
    """Mean over inputs and classes of (softmax − one-hot)².

    >>> round(mean_squared_error(np.zeros((1, 2)), np.array([0])), 6)
    0.25
    """
    n, k = logits.shape
    total = 0.0
    for start in range(0, n, size := max(1, CHUNK // k)):
        p = softmax(logits[start : start + size].astype(np.float64))
        p[np.arange(len(p)), labels[start : start + size]] -= 1
        total += float((p * p).sum())
    return float(total / (n * k))


def pearson(levels: Float[np.ndarray, " n"], position: Int[np.ndarray, " n"]) -> tuple[float, float]:
    """M4: correlation of λ(x) with the true label's position (0: correct), and its two-sided p-value.

    NaN where one of the two does not vary.

    >>> pearson(np.array([0.9, 0.8, 0.1]), np.array([0, 0, 2]))[0].__round__(3)
    -0.993
    """
    from scipy.stats import pearsonr

    if len(levels) < 3 or np.ptp(levels) == 0 or np.ptp(position) == 0:
        return float("nan"), float("nan")
    found = pearsonr(levels, position)
    return float(found.statistic), float(found.pvalue)


def mean_of(values: Array, which: Bool[np.ndarray, " n"]) -> float:
    """Mean of the values that are meant, NaN where there are none."""
    return float(values[which].mean()) if which.any() else float("nan")


def by_position(
    levels: Float[np.ndarray, " n"], position: Int[np.ndarray, " n"]
) -> list[dict[str, float | int]]:
    """Mean success level of the inputs whose true label has each position in the sorted softmax, and their number.

    >>> by_position(np.array([0.9, 0.7, 0.4]), np.array([0, 0, 2]))
    [{'position': 0, 'mean': 0.8, 'n': 2}, {'position': 2, 'mean': 0.4, 'n': 1}]
    """
    return [
        {"position": int(p), "mean": float(levels[position == p].mean()), "n": int((position == p).sum())}
        for p in np.unique(position)
    ]


SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
"""Where the reliability diagram's bins end, as shares of the inputs in order of λ(x): finer where λ(x) is low."""


def reliability(
    levels: Float[np.ndarray, " n"],
    correct: Bool[np.ndarray, " n"],
    shares: tuple[float, ...] = SHARES,
) -> list[dict[str, float | int]]:
    """Mean λ(x), number and number correct of bins in order of λ(x); equal levels stay together.

    >>> reliability(np.array([0.2, 0.2, 0.9, 0.9]), np.array([False, True, True, True]), shares=(0.5,))
    [{'level': 0.2, 'n': 2, 'correct': 1}, {'level': 0.9, 'n': 2, 'correct': 2}]
    """
    edges = np.unique(np.quantile(levels, shares, method="inverted_cdf"))
    part = np.searchsorted(edges, levels, side="left")  # a level equal to an edge ends the bin below it
    return [
        {
            "level": float(levels[part == b].mean()),
            "n": int((part == b).sum()),
            "correct": int(correct[part == b].sum()),
        }
        for b in np.unique(part)
    ]


def order_kept(values: list[float], truth: list[float]) -> bool:
    """M2: whether `values` put the networks in the order of `truth`.

    >>> order_kept([0.9, 0.8, 0.3], [0.7, 0.6, 0.5]), order_kept([0.8, 0.9], [0.7, 0.6])
    (True, False)
    """
    return bool((np.argsort(values, kind="stable") == np.argsort(truth, kind="stable")).all())
