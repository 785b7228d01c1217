"""A calibration: the sorted scores of labelled inputs, and what they say of inputs without labels.

p(x, y) = (1 + #{i : s_i ≥ S(x, y)}) / (n + 1); everything else here is a reading of those counts.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from infimum._checks import (
    Array,
    Real,
    check_finite,
    check_logits,
    check_numbers,
    check_vector,
    exact_fraction,
)
from infimum._threads import for_each
from infimum.conformal._draws import Draws, StreamName, row_draws, uniform_draws
from infimum.conformal._files import read_calibration, write_calibration
from infimum.conformal._heap import keep_freed_memory
from infimum.conformal._ranking import CHUNK, COLUMNS_FIRST, Ranked, ranked_rows, relative_error, top_two
from infimum.conformal._scores import Score, keys, score_named, score_to_dict
from infimum.conformal._search import count_below, padded
from infimum.conformal._success import Empty, Step, levels_of
from infimum.errors import InputError
from infimum.io.faces import Shown
from infimum.io.findings import Finding
from infimum.io.ranges import Classes, Count, Positive, check_fields, checked, read_fields

logger = logging.getLogger("infimum")

ErrorLevel = Real | str | Fraction

ROWS = 2**12
"""Least number of rows per chunk where the chunk itself is never copied: below, numpy's calls cost more than
their work."""


FACTS = ("n_classes", "temperature", "randomize", "seed", "n_tuning", "findings")
"""Fields that a file of a calibration holds as they are."""


class TopTwo(NamedTuple):
    """The predicted class of each input, and (n+1)·p of its two best labels."""

    predicted: Int[np.ndarray, " n"]
    count_top: Int[np.ndarray, " n"]
    count_second: Int[np.ndarray, " n"]


@dataclass(frozen=True)
class Calibration(Shown):
    """Sorted calibration scores of one network, made by `calibrate`.

    `keys` (n,) are the scores in the exact form of `scores.keys`, ascending. `n_tuning` labelled rows were
    set aside or given to choose `k_reg` or the temperature. `findings` say what a reader should know.
    """

    score: Score
    keys: Complex[np.ndarray, " n"] = field(repr=False)
    n_classes: Classes
    temperature: Positive = 1.0
    randomize: bool = True
    seed: Count = 0
    n_tuning: Count = 0
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        keys = self.keys
        if keys.dtype != np.complex128 or keys.ndim != 1 or len(keys) < 2 or not np.isfinite(keys).all():
            raise InputError("keys must be at least 2 finite complex numbers, as `scores.keys` makes them")
        if (keys[1:] < keys[:-1]).any():
            raise InputError("keys must be ascending")

    @property
    def n(self) -> int:
        """Number of calibration scores."""
        return len(self.keys)

    def top_two(
        self,
        logits: Array,
        u: Array | None = None,
        first_row: int = 0,
        stream: StreamName = "operation",
    ) -> TopTwo:
        """Predicted classes and the p-value counts of the two best labels, in chunks and without a sort.

        `logits` (n, K); `u` (n,) in [0, 1] or None to draw by (seed, row) when the calibration is randomised.
        Raises InputError for logits that are not finite or of another number of classes.
        """
        logits = check_logits(logits, n_classes=self.n_classes, finite=False)
        n = len(logits)
        result = TopTwo(*(np.empty(n, dtype=np.int64) for _ in TopTwo._fields))

        def one_chunk(rows: slice) -> None:
            draw = self._draws_at(rows, u, first_row, stream)
            block = logits[rows]
            check_finite(block, "logits", first_row=rows.start)
            predicted, top, second = top_two(block, self.temperature)
            below_top, unsure_top = self._count_below(top, draw)
            below_second, unsure_second = self._count_below(second, draw)
            unsure = np.flatnonzero(unsure_top | unsure_second)
            # Where a calibration score lies within rounding of this one, let the reference order decide. It takes
            # some ten times the memory of the rows, so they are few at a time.
            for start in range(0, len(unsure), size := max(1, CHUNK // self.n_classes)):
                few = unsure[start : start + size]
                _, ranked = ranked_rows(block[few].astype(np.float64), self.temperature)
                both = Ranked(*(np.asarray(f)[:, :2] for f in ranked))
                exact = self._exact_count_below(both, _rows(draw, few)[:, None])
                below_top[few], below_second[few] = exact.T
            result.predicted[rows] = predicted
            result.count_top[rows] = self.n + 1 - below_top
            result.count_second[rows] = self.n + 1 - below_second

        keep_freed_memory()
        u = None if u is None else check_draws(u, n)
        chunks = self._chunks(n, first_row, least=ROWS)
        if self.n_classes > COLUMNS_FIRST:
            for_each(one_chunk, chunks)
        else:  # numpy's calls on few classes are so short that two threads only wait for Python's lock
            for rows in chunks:
                one_chunk(rows)
        return result

    def success_levels(
        self,
        logits: Array,
        step: Step = None,
        u: Array | None = None,
        empty: Empty = "argmax",
        first_row: int = 0,
    ) -> Float[np.ndarray, " n"]:
        """Success level λ(x) of each input, in [0, n/(n+1)]: Algorithm 1 in closed form (docs/method.md §3).

        `logits` (n, K); `step` is the paper's δ (None: δ → 0); `empty` says how inputs that never get a
        one-label set are read. An estimate per input, not a guarantee. Raises InputError on bad input.

        >>> import numpy as np
        >>> from infimum.conformal import LAC, calibrate
        >>> cal = calibrate(np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 0]), score=LAC())
        >>> cal.success_levels(np.array([[9.0, 0.0]])).tolist()
        [0.75]
        """
        counts = self.top_two(logits, u, first_row)
        return levels_of(counts.count_top, counts.count_second, self.n, step, empty)

    def p_values(self, logits: Array, u: Array | None = None, first_row: int = 0) -> Float[np.ndarray, "n K"]:
        """p-value of every label, in [1/(n+1), 1]: shape (n, K). One sort per input.

        >>> import numpy as np
        >>> from infimum.conformal import LAC, calibrate
        >>> cal = calibrate(np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 0]), score=LAC())
        >>> cal.p_values(np.array([[2.0, 0.0]])).tolist()
        [[0.75, 0.25]]
        """
        return self.p_value_counts(logits, u, first_row) / (self.n + 1)

    def p_value_counts(
        self, logits: Array, u: Array | None = None, first_row: int = 0
    ) -> Int[np.ndarray, "n K"]:
        """(n+1)·p of every label, whole numbers in 1..n+1: shape (n, K)."""
        logits = check_logits(logits, n_classes=self.n_classes)
        counts = np.empty(logits.shape, dtype=np.int64)
        u = None if u is None else check_draws(u, len(logits))
        for rows in self._chunks(len(logits), first_row):
            draw = self._draws_at(rows, u, first_row, "operation")
            order, ranked = ranked_rows(logits[rows].astype(np.float64), self.temperature)
            below = self._exact_count_below(ranked, np.asarray(draw).reshape(-1, 1))
            np.put_along_axis(counts[rows], order, self.n + 1 - below, axis=1)
        return counts

    def prediction_sets(
        self, logits: Array, error: ErrorLevel, u: Array | None = None, first_row: int = 0
    ) -> Bool[np.ndarray, "n K"]:
        """C_ε(x) = {y : p(x, y) > ε}, boolean (n, K); marginal coverage at least 1 − ε.

        The error level ε in [0, 1] is taken as the decimal that was written. Below 1/(n+1) every set holds
        all labels, and a log message says so.
        """
        level = exact_fraction(error, "error", inside=False)
        if level * (self.n + 1) < 1:
            logger.warning(
                "error level %s is below 1/(n+1) = 1/%d: every prediction set holds all labels",
                error,
                self.n + 1,
            )
        # p > ε  ⇔  count > ε(n+1)  ⇔  count > ⌊ε(n+1)⌋, all in whole numbers.
        return self.p_value_counts(logits, u, first_row) > math.floor(level * (self.n + 1))

    def quantile(self, error: ErrorLevel) -> float:
        """q̂(ε): the k-th smallest score, k = ⌈(n+1)(1−ε)⌉; +∞ if k > n, −∞ if k < 1. In the score's units.

        >>> import numpy as np
        >>> from infimum.conformal import TopK, calibrate
        >>> cal = calibrate(np.eye(3), np.array([0, 1, 0]), score=TopK(), randomize=False)
        >>> cal.quantile(0.5)
        1.0
        """
        k = math.ceil((self.n + 1) * (1 - exact_fraction(error, "error", inside=False)))
        if k > self.n:
            return math.inf
        return float(self.score.value(self.keys[k - 1 : k].real)[0]) if k >= 1 else -math.inf

    def save(self, path: str | Path) -> None:
        """Write to one file, JSON or (name ending in .safetensors) safetensors, replaced in one move."""
        facts = {name: getattr(self, name) for name in FACTS}
        facts["findings"] = [finding.to_dict() for finding in self.findings]
        write_calibration(Path(path), {"score": score_to_dict(self.score), "n": self.n, **facts}, self.keys)

    @staticmethod
    def load(path: str | Path) -> Calibration:
        """Read what `save` wrote; raises InputError for any other file. No pickle."""
        try:
            about, keys = read_calibration(Path(path))
            facts = read_fields(Calibration, about, FACTS)
            parameters = dict(checked(about["score"], dict[str, Any], "score"))
            score = score_named(checked(parameters.pop("name", None), str, "score.name"), **parameters)
            return Calibration(score=score, keys=keys, **facts)
        except InputError as error:
            raise InputError(f"{path} is not a usable calibration: {error}") from error

    def draws_of(self, rows: Array) -> Float[np.ndarray, " n"] | None:
        """Draws u of operation inputs with these row numbers (n,), in any order, to give as `u` (None: there are none).

        For engines that hand out rows in an order of their own. Raises InputError unless they are whole numbers ≥ 0.

        >>> import numpy as np
        >>> from infimum.conformal import calibrate
        >>> cal = calibrate(np.eye(2), np.array([0, 1]))
        >>> bool((cal.draws_of(np.array([2, 0])) == cal.draws(3, None, 0, "operation")[[2, 0]]).all())
        True
        """
        if not (self.score.has_random_form and self.randomize):
            return None
        return row_draws(self.seed, "operation", rows)

    def draws(self, n: int, u: Array | None, first_row: int, stream: StreamName) -> Draws:
        """U of each input: given, drawn by (seed, stream, row), or 1 for the deterministic score."""
        return self._draws_at(slice(0, n), None if u is None else check_draws(u, n), first_row, stream)

    def _draws_at(self, rows: slice, u: Array | None, first_row: int, stream: StreamName) -> Draws:
        if not self.score.has_random_form:
            return 1
        if u is not None:
            return u[rows]
        return (
            uniform_draws(self.seed, stream, rows.stop - rows.start, first_row + rows.start)
            if self.randomize
            else 1
        )

    def _chunks(self, n: int, first_row: int, least: int = 1) -> list[slice]:
        if first_row < 0:
            raise InputError(f"first_row must be 0 or more, not {first_row}")
        size = max(least, CHUNK // self.n_classes)
        return [slice(start, min(n, start + size)) for start in range(0, n, size)]

    def _exact_count_below(self, ranked: Ranked, u: Draws) -> Int[np.ndarray, "..."]:
        """#{i : s_i < S} of labels ranked by the reference."""
        return np.searchsorted(self.keys, keys(*self.score.parts(ranked, u)), side="left")

    @cached_property
    def _table(self) -> Float[np.ndarray, " m"]:
        return padded(self.keys.real)

    def _count_below(self, ranked: Ranked, u: Draws) -> tuple[Array, Array]:
        """#{i : s_i < S} from one-pass masses, and where a calibration score is too near to be sure of it.

        Rounding keeps order: where no rounded key lies between the rounded ends of S ± its error, the search among
        rounded keys has settled it. The exact keys are asked about the few others.
        """
        fixed, computed = self.score.parts(ranked, u)
        error = 0.0 if self.score.computed_exactly else relative_error(self.n_classes)
        margin = error * np.abs(computed)
        count = count_below(self._table, fixed + (computed - margin))
        unsure = self._table.take(count) <= fixed + (computed + margin)
        near = np.flatnonzero(unsure)
        if len(near):
            fixed, computed, margin = (
                np.broadcast_to(x, count.shape)[near] for x in (fixed, computed, margin)
            )
            at = np.searchsorted(self.keys, keys(fixed, computed - margin), side="left")
            count[near] = at
            nearest = self.keys[np.minimum(at, self.n - 1)]
            unsure[near] = (error > 0) & (at < self.n) & (nearest <= keys(fixed, computed + margin))
        return count, unsure


def _rows(draw: Draws, rows: Array) -> Array:
    return np.ones(len(rows)) if isinstance(draw, int | float) else draw[rows]


def check_draws(u: Any, n: int) -> Float[np.ndarray, " n"]:
    """Draws given by the caller: (n,) in [0, 1]."""
    draws = check_vector(check_numbers(u, "u"), "u", n).astype(np.float64)
    outside = np.flatnonzero(~((draws >= 0) & (draws <= 1)))
    if len(outside):
        raise InputError(f"u: row {outside[0]} is {draws[outside[0]]}, outside 0..1")
    return draws
