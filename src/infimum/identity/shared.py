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

import numpy as np
from jaxtyping import Bool, Int

from infimum._checks import Array
from infimum.errors import InputError
from infimum.identity.rows import Counts, Identity, Rows, agree
from infimum.identity.same_set import InStep
from infimum.outputs._outputs import Outputs


class Shared:
    """Rows that are looked for among others, block by block: by their ids; where there are none, in step."""

    def __init__(self, known: Sequence[Rows]) -> None:
        self._known = list(known)
        self._at = [_places(rows) for rows in known]
        self._counts = [Counts(rows) for rows in known]
        self._in_step: InStep | None = InStep(known)
        self._agreed = self.refuted = 0
        self._chance = 0.0

    def among(self, others: Rows) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Which of the next rows are known inputs, if `believed` in the end; and which only have the id of one."""
        if others.keys is not None and any(self._at):
            self._in_step = None
        if self._in_step is not None:
            return np.full(others.n, self._in_step.goes_on(others)), np.zeros(others.n, dtype=bool)
        same = np.zeros(others.n, dtype=bool)
        refuted = np.zeros(others.n, dtype=bool)
        chance = np.zeros(others.n)
        for rows, at, counts in zip(self._known, self._at, self._counts, strict=True):
            theirs, ours = _pairs(rows, at, others)
            if not len(theirs):
                continue
            alike = agree(rows, ours, others, theirs)
            same[theirs[alike]] = True
            refuted[theirs[~alike]] = True
            chance[theirs] = np.maximum(chance[theirs], counts.share(others, theirs))
        refuted &= ~same
        self._agreed += int(same.sum())
        self.refuted += int(refuted.sum())
        self._chance += float(chance[same | refuted].sum())
        return same, refuted

    @property
    def agreed(self) -> int:
        """How many of the rows so far are known inputs, if they are believed to be."""
        return self._agreed if self._in_step is None else self._in_step.n

    @property
    def believed(self) -> bool:
        """Whether rows that agree are one input: no pair is refuted, or more agree than chance explains."""
        if self._in_step is not None:
            return self._in_step.same_set
        return believed(self._agreed, self.refuted, self._chance)


def believed(agreed: int, refuted: int, chance: float) -> bool:
    """Whether pairs of equal ids that agree are one input; `chance`: how many would agree by chance (see above)."""
    if not agreed or not refuted:
        return agreed > 0
    pairs = agreed + refuted
    of_chance = min(chance / pairs, 1.0)
    one_input = 0.0 if of_chance == 1.0 else (agreed / pairs - of_chance) / (1.0 - of_chance)
    return one_input >= agreed / pairs / 2.0


@dataclass(frozen=True, eq=False)
class Found:
    """`mask` (n,) of the rows that are known inputs; `refuted`: how many have the id of one, and are another input.

    `met` (n,): those of the mask, and, where ids are believed, those refuted too.
    """

    mask: Bool[np.ndarray, " n"]
    refuted: int
    met: Bool[np.ndarray, " n"]

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
    mask, refuted = shared.among(others)
    if not shared.believed:
        mask, refuted = np.zeros((2, others.n), dtype=bool)
    return Found(mask, shared.refuted, mask | refuted)


def copies_within(rows: Rows, name: str, labelled: bool = True) -> Found:
    """Which rows are copies of an earlier one: of equal id and label, and nothing else refutes it.

    Raises InputError where one id has two labels; where the rows are not used as `labelled` ones, these are two inputs.

    >>> z, y = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), np.array([0, 0, 0])
    >>> copies_within(Rows.of(Outputs(z, y, ids=np.array([7, 7, 8]))), "rows").mask.tolist()
    [False, True, False]
    """
    copies = np.zeros(rows.n, dtype=bool)
    at = _places(rows)
    groups = [group for group in at.values() if len(group) > 1]
    later = [(i, group[0]) for group in groups for i in group[1:]]
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
                "one label. Mend it; or, if these are no ids of inputs (row numbers that begin anew, or a cluster: a "
                "patient, a scene), give every row an id of its own. Bounds need one row of each cluster"
            )
    chance = Counts(rows).share(rows, theirs)
    same = np.zeros(rows.n, dtype=bool)
    # Each round compares with the first row left of every id; those that differ from it go on to the next round.
    while len(theirs):
        alike = agree(rows, ours, rows, theirs)
        same[theirs[alike]] = True
        left: dict[int, list[int]] = {}
        for first, row in zip(ours[~alike].tolist(), theirs[~alike].tolist(), strict=True):
            left.setdefault(first, []).append(row)
        pairs = [(row, group[0]) for group in left.values() for row in group[1:]]
        theirs, ours = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    agreed, refuted = int(same.sum()), len(chance) - int(same.sum())
    if believed(agreed, refuted, float(chance.sum())):
        copies = same
    return Found(copies, refuted, copies)


def unlabelled_rows(
    labelled: Sequence[Outputs], operation: Outputs, identity: Identity = "ids"
) -> Bool[np.ndarray, " n"]:
    """Which operation inputs are neither labelled rows nor copies of earlier ones, by their identity.

    Where ids are believed, an input with the id of a labelled row is left out whatever its label says: leaving out only
    those whose labels agree would select by them.

    >>> ids = np.array([0, 1])
    >>> rows = Outputs(np.eye(2), np.array([0, 1]), ids=ids)
    >>> unlabelled_rows([rows.taken(slice(1))], Outputs(np.eye(2), ids=ids)).tolist()
    [False, True]
    """
    rows = Rows.of(operation, identity)
    known = shared_rows([Rows.of(outputs, identity) for outputs in labelled], rows).met
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
