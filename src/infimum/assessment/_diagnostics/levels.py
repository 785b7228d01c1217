"""Success levels counted: their distribution, reliability bins and the risk–coverage curve.

All three are functions of one table, the weight of correct and incorrect inputs at each distinct level, of
which there are at most n + 1 for a calibration of n rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infimum._checks import Array
from infimum.assessment._diagnostics.proportions import Groups
from infimum.assessment._diagnostics.records import (
    MOST,
    LevelBin,
    Proportion,
    ReliabilityBin,
    RiskPoint,
    Wanted,
)

HISTOGRAM = np.linspace(0.0, 1.0, 51)
RELIABILITY = np.concatenate([np.linspace(0.0, 0.9, 19), [0.92, 0.94, 0.96, 0.98, 1.0]])
"""Bins of 0.05, finer above 0.9, where most inputs of a good network lie."""

WANTED = (0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class LevelTable:
    """The distinct success levels, ascending, and the sums over the inputs at each."""

    levels: Array
    groups: Groups


def histogram(table: LevelTable, labelled: bool, samples: tuple[Array, Array] | None) -> tuple[LevelBin, ...]:
    """Shares of levels in 50 bins of 0.02; `samples` are levels of the manifold's samples and their weights."""
    right = table.groups.right
    shares = [_shares(table.levels, table.groups.weight)]
    shares += [_shares(table.levels, w) if labelled else None for w in (right, table.groups.weight - right)]
    shares.append(None if samples is None else _shares(*samples))
    columns = [[None] * (len(HISTOGRAM) - 1) if s is None else s.tolist() for s in shares]
    return tuple(
        LevelBin(low, high, *values)
        for low, high, *values in zip(HISTOGRAM[:-1].tolist(), HISTOGRAM[1:].tolist(), *columns, strict=True)
    )


def _shares(levels: Array, weights: Array) -> Array | None:
    total = weights.sum()
    if total <= 0:
        return None
    shares: Array = np.bincount(_bins(levels, HISTOGRAM), weights, len(HISTOGRAM) - 1) / total
    return np.maximum(shares, 0.0)


def _bins(levels: Array, edges: Array) -> Array:
    """Bin of each level; the last bin holds its upper edge too. 1e-12: 1 − k/(n+1) may round below an edge."""
    return np.clip(np.searchsorted(edges, levels + 1e-12, side="right") - 1, 0, len(edges) - 2)


def reliability(table: LevelTable) -> tuple[ReliabilityBin, ...]:
    """Mean level against accuracy in bins of λ(x); empty bins are left out."""
    bins = _bins(table.levels, RELIABILITY)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    joined = table.groups.joined(starts)
    level = np.add.reduceat(table.levels * table.groups.weight, starts) / joined.weight
    found = []
    for bin_, mean, accuracy in zip(bins[starts].tolist(), level.tolist(), joined.accuracies(), strict=True):
        if accuracy is not None:
            low, high = float(RELIABILITY[bin_]), float(RELIABILITY[bin_ + 1])
            found.append(ReliabilityBin(low, high, mean, accuracy))
    return tuple(found)


@dataclass(frozen=True)
class RiskCoverage:
    """Accuracy among the inputs with λ(x) ≥ t for every distinct t, from the highest t down."""

    thresholds: Array
    accepted: Groups

    @staticmethod
    def of(table: LevelTable) -> RiskCoverage:
        """Inputs of one level are accepted together."""
        return RiskCoverage(table.levels[::-1], table.groups.taken(np.s_[::-1]).summed())

    @property
    def coverage(self) -> Array:
        """Share of the inputs accepted at each threshold, ascending to 1."""
        coverage: Array = self.accepted.weight / self.accepted.weight[-1]
        return coverage

    @property
    def accuracy(self) -> Array:
        """Accuracy among those accepted."""
        accuracy: Array = self.accepted.right / self.accepted.weight
        return accuracy

    def area(self) -> float:
        """AURC: the mean of the risk (1 − accuracy) over the coverage, in [0, 1]."""
        steps = np.diff(self.coverage, prepend=0.0)
        return float(np.clip(((1.0 - self.accuracy) * steps).sum(), 0.0, 1.0))

    def points(self) -> tuple[RiskPoint, ...]:
        """At most 200 points, evenly spread over the coverage; the first and the last are always there."""
        grid = np.linspace(0.0, 1.0, MOST["risk_coverage"] - 1)
        last = len(self.thresholds) - 1
        chosen = np.unique(
            np.minimum(np.concatenate([[0], np.searchsorted(self.coverage, grid), [last]]), last)
        )
        return self._at(chosen)

    def wanted(self, target: float | None) -> tuple[Wanted, ...]:
        """For round accuracies, and the target, the lowest threshold that reaches each on these inputs."""
        found = []
        for accuracy in sorted({*WANTED, *(() if target is None else (target,))}):
            reaching = np.flatnonzero(self.accuracy >= accuracy)
            found.append(Wanted(accuracy, self._at(reaching[-1:])[0] if len(reaching) else None))
        return tuple(found)

    def _at(self, chosen: Array) -> tuple[RiskPoint, ...]:
        accuracies = self.accepted.taken(chosen).accuracies()
        rows = zip(self.thresholds[chosen].tolist(), self.coverage[chosen].tolist(), accuracies, strict=True)
        return tuple(RiskPoint(t, c, _there(accuracy)) for t, c, accuracy in rows)


def _there(accuracy: Proportion | None) -> Proportion:
    if accuracy is None:
        raise AssertionError("levels without inputs are not in the table")
    return accuracy
