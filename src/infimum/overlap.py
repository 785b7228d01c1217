"""Rows of logits that occur in two data sets: evaluation on what one has calibrated on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, UInt64

from infimum.checks import Array
from infimum.outputs import Outputs


def rows_also_in(outputs: Outputs, others: Outputs) -> Bool[np.ndarray, " n"]:
    """Which rows of `others` occur in `outputs` too, to the last bit. Saturated rows do not count.

    Rows are compared by a 64-bit hash: among a million rows against a million, the chance of a false
    match is about 1 in 20 million.

    >>> import numpy as np
    >>> a, b = Outputs(np.eye(2)), Outputs(np.array([[0.0, 1.0], [5.0, 1.0]]))
    >>> rows_also_in(a, b).tolist()
    [True, False]
    """
    return KnownRows(outputs).among(others)


def row_digests(outputs: Outputs) -> list[str | None]:
    """The hash of each row as 16 hexadecimal digits, to be kept and compared later. None for a saturated row.

    >>> import numpy as np
    >>> a, b, c = row_digests(Outputs(np.array([[0.0, 1.0], [5.0, 1.0], [0.0, 1.0]])))
    >>> a == c, a == b, len(a)
    (True, False, 16)
    """
    digests = (f"{value:016x}" for value in row_hashes(outputs.logits).tolist())
    return [d if usable else None for d, usable in zip(digests, _unsaturated(outputs).tolist(), strict=True)]


def n_copies(digests: Iterable[str | None]) -> int:
    """How many of these rows occur before, to the last bit. Rows without a digest do not count.

    >>> n_copies(["a", None, "b", "a", None])
    1
    """
    known = [digest for digest in digests if digest is not None]
    return len(known) - len(set(known))


class KnownRows:
    """The rows of a data set, hashed once and looked for in others, or in others' blocks."""

    def __init__(self, outputs: Outputs) -> None:
        self.n_classes = outputs.n_classes
        self._known = np.unique(row_hashes(outputs.logits)[_unsaturated(outputs)])
        # By the first bits of a hash: whether any known one begins so. Of 64 places one is taken, at most, so that
        # few rows are left to be searched for.
        bits = min(max(len(self._known).bit_length() + 6, 10), 26)
        self._shift = np.uint64(64 - bits)
        self._begins = np.zeros(2**bits, dtype=bool)
        self._begins[self._known >> self._shift] = True

    def among(self, others: Outputs) -> Bool[np.ndarray, " n"]:
        """Which rows of `others` are known."""
        if self.n_classes != others.n_classes or not len(self._known):
            return np.zeros(len(others), dtype=bool)
        hashes = row_hashes(others.logits)
        found: Bool[np.ndarray, " n"] = self._begins.take((hashes >> self._shift).view(np.int64))
        few = np.flatnonzero(found)
        at = np.minimum(np.searchsorted(self._known, hashes[few]), len(self._known) - 1)
        found[few] = self._known[at] == hashes[few]
        found &= _unsaturated(others)
        return found


def _unsaturated(outputs: Outputs) -> Bool[np.ndarray, " n"]:
    mask = np.ones(len(outputs), dtype=bool)
    if outputs.saturated_rows is not None:
        mask[outputs.saturated_rows] = False
    return mask


def row_hashes(rows: Array) -> UInt64[np.ndarray, " n"]:
    """Multiply–xor-shift of the bits of each number of rows (n, d), summed along the row with odd random multipliers.

    >>> first, second, third = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    odd = np.random.default_rng(0x0DD).integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2)
    odd = odd + np.uint64(1)
    hashes = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), size := max(1, 2**16 // rows.shape[1])):
        # Columns first: numpy is slow over short rows.
        numbers = np.array(rows[start : start + size].T, dtype=np.float64, order="C")
        numbers += 0.0  # −0 is 0
        bits = numbers.view(np.uint64)
        bits ^= bits >> np.uint64(29)
        bits *= odd.reshape(-1, 1)
        bits ^= bits >> np.uint64(32)
        np.sum(bits, axis=0, out=hashes[start : start + size])
    return hashes
