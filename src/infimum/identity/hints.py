"""Equal outputs, or equal hashes of the raw input: a hint that two rows may be one input, and never more.

A set that repeats itself shows that equality proves nothing. How often a row of one set is met in another set of
*other* inputs is how often it is met among the other rows of its own set: only what is beyond that is worth a word.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, UInt64

from infimum.io.hashing import row_hashes
from infimum.outputs._outputs import Outputs

BEYOND = 3.0
"""Standard errors by which equal rows must be more than repeats explain."""


class KnownOutputs:
    """The rows of a data set, hashed once and looked for in others, or in others' blocks, to the last bit.

    Raw inputs are compared where both sets hold their hashes, outputs else; saturated rows then do not count.
    Rows are compared by a 64-bit hash: among a million rows against a million, the chance of a false
    match is about 1 in 20 million.
    """

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._known = {
            raw: np.unique(_hashes(outputs, raw)) for raw in (False, True) if not raw or _has_raw(outputs)
        }
        # By the first bits of a hash: whether any known one begins so. Of 64 places one is taken, at most, so that
        # few rows are left to be searched for.
        bits = min(max(len(outputs).bit_length() + 6, 10), 26)
        self._shift = np.uint64(64 - bits)
        self._begins = {raw: _beginnings(known, self._shift, bits) for raw, known in self._known.items()}

    def among(self, others: Outputs) -> Bool[np.ndarray, " n"]:
        """Which rows of `others` are equal to one of these."""
        raw = _has_raw(self._outputs) and _has_raw(others)
        known = self._known[raw]
        found: Bool[np.ndarray, " n"] = np.zeros(len(others), dtype=bool)
        if not len(known) or (not raw and self._outputs.n_classes != others.n_classes):
            return found
        usable = np.ones(len(others), dtype=bool) if raw else _unsaturated(others)
        hashes = row_hashes(others.input_hash if raw and others.input_hash is not None else others.logits)
        found = self._begins[raw].take((hashes >> self._shift).view(np.int64))
        few = np.flatnonzero(found)
        at = np.minimum(np.searchsorted(known, hashes[few]), len(known) - 1)
        found[few] = known[at] == hashes[few]
        found &= usable
        return found

    def more_than_repeats(self, equal: int, of: int, raw: bool) -> bool:
        """Whether `equal` of `of` rows of another set are more than this set's own repeats explain."""
        repeats = share_repeated(self._outputs, raw)
        error = np.sqrt(repeats * (1.0 - repeats) * (1.0 / of + 1.0 / len(self._outputs)))
        return bool(equal > 0 and equal / of > repeats + BEYOND * error)


def share_repeated(outputs: Outputs, raw: bool = False) -> float:
    """Share of the rows that are equal to another row of the same set.

    >>> share_repeated(Outputs(np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])))
    0.5
    """
    _, counts = np.unique(_hashes(outputs, raw), return_counts=True)
    return float(counts[counts > 1].sum() / len(outputs))


def compared_raw(a: Outputs, b: Outputs) -> bool:
    """Whether both hold hashes of their raw inputs."""
    return _has_raw(a) and _has_raw(b)


def _has_raw(outputs: Outputs) -> bool:
    return outputs.input_hash is not None


def _hashes(outputs: Outputs, raw: bool) -> UInt64[np.ndarray, " n"]:
    if raw and outputs.input_hash is not None:
        return row_hashes(outputs.input_hash)
    usable: UInt64[np.ndarray, " n"] = row_hashes(outputs.logits)[_unsaturated(outputs)]
    return usable


def _beginnings(known: UInt64[np.ndarray, " n"], shift: np.uint64, bits: int) -> Bool[np.ndarray, " places"]:
    begins = np.zeros(2**bits, dtype=bool)
    begins[known >> shift] = True
    return begins


def _unsaturated(outputs: Outputs) -> Bool[np.ndarray, " n"]:
    mask = np.ones(len(outputs), dtype=bool)
    if outputs.saturated_rows is not None:
        mask[outputs.saturated_rows] = False
    return mask


def hinted(known: Outputs, others: Outputs) -> int:
    """How many of `others` equal a row of `known`, if they are more than its own repeats explain; else 0.

    >>> a = Outputs(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    >>> hinted(a, a), hinted(Outputs(np.ones((9, 2))), Outputs(np.ones((9, 2))))
    (3, 0)
    """
    rows = KnownOutputs(known)
    equal = int(np.count_nonzero(rows.among(others)))
    return equal if rows.more_than_repeats(equal, len(others), compared_raw(known, others)) else 0
