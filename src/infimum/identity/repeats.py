"""Inputs that occur twice in one operation, told block by block: 16 bytes are kept of every row that has an id."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, UInt64

from infimum.identity.rows import Rows, looks_of
from infimum.identity.shared import believed
from infimum.io.hashing import row_hashes

Hashes = UInt64[np.ndarray, " n"]


class Repeats:
    """Rows whose id has been met before, with the same outputs; what is unlabelled counts once in a bound too.

    >>> z = np.array([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    >>> repeats = Repeats()
    >>> repeats.among(Rows(3, ("a", "a", "b"), logits=z)).tolist(), repeats.believed
    ([False, True, False], True)
    """

    def __init__(self) -> None:
        self._keys, self._rows = _Seen(), _Seen()
        self.agreed = self.refuted = 0
        self._chance: float | None = None

    def among(self, rows: Rows) -> Bool[np.ndarray, " n"]:
        """Which rows are met again, if `believed` holds in the end."""
        again = np.zeros(rows.n, dtype=bool)
        if rows.keys is None:
            return again
        has = np.flatnonzero(np.fromiter(map(bool, rows.keys), dtype=bool, count=rows.n))
        if not len(has):
            return again
        keys: Hashes = np.fromiter(map(hash, rows.keys), dtype=np.int64, count=rows.n).view(np.uint64)[has]
        if rows.sources is not None:
            keys = keys + row_hashes(rows.sources[has]) * np.uint64(0x9E3779B97F4A7C15)
        met, looks = self._keys.met(keys), looks_of(rows, has)
        again[has] = self._rows.met(keys ^ looks)
        if self._chance is None:  # two rows drawn at random agree, by the first block
            self._chance = float(((np.unique(looks, return_counts=True)[1] / len(looks)) ** 2).sum())
        self.agreed += int(again.sum())
        self.refuted += int(met.sum()) - int(again.sum())
        return again

    @property
    def believed(self) -> bool:
        """Whether equal ids are one input: none is refuted, or more agree than chance explains."""
        return believed(self.agreed, self.refuted, (self._chance or 0.0) * (self.agreed + self.refuted))


class _Seen:
    """Which 64-bit values have come before, in sorted runs that are merged as they grow."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def met(self, values: Hashes) -> Bool[np.ndarray, " n"]:
        new, first = np.unique(values, return_index=True)
        before = np.zeros(len(new), dtype=bool)
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, new), len(run) - 1)
            before |= run[at] == new
        met = np.ones(len(values), dtype=bool)
        met[first] = before
        self._runs.append(new[~before])
        while len(self._runs) > 1 and len(self._runs[-1]) >= len(self._runs[-2]):
            self._runs[-2:] = [np.sort(np.concatenate(self._runs[-2:]), kind="stable")]
        self._runs = [run for run in self._runs if len(run)]
        return met
