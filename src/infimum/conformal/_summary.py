"""λ from p-value counts, streaming: a histogram of counts holds the mean and its standard error, exactly.

λ = (1/(n+1)) Σ_i G(s_i) with G(t) = Pr(S_(2)(X) > t) is a two-sample statistic (docs/method.md §3): its error has a
calibration part and a sampling part, and both are functions of how often each p-value count occurred. Memory
is that of n + 2 numbers however many inputs are added, and two summaries add up to the summary of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from infimum._arrays import effective_number
from infimum._checks import Array
from infimum.conformal._calibration import TopTwo
from infimum.conformal._success import Empty, Step, check_empty, level_table, never_singleton, step_fraction
from infimum.errors import InputError
from infimum.io.content import check_seal, sealed
from infimum.io.ranges import Count, Probability, Size, checked, numbers_of
from infimum.io.records import Record, check_schema

SCHEMA = "infimum/lambda-summary/1"


@dataclass(frozen=True)
class StandardError(Record):
    """Standard error of λ and its independent parts, all at least 0.

    `calibration`: the labelled rows drawn. `sampling`: the inputs, or samples, averaged over. `manifold`: the
    real features the density model was fitted to; it does not shrink with sampling. First-order formulas: with
    some hundred calibration rows the spread is right, but ± 1.96 errors may cover less than 95 % (λ is skewed).

    >>> StandardError(calibration=0.003, sampling=0.004).total
    0.005
    """

    COMPUTED = ("total",)

    calibration: Probability
    sampling: Probability
    manifold: Probability = 0.0

    @property
    def total(self) -> float:
        """The parts, added as independent errors."""
        return math.hypot(self.calibration, self.sampling, self.manifold)


BLOCK = 2**14
"""Inputs counted at a time, at least."""


class LambdaSummary:
    """Streaming λ over inputs scored by one calibration of n rows.

    Summaries of parts add up to the bits of one of all inputs; with weights, but for the rounding of their sums.

    >>> import numpy as np
    >>> from infimum.conformal import TopTwo
    >>> summary = LambdaSummary(n_calibration=3)
    >>> summary.add(TopTwo(np.array([0, 1]), np.array([4, 4]), np.array([1, 2])))
    >>> summary.value
    0.625
    """

    def __init__(self, n_calibration: int, step: Step = None, empty: Empty = "argmax") -> None:
        check_empty(empty)
        self.n_calibration = n_calibration
        self.step = step
        self.empty = empty
        self.n = 0
        shape = (2, n_calibration + 2)  # [gets a one-label set, never does] × runner-up's count
        self._weight = np.zeros(shape)
        self._weight_squared = np.zeros(shape)

    def add(self, counts: TopTwo, weights: Float[np.ndarray, " m"] | None = None) -> None:
        """Count these inputs, each with its weight (1 if None)."""
        size = max(BLOCK, 4 * self._weight.size)  # what is made of a block stays in the cache
        for start in range(0, len(counts.count_second), size):
            rows = slice(start, start + size)
            self._add(TopTwo(*(x[rows] for x in counts)), None if weights is None else weights[rows])

    def _add(self, counts: TopTwo, weights: Array | None) -> None:
        never = never_singleton(counts.count_top, counts.count_second, self.n_calibration, self.step)
        bins = self._weight.shape[1]
        index = counts.count_second + bins * never
        if weights is None:
            counted = np.bincount(index, minlength=2 * bins).reshape(2, bins)
            self._weight += counted
            self._weight_squared += counted
        else:  # one after the other, so that the last bits do not depend on how inputs were cut into chunks
            np.add.at(self._weight.reshape(-1), index, weights)
            np.add.at(self._weight_squared.reshape(-1), index, weights**2)
        self.n += len(index)

    def __add__(self, other: LambdaSummary) -> LambdaSummary:
        """The summary of the inputs of both, which must share calibration, step and reading of empty sets."""
        ours, theirs = ((s.n_calibration, step_fraction(s.step), s.empty) for s in (self, other))
        if ours != theirs:
            raise InputError(f"summaries of different settings cannot be added: {ours} and {theirs}")
        both = LambdaSummary(self.n_calibration, self.step, self.empty)
        both.n = self.n + other.n
        both._weight = self._weight + other._weight
        both._weight_squared = self._weight_squared + other._weight_squared
        return both

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's terms: so the summary of a part travels from a worker to where parts are added."""
        delta = step_fraction(self.step)
        return sealed(
            {
                "schema": SCHEMA,
                "n_calibration": self.n_calibration,
                "step": None if delta is None else str(delta),
                "empty": self.empty,
                "n": self.n,
                "weight": self._weight.tolist(),
                "weight_squared": self._weight_squared.tolist(),
            }
        )

    @staticmethod
    def from_dict(d: dict[str, Any]) -> LambdaSummary:
        """Inverse of `to_dict`, to the last bit; raises InputError for anything else.

        >>> LambdaSummary.from_dict(LambdaSummary(3, step=0.01).to_dict()).n
        0
        """
        try:
            check_schema(d, SCHEMA)
            check_seal(d)
            n_calibration, n = checked(d["n_calibration"], Size, "n_calibration"), checked(d["n"], Count, "n")
            counts = [
                np.stack([numbers_of(row, name) for row in checked(d[name], tuple[Any, ...], name)])
                for name in ("weight", "weight_squared")
            ]
            if not all(c.shape == (2, n_calibration + 2) and (c >= 0).all() for c in counts):
                raise InputError(
                    f"weight and weight_squared must be 2 x {n_calibration + 2} numbers, none negative"
                )
            check_empty(d["empty"])
            summary = LambdaSummary(n_calibration, step_fraction(d["step"]), d["empty"])
            summary.n, (summary._weight, summary._weight_squared) = n, counts
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a summary of λ written by infimum: {error}") from error
        return summary

    @property
    def value(self) -> float:
        """λ: the (weighted) mean of λ(x), in [0, n/(n+1)]."""
        weight, levels = self._weight_and_levels(self._weight)
        total = weight.sum()
        if total == 0:
            raise InputError(
                "no input (of positive weight) has a success level: none ever gets a one-label set; "
                "use empty='argmax'"
            )
        return float((weight * levels).sum() / total)

    @property
    def never_singleton(self) -> float:
        """(Weighted) share of the inputs that no error level gives a one-label set, in [0, 1]."""
        return float(self._weight[1].sum() / self._weight.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective number of inputs; how many there are when they are not weighted."""
        return float(effective_number(self._weight.sum(), self._weight_squared.sum()))

    @property
    def sampling_error(self) -> float:
        """sd(λ(x))/√m, or its weighted form √Σw²(λ(x) − λ)² / Σw. One input alone: 1/2, the most there is."""
        squared, levels = self._weight_and_levels(self._weight_squared)
        weight, _ = self._weight_and_levels(self._weight)
        effective = float(effective_number(weight.sum(), squared.sum()))
        if effective <= 1:
            return 0.5
        spread = (squared * (levels - self.value) ** 2).sum() / weight.sum() ** 2
        return math.sqrt(spread * effective / (effective - 1))

    @property
    def calibration_error(self) -> float:
        """Sd over i of G(s_i), divided by √n; G(s_i) is the share of inputs whose runner-up scores above s_i.

        On a grid of error levels, and for inputs read as 0, the exact level stands in for the stepped one.
        """
        n = self.n_calibration
        return float(np.std(self.share_above, ddof=1) * math.sqrt(n) / (n + 1))

    @property
    def share_above(self) -> Float[np.ndarray, " n"]:
        """G(s_i) of the sorted calibration scores: the (weighted) share of inputs whose runner-up scores above s_i."""
        weight = self._weight[0] if self.empty == "nan" else self._weight.sum(axis=0)
        # (n+1)p = c leaves n + 1 − c scores below the runner-up: sorted scores 0 .. n − c.
        share: Array = np.cumsum(weight[: self.n_calibration + 1])[:0:-1] / weight.sum()
        return share

    def standard_error(self, manifold: float = 0.0, sampling: float | None = None) -> StandardError:
        """All parts; that of the manifold must be told, and that of sampling where inputs are not independent."""
        return StandardError(
            self.calibration_error, self.sampling_error if sampling is None else sampling, manifold
        )

    @property
    def by_count(self) -> tuple[Float[np.ndarray, " bins"], Float[np.ndarray, " bins"]]:
        """Summed weights, and squares of weights, of the inputs of each runner-up's count (n+1)p_(2) = 0 .. n+1."""
        return self._weight.sum(axis=0), self._weight_squared.sum(axis=0)

    def level_distribution(self) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
        """Success levels that can occur and the weight of each; inputs read as NaN are left out."""
        weight, levels = self._weight_and_levels(self._weight)
        return np.broadcast_to(levels, weight.shape).ravel(), weight.ravel()

    def _weight_and_levels(self, weight: Array) -> tuple[Array, Array]:
        table = level_table(self.n_calibration, self.step)
        if self.empty == "nan":
            return weight[:1], table
        return weight, np.stack([table, np.zeros_like(table) if self.empty == "zero" else table])


def calibration_error_of_difference(one: LambdaSummary, other: LambdaSummary) -> float:
    """Standard error of the difference of two λ from the calibration that they share: sd(G₁ − G₂)/√n.

    Source: docs/method.md §3.

    >>> summary = LambdaSummary(n_calibration=3)
    >>> summary.add(TopTwo(np.array([0, 1]), np.array([4, 4]), np.array([1, 2])))
    >>> calibration_error_of_difference(summary, summary)
    0.0
    """
    n = one.n_calibration
    return float(np.std(one.share_above - other.share_above, ddof=1) * math.sqrt(n) / (n + 1))
