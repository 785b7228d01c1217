"""Which rows are one input: those of equal ids, unless something refutes it. Never those of equal outputs.

Trees, nearest neighbours, int8 heads and dead units give equal outputs to different inputs, so a rule that drops
rows by their outputs selects on the outcome, and what is left is no random sample (docs/method.md). Equal ids with
other outputs, labels or another hash of the raw input are two inputs: ids that are row numbers are met so.

Where some pairs of equal ids are refuted, the others may agree by chance: of 40 distinct outputs many pairs do. Let a
be the share of pairs that agree and c the share that agrees among rows paired at random. If a share s of the pairs
are one input, a = s + (1 − s) c; the pairs that agree are believed where most of them are one input, s ≥ a / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from infimum.checks import Array
from infimum.errors import InputError
from infimum.hashing import row_hashes
from infimum.outputs import Outputs

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
            keys=None if ids is None else tuple(ids.astype(str).tolist()),
            sources=None if by_hash else outputs.id_source,
            logits=outputs.logits,
            labels=outputs.labels,
            hashes=None if by_hash else outputs.input_hash,
        )


def outputs_agree(a: Array, b: Array) -> Bool[np.ndarray, " n"]:
    """Whether rows of logits (n, K) are those of one input, whatever constant was added to a row.

    >>> z = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> outputs_agree(z, np.array([[2.0, 1.00001], [1.0, 0.1]])).tolist()
    [True, False]
    """
    same = np.zeros(len(a), dtype=bool)
    if a.shape != b.shape:
        return same
    for start in range(0, len(a), size := max(1, 2**18 // a.shape[1])):
        x, y = (_above_least(z[start : start + size]) for z in (a, b))
        scale = np.maximum(1.0, np.abs(x).max(axis=1))
        same[start : start + size] = np.abs(x - y).max(axis=1) <= CLOSE * scale
    return same


def _above_least(logits: Array) -> Float[np.ndarray, "n K"]:
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    np.maximum(z, LEAST, out=z)
    return z


class Shared:
    """Rows that are looked for among others, block by block, by what identifies them."""

    def __init__(self, known: Sequence[Rows]) -> None:
        self._known = [rows for rows in known if rows.keys is not None]
        self.comparable = bool(known) and len(self._known) == len(known)
        self._at: list[dict[str, list[int]]] = [_places(rows) for rows in self._known]
        self._counts = [_Counts(rows) for rows in self._known]
        self.agreed = self.refuted = 0
        self._chance = 0.0

    def among(self, others: Rows) -> Bool[np.ndarray, " n"]:
        """Which of `others` are known inputs, if `believed` holds in the end."""
        agree = np.zeros(others.n, dtype=bool)
        refuted = np.zeros(others.n, dtype=bool)
        chance = np.zeros(others.n)
        for rows, at, counts in zip(self._known, self._at, self._counts, strict=True):
            theirs, ours = _pairs(rows, at, others)
            if not len(theirs):
                continue
            same = _agree(rows, ours, others, theirs)
            agree[theirs[same]] = True
            refuted[theirs[~same]] = True
            chance[theirs] = np.maximum(chance[theirs], counts.share(others, theirs))
        refuted &= ~agree
        self.agreed += int(agree.sum())
        self.refuted += int(refuted.sum())
        self._chance += float(chance[agree | refuted].sum())
        return agree

    @property
    def believed(self) -> bool:
        """Whether rows that agree are one input: no pair is refuted, or more agree than chance explains."""
        return _believed(self.agreed, self.refuted, self._chance)


def _believed(agreed: int, refuted: int, chance: float) -> bool:
    if not agreed or not refuted:
        return agreed > 0
    pairs = agreed + refuted
    of_chance = min(chance / pairs, 1.0)
    one_input = 0.0 if of_chance == 1.0 else (agreed / pairs - of_chance) / (1.0 - of_chance)
    return one_input >= agreed / pairs / 2.0


@dataclass(frozen=True, eq=False)
class Found:
    """`mask` (n,) of the rows that are known inputs; `refuted`: how many have the id of one, and are another input."""

    mask: Bool[np.ndarray, " n"]
    refuted: int

    @property
    def n(self) -> int:
        """How many are known."""
        return int(self.mask.sum())


def shared_rows(known: Sequence[Rows], others: Rows) -> Found:
    """Which of `others` are one of the `known` inputs.

    >>> z = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> a, b = Outputs(z, ids=np.array(["x", "y"])), Outputs(z[::-1], ids=np.array(["y", "z"]))
    >>> shared_rows([Rows.of(a)], Rows.of(b)).mask.tolist()
    [True, False]
    """
    shared = Shared(known)
    mask = shared.among(others)
    return Found(mask if shared.believed else np.zeros(others.n, dtype=bool), shared.refuted)


def copies_within(rows: Rows, name: str, labelled: bool = True) -> Found:
    """Which rows are copies of an earlier one: of equal id and label, and nothing else refutes it.

    Raises InputError where one id has two labels; where the rows are not used as `labelled` ones, these are two inputs.

    >>> z, y = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), np.array([0, 0, 0])
    >>> copies_within(Rows.of(Outputs(z, y, ids=np.array([7, 7, 7]))), "rows").mask.tolist()
    [False, True, False]
    """
    copies = np.zeros(rows.n, dtype=bool)
    at = _places(rows)
    later = [(i, group[0]) for group in at.values() for i in group[1:]]
    theirs, ours = np.array(later, dtype=np.int64).reshape(-1, 2).T
    if rows.sources is not None:
        of_one = rows.sources[theirs] == rows.sources[ours]
        theirs, ours = theirs[of_one], ours[of_one]
    if labelled and rows.keys is not None and rows.labels is not None:
        two = np.flatnonzero(rows.labels[theirs] != rows.labels[ours])
        if len(two):
            first, again = int(ours[two[0]]), int(theirs[two[0]])
            raise InputError(
                f"{name}: rows {first} and {again} have one id, {rows.keys[first]!r}, and two labels: one input has "
                "one label. If ids name groups of inputs (a patient, a scene), call them 'cluster' and give every row "
                "an id of its own"
            )
    same = _agree(rows, ours, rows, theirs)
    chance = _Counts(rows).share(rows, theirs)
    if _believed(int(same.sum()), int((~same).sum()), float(chance.sum())):
        copies[theirs[same]] = True
    return Found(copies, int((~same).sum()))


def unlabelled_rows(
    labelled: Sequence[Outputs], operation: Outputs, identity: Identity = "ids"
) -> Bool[np.ndarray, " n"]:
    """Which operation inputs are neither labelled rows nor copies of earlier ones, by their identity.

    >>> ids = np.array([0, 1])
    >>> rows = Outputs(np.eye(2), np.array([0, 1]), ids=ids)
    >>> unlabelled_rows([rows.taken([0])], Outputs(np.eye(2), ids=ids)).tolist()
    [False, True]
    """
    rows = Rows.of(operation, identity)
    known = shared_rows([Rows.of(outputs, identity) for outputs in labelled], rows).mask
    others: Array = ~known & ~copies_within(rows, operation.name, labelled=False).mask
    return others


def _places(rows: Rows) -> dict[str, list[int]]:
    at: dict[str, list[int]] = {}
    for i, key in enumerate(rows.keys or ()):
        at.setdefault(key, []).append(i)
    at.pop("", None)
    return at


def _pairs(
    known: Rows, at: dict[str, list[int]], others: Rows
) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """Rows of `others` and of `known` with one key, of one source where both name theirs."""
    found = [(j, i) for j, key in enumerate(others.keys or ()) for i in at.get(key, ())]
    theirs, ours = np.array(found, dtype=np.int64).reshape(-1, 2).T
    if known.sources is not None and others.sources is not None:
        of_one = known.sources[ours] == others.sources[theirs]
        theirs, ours = theirs[of_one], ours[of_one]
    return theirs, ours


def _agree(a: Rows, i: Array, b: Rows, j: Array) -> Bool[np.ndarray, " pairs"]:
    """Whether nothing that both sides know refutes that these rows are one input."""
    same = np.ones(len(i), dtype=bool)
    if a.logits is not None and b.logits is not None:
        same &= outputs_agree(a.logits[i], b.logits[j])
    if a.labels is not None and b.labels is not None:
        same &= a.labels[i] == b.labels[j]
    if a.hashes is not None and b.hashes is not None:
        same &= a.hashes[i].astype(str) == b.hashes[j].astype(str)
    return same


class _Counts:
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


def looks_of(rows: Rows, which: Array) -> UInt64[np.ndarray, " rows"]:
    """A hash of what is known of these rows besides their ids, outputs rounded."""
    return _looks(rows, which, rows.logits is not None, rows.labels is not None)


def _looks(rows: Rows, which: Array, logits: bool, labels: bool) -> UInt64[np.ndarray, " rows"]:
    looks = np.zeros(len(which), dtype=np.uint64)
    if logits and rows.logits is not None:
        looks += row_hashes(_above_least(rows.logits[which]).round(3))
    if labels and rows.labels is not None:
        looks += (rows.labels[which].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return looks
