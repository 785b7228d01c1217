"""Rows of a data set by what tells them apart, and whether anything known of two rows says that they differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, UInt64

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.hashing import row_hashes
from infimum.outputs._outputs import Outputs

Identity = Literal["ids", "hash"]
"""What tells whether two rows are one input: their `ids`, or, where the user says so, their `input_hash`."""

CLOSE = 1e-4
"""Logits of one network on one input differ by less than this, times the largest of them where that is above 1."""

LEAST = -80.0
"""Logits this far below the largest say no more: probabilities from files are clipped in other places."""


def check_identity(identity: Any) -> Identity:
    """One of the ways to tell inputs apart.

    >>> check_identity("hash")
    'hash'
    """
    if identity not in get_args(Identity):
        raise InputError(f"identity must be one of {', '.join(get_args(Identity))}, not {identity!r}")
    return identity  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Rows:
    """What identifies n rows (`keys`, "" where a row has none; None: nothing does), and what may refute it.

    `sources` (n,): ids made from positions or paths hold within one source only; two that differ are no match.
    """

    n: int
    keys: tuple[str, ...] | None = None
    sources: Array | None = None
    logits: Array | None = None
    labels: Array | None = None
    hashes: Array | None = None

    @staticmethod
    def of(outputs: Outputs, identity: Identity = "ids") -> Rows:
        """Rows of outputs; InputError where they are to be told by a hash that they lack."""
        by_hash = identity == "hash"
        if by_hash and outputs.input_hash is None:
            raise InputError(
                f"{outputs.name} has no 'input_hash' to tell inputs by (identity = hash); `infimum extract` writes it"
            )
        ids = outputs.input_hash if by_hash else outputs.ids
        return Rows(
            n=len(outputs),
            keys=None if ids is None else keys_of(ids),
            sources=None if by_hash else outputs.id_source,
            logits=outputs.logits,
            labels=outputs.labels,
            hashes=None if by_hash else outputs.input_hash,
        )


_WHOLE_AS_FLOAT = re.compile(r"([0-9]+)\.0+")
"""Whole numbers as pandas writes a column of them that once had a gap."""


def keys_of(ids: Array) -> tuple[str, ...]:
    """Ids as text, one for each input: 7, 7.0 and " 7" are one id, "007" is another; "" is none.

    >>> keys_of(np.array([7.0, 8.0])), keys_of(np.array(["7", "8.0 "]))
    (('7', '8'), ('7', '8'))
    """
    if ids.dtype.kind in "iu":
        return tuple(map(str, ids.tolist()))
    if ids.dtype.kind == "f" and (ids == np.floor(ids)).all() and np.abs(ids).max(initial=0) < 2**53:
        ids = ids.astype(np.int64)
    texts = (text.strip() for text in ids.astype(str).tolist())
    return tuple(
        found[1] if "." in text and (found := _WHOLE_AS_FLOAT.fullmatch(text)) else text for text in texts
    )


def outputs_agree(a: Array, b: Array) -> Bool[np.ndarray, " n"]:
    """Whether rows of logits (n, K) are those of one input, whatever constant was added to a row.

    Logits kept as float16 have three digits, and agree as far as these go.

    >>> z = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> outputs_agree(z, np.array([[2.0, 1.00001], [1.0, 0.1]])).tolist()
    [True, False]
    """
    same = np.zeros(len(a), dtype=bool)
    if a.shape != b.shape:
        return same
    coarsest = max(float(np.finfo(z.dtype).eps) if z.dtype.kind == "f" else 0.0 for z in (a, b))
    close = max(CLOSE, 2.0 * coarsest)
    for start in range(0, len(a), size := max(1, 2**18 // a.shape[1])):
        x, y = (_above_least(z[start : start + size]) for z in (a, b))
        scale = np.maximum(1.0, np.abs(x).max(axis=1))
        same[start : start + size] = np.abs(x - y).max(axis=1) <= close * scale
    return same


def _above_least(logits: Array) -> Float[np.ndarray, "n K"]:
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    np.maximum(z, LEAST, out=z)
    return z


def agree(a: Rows, i: Array, b: Rows, j: Array) -> Bool[np.ndarray, " pairs"]:
    """Whether nothing that both sides know refutes that these rows are one input."""
    same = np.ones(len(i), dtype=bool)
    if a.logits is not None and b.logits is not None:
        same &= outputs_agree(a.logits[i], b.logits[j])
    if a.labels is not None and b.labels is not None:
        same &= a.labels[i] == b.labels[j]
    if a.hashes is not None and b.hashes is not None:
        same &= a.hashes[i].astype(str) == b.hashes[j].astype(str)
    return same


class Counts:
    """How many rows have each output and label, outputs rounded: what equality by chance rests on."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._tables: dict[tuple[bool, bool], tuple[Array, Array]] = {}

    def share(self, others: Rows, which: Array) -> Float[np.ndarray, " pairs"]:
        """Share of the rows that agree with each of these, by outputs and labels that both sides know."""
        ours = self._rows
        logits = ours.logits is not None and others.logits is not None
        labels = ours.labels is not None and others.labels is not None
        if not logits and not labels:
            return np.ones(len(which))
        if (logits, labels) not in self._tables:
            everything = np.arange(ours.n)
            self._tables[logits, labels] = np.unique(
                _looks(ours, everything, logits, labels), return_counts=True
            )
        known, count = self._tables[logits, labels]
        looks = _looks(others, which, logits, labels)
        at = np.minimum(np.searchsorted(known, looks), len(known) - 1)
        return np.where(known[at] == looks, count[at], 0) / ours.n

    def by_chance(self) -> float:
        """Logarithm of the probability that other rows of the same law are equal to these, one by one."""
        _, count = np.unique(looks_of(self._rows, np.arange(self._rows.n)), return_counts=True)
        return float((count * np.log(count / self._rows.n)).sum())


def looks_of(rows: Rows, which: Array) -> UInt64[np.ndarray, " rows"]:
    """A hash of what is known of these rows besides their ids, outputs rounded."""
    return _looks(rows, which, rows.logits is not None, rows.labels is not None)


def _looks(rows: Rows, which: Array, logits: bool, labels: bool) -> UInt64[np.ndarray, " rows"]:
    looks = np.zeros(len(which), dtype=np.uint64)
    if logits and rows.logits is not None:
        for start in range(0, len(which), size := max(1, 2**18 // rows.logits.shape[1])):
            some = which[start : start + size]
            looks[start : start + size] += row_hashes(_above_least(rows.logits[some]).round(3))
    if labels and rows.labels is not None:
        looks += (rows.labels[which].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return looks
