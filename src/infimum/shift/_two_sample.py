"""Are two samples alike? Permutation tests of a classifier and of a single number, on rows already subsampled.

The classifier is Fisher's discriminant on random Fourier features (Rahimi and Recht, 2007): with mean embeddings
μ̂_a, μ̂_b and covariance Σ̂ of the pooled rows, T = (μ̂_a − μ̂_b)ᵀ (Σ̂ + γI)⁻¹ (μ̂_a − μ̂_b) (Harchaoui, Bach and
Moulines, 2008). Σ̂ does not depend on which row is from which sample, so refitting the classifier for a permutation
costs one matrix product, and the permutation p-value is exact at every sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array
from infimum._streams import Stream

FREQUENCIES = 128
"""Random frequencies: each gives a sine and a cosine."""

SCALES = (1.0, 0.25)
"""Bandwidths of the kernel, in units of the root mean square distance of two rows; half of the frequencies each."""

AT_ONCE = 2**18
"""Numbers whose columns are looked at together."""

RIDGE = 10.0
"""γ in units of Σ̂'s mean eigenvalue: directions that vary less count less."""

ROUNDING = 1e-9
"""A permuted statistic this near to the observed one counts as equal, so that rounding never makes p too small."""


@dataclass(frozen=True)
class Columns:
    """A block of `width` columns of N `rows`, of which `some` gives a slice in float64: never all at once."""

    rows: int
    width: int
    some: Callable[[slice], Float[np.ndarray, "N w"]]


def fourier_features(blocks: Sequence[Columns], seed: int) -> Float[np.ndarray, "N q"]:
    """Random Fourier features of standardised columns, centred: two Gaussian kernels, wide and narrow.

    Each block of columns has the same total variance. Everything is a symmetric function of the rows (the
    bandwidth comes from their total variance), as a permutation test needs.
    """
    n = blocks[0].rows
    distance = np.sqrt(2.0 * len(blocks))  # E‖x − x'‖² of two rows is twice the total variance
    bandwidth = np.repeat(SCALES, FREQUENCIES // len(SCALES)) * distance
    rng = Stream.FREQUENCIES.generator(seed)
    angle = np.zeros((n, FREQUENCIES))
    step = max(1, AT_ONCE // n)
    for block in blocks:
        for start in range(0, block.width, step):
            columns = _standardised(block.some(slice(start, start + step)), block.width)
            angle += columns @ (rng.normal(size=(columns.shape[1], FREQUENCIES)) / bandwidth)
    features = np.hstack([np.sin(angle), np.cos(angle)])
    features -= features.mean(axis=0)
    return features


def _standardised(block: Float[np.ndarray, "N w"], p: int) -> Float[np.ndarray, "N w"]:
    """Columns of mean 0 and variance 1/p; those that do not vary become 0."""
    peak = np.abs(block).max(axis=0)
    centred: Array = block / np.where(peak > 0, peak, 1.0)  # the square of 1e300 would overflow
    centred -= centred.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > 1e-12
    centred *= np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0) / np.sqrt(p)
    return centred


def contrasts(
    second: Bool[np.ndarray, " N"], permutations: int, seed: int, strata: Int[np.ndarray, " N"] | None = None
) -> Float[np.ndarray, "B N"]:
    """One contrast as observed (row 0), then permuted ones: each row times x is a b (mean of first − mean of second).

    a, b are the sizes of the samples: the entries are the whole numbers b and −a, so that their sums are exact. With
    `strata` the sum over strata of a_s b_s / (a_s + b_s) times the difference of means there, permuted within each.
    """
    rng = Stream.PERMUTATIONS.generator(seed)
    rows = np.empty((permutations + 1, len(second)))
    if strata is None:
        rows[:] = np.where(second, -float((~second).sum()), float(second.sum()))
        rng.permuted(rows[1:], axis=1, out=rows[1:])
        return rows
    for s in np.unique(strata):
        here = np.flatnonzero(strata == s)
        share = second[here].mean()
        inside = np.tile(np.where(second[here], share - 1.0, share), (permutations + 1, 1))
        rng.permuted(inside[1:], axis=1, out=inside[1:])
        rows[:, here] = inside
    return rows


def p_value(statistics: Float[np.ndarray, " B"]) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations); the observed statistic stands first.

    >>> p_value(np.array([3.0, 1.0, 3.0, 2.0]))
    0.5
    """
    observed = statistics[0]
    return float((statistics >= observed - ROUNDING * abs(observed)).mean())


def discriminant_statistics(
    features: Float[np.ndarray, "N q"], contrasts: Float[np.ndarray, "B N"]
) -> Float[np.ndarray, " B"]:
    """T of every contrast, times (a b)²: its squared length after whitening with the pooled covariance."""
    white = features @ _whitening(features)
    statistics: Array = ((contrasts @ white) ** 2).sum(axis=1)
    return statistics


def distance_statistics(
    values: Float[np.ndarray, " N"], contrasts: Float[np.ndarray, "B N"]
) -> Float[np.ndarray, " B"]:
    """A b times the Kolmogorov–Smirnov distance of every contrast: the largest gap of the distribution functions."""
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(
        np.diff(values[order])
    )  # equal values step together; behind the last one the gap is 0
    statistics = np.zeros(len(contrasts))
    for start in range(0, len(contrasts) if len(ends) else 0, 100):
        gaps = np.cumsum(contrasts[start : start + 100, order], axis=1)[:, ends]
        statistics[start : start + 100] = np.abs(gaps).max(axis=1)
    return statistics


def held_out_auc(
    features: Float[np.ndarray, "N q"], second: Bool[np.ndarray, " N"], seed: int
) -> float | None:
    """AUC of the discriminant, fitted on one half of the rows and read on the other, averaged over both ways.

    The chance that it tells a row of the second sample from one of the first: 0.5 where they are alike. None
    when a half would have fewer than two rows of either.
    """
    if min(second.sum(), (~second).sum()) < 4:
        return None
    half = np.zeros(len(second), dtype=bool)
    rng = Stream.CLASSIFIER_HALVES.generator(seed)
    for sample in (np.flatnonzero(second), np.flatnonzero(~second)):
        half[rng.permutation(sample)[: len(sample) // 2]] = True
    return float(np.mean([_auc(features, second, part) for part in (half, ~half)]))


def _auc(features: Array, second: Array, fit: Array) -> float:
    x, of_second = features[fit], second[fit]
    whitening = _whitening(x - x.mean(axis=0))
    direction = whitening @ (whitening.T @ (x[of_second].mean(axis=0) - x[~of_second].mean(axis=0)))
    scores, of_second = features[~fit] @ direction, second[~fit]
    first = np.sort(scores[~of_second])
    below, not_above = (np.searchsorted(first, scores[of_second], side) for side in ("left", "right"))
    return float((below + not_above).mean() / (2 * len(first)))


def _whitening(centred: Float[np.ndarray, "N q"]) -> Float[np.ndarray, "q q"]:
    """W with W Wᵀ = (Σ̂ + γI)⁻¹."""
    covariance = centred.T @ centred / len(centred)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    whitening: Array = vectors / np.sqrt(values + RIDGE * values.mean() + np.finfo(np.float64).tiny)
    return whitening
