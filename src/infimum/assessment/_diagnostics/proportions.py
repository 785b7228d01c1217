"""Accuracies of groups of inputs with binomial intervals, all groups at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infimum._arrays import effective_number
from infimum._checks import Array
from infimum.assessment._diagnostics.records import Proportion

CONFIDENCE = 0.95


def binomial_interval(
    successes: Float[np.ndarray, " g"], n: Float[np.ndarray, " g"], confidence: float = CONFIDENCE
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """Two-sided Clopper–Pearson intervals, each at `confidence` by itself (not all of them together).

    `successes` of `n` trials, 0 ≤ successes ≤ n. Real numbers are taken too: of weighted inputs, with Kish's
    effective number as n, an approximation. An interval of no trials is [0, 1].

    >>> low, high = binomial_interval(np.array([8.0, 0.0]), np.array([10.0, 0.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.444, 0.0], [0.975, 1.0])
    """
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    failures = np.maximum(n - successes, 0.0)
    low = np.where(successes > 0, betaincinv(np.maximum(successes, 1e-9), failures + 1.0, tail), 0.0)
    high = np.where(failures > 0, betaincinv(successes + 1.0, np.maximum(failures, 1e-9), 1.0 - tail), 1.0)
    return low, high


class Groups(NamedTuple):
    """Sums over groups of inputs; they add up, so groups can be joined by adding rows."""

    inputs: Int[np.ndarray, " g"]
    weight: Float[np.ndarray, " g"]
    squared: Float[np.ndarray, " g"]
    right: Float[np.ndarray, " g"]

    def joined(self, starts: Array) -> Groups:
        """Neighbouring groups put together, each run beginning at one of `starts`."""
        return Groups(*(np.add.reduceat(part, starts) for part in self))

    def summed(self) -> Groups:
        """Running totals: group i holds all groups up to and with i."""
        return Groups(*(np.cumsum(part) for part in self))

    def taken(self, which: Array | slice) -> Groups:
        """Some of the groups."""
        return Groups(*(part[which] for part in self))

    def accuracies(self) -> list[Proportion | None]:
        """Accuracy of each group; None for an empty one."""
        there = self.weight > 0
        value = np.divide(self.right, self.weight, out=np.zeros_like(self.right), where=there)
        value = np.clip(value, 0.0, 1.0)  # sums of weights round
        effective = effective_number(self.weight, self.squared)
        low, high = binomial_interval(value * effective, effective)
        rows = zip(value.tolist(), low.tolist(), high.tolist(), self.inputs.tolist(), there, strict=True)
        return [Proportion(*row) if here else None for *row, here in rows]
