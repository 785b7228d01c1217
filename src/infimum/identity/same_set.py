"""One data set given twice: without ids too, rows in the same order with the same content are the same inputs.

A position names an input within one source. Two sets are taken for one where they are equal row by row, to the last
of equally many rows, and other inputs would be so by chance with probability below 1e-9: of n rows with frequencies
f(v) of their values that is ∏ f(v_i), which is no small number where all rows are alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from infimum.identity.rows import Counts, Rows, agree

BY_CHANCE = math.log(1e-9)


class InStep:
    """Known sets, and whether rows that come block by block are still those of one of them, in order."""

    def __init__(self, known: Sequence[Rows]) -> None:
        self._known = list(known)
        self.n = 0

    def goes_on(self, others: Rows) -> bool:
        """Whether these next rows are the next ones of a known set."""
        here = np.arange(self.n, self.n + others.n)
        self._known = [
            rows
            for rows in self._known
            if here[-1] < rows.n and agree(rows, here, others, np.arange(others.n)).all()
        ]
        self.n += others.n
        return bool(self._known)

    @property
    def same_set(self) -> bool:
        """Whether the rows so far are one of the known sets, whole."""
        return any(rows.n == self.n and Counts(rows).by_chance() <= BY_CHANCE for rows in self._known)
