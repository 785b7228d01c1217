"""An anytime-valid certificate that grows: labelled rows are added batch by batch, and one may stop at any time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from infimum._checks import Array
from infimum.assessment._results import Target
from infimum.bounds import Bound, anytime, stratified
from infimum.bounds._bound import LABELS_RIGHT
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS
from infimum.certification._certificate import Certificate
from infimum.certification._design import ROUNDING, Design
from infimum.certification._labelled import Labelled
from infimum.errors import InputError
from infimum.identity.rows import keys_of
from infimum.io.findings import note
from infimum.io.provenance import made_with
from infimum.io.ranges import Classes, Confidence, Probability, Size, check_fields


@dataclass(frozen=True, eq=False)
class Sequence:
    """Labelled rows in the order in which they were added, and what was fixed before the first of them.

    `ids` and `correct` (n,), all ids different; `batches`: how many rows each call added; `design` where rows
    were drawn in strata. `n_classes` and `class_names` of the network where they are known.
    """

    network: str
    target: Probability
    confidence: Confidence
    ids: tuple[str, ...] = ()
    correct: Bool[np.ndarray, " n"] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    batches: tuple[Size, ...] = ()
    design: Design | None = None
    n_classes: Classes | None = None
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        n = len(self.ids)
        if len(self.correct) != n or sum(self.batches) != n:
            raise InputError(f"correct and batches do not belong to {n} ids")
        if len(set(self.ids)) < n:
            raise InputError("an id occurs twice")

    def with_rows(self, rows: Labelled) -> Sequence:
        """The sequence with these rows added; InputError for rows without ids, known ids, or of another network.

        A table drawn in strata that is filled from the top is given as a whole each time: the rows that it
        begins with are known, and must be unchanged.
        """
        if rows.ids is None:
            raise InputError(
                f"{rows.name} has no 'ids': a row that is added twice is known by its id; give one per row"
            )
        if rows.identity != "ids":
            raise InputError("a state knows its rows by their ids; leave identity out")
        ids, correct = list(keys_of(rows.ids)), rows.correct
        twice = next((i for i in ids if not i or (rows.refuted and ids.count(i) > 1)), None)
        if twice is not None:
            raise InputError(
                f"{rows.name}: a row has no id"
                if not twice
                else f"{rows.name}: id {twice!r} names rows of different outputs; give each input an id of its own"
            )
        self._check_network(rows)
        design = self._grown(rows)
        n = len(self.ids)
        if design is not None and len(ids) > n and tuple(ids[:n]) == self.ids:
            changed = np.flatnonzero(correct[:n] != self.correct)
            if len(changed):
                raise InputError(
                    f"{rows.name}: the label of id {ids[int(changed[0])]!r} is not the one it was added with; "
                    "what has been seen stays"
                )
            ids, correct = ids[n:], correct[n:]
        known = set(self.ids)
        again = [i for i in ids if i in known]
        if again:
            raise InputError(
                f"{rows.name}: id {again[0]!r} {f'and {len(again) - 1} more are' if len(again) > 1 else 'is'} in the "
                "state already; every row is added once. Nothing was added"
            )
        outputs = rows.outputs
        return replace(
            self,
            ids=(*self.ids, *ids),
            correct=np.concatenate([self.correct, correct]),
            batches=(*self.batches, len(ids)),
            design=design,
            n_classes=self.n_classes if outputs is None else outputs.n_classes,
            class_names=self.class_names
            if outputs is None or outputs.class_names is None
            else tuple(map(str, outputs.class_names)),
        )

    def bound(self, label_errors: Any = None) -> Bound:
        """The bound that holds at every time: the largest on the way. `label_errors`: of all labels so far."""
        errors = LabelErrors.of(label_errors)
        if self.design is None:
            return anytime(self.correct, self.confidence, errors)
        if (why := METHODS["stratified_e_process"].why_not(errors)) is not None:
            raise InputError(f"label_errors: {why}")
        ends = np.cumsum(self.batches)
        on_the_way = [self._in_strata(self.design.first(int(end)), self.correct[:end]) for end in ends]
        return errors.corrected(max(on_the_way, key=lambda bound: bound.value))

    def certificate(self, label_errors: Any = None) -> Certificate:
        """What the rows so far say; only the anytime-valid bound, for no other survives stopping at will."""
        n, right = len(self.ids), int(self.correct.sum())
        bound = replace(self.bound(label_errors), n=n, successes=right, judges=True)
        return Certificate(
            network=self.network,
            target=Target(self.target, self.confidence, bound.value >= self.target, bound.method),
            n=n,
            wrong=n - right,
            bounds=(bound,),
            withheld={"every other": note("bound-withheld", why="stopped-at-will")},
            provenance=made_with(batches=len(self.batches)),
        )

    def _in_strata(self, design: Design, correct: Array) -> Bound:
        count = np.bincount(design.stratum, minlength=len(design.weights))
        seen = count > 0
        if seen.all():
            return stratified(
                *(correct, design.stratum, design.weights, self.confidence, "e_process", design.levels)
            )
        # Nothing is known of a stratum without a label: its inputs count as never right.
        about = "labels were drawn with equal chances among the operation inputs of each stratum"
        return Bound(0.0, self.confidence, "stratified_e_process", len(correct), (about, LABELS_RIGHT))

    def _grown(self, rows: Labelled) -> Design | None:
        if self.ids and (self.design is None) != (rows.design is None):
            raise InputError(
                f"{rows.name}: random samples and rows drawn in strata cannot be mixed in one state"
            )
        if rows.design is None or self.design is None or not self.ids:
            return rows.design
        ours, theirs = self.design, rows.design
        if (
            ours.weights.shape != theirs.weights.shape
            or np.abs(ours.weights - theirs.weights).max() > ROUNDING
        ):
            raise InputError(
                f"{rows.name} was drawn in other strata than the rows of the state; go on with that selection"
            )
        n = len(self.ids)
        same = rows.ids is not None and keys_of(rows.ids)[:n] == self.ids
        added = theirs.stratum[n:] if same else theirs.stratum
        return Design(np.concatenate([ours.stratum, added]), ours.weights, ours.levels)

    def _check_network(self, rows: Labelled) -> None:
        if rows.outputs is None:
            return
        names = rows.outputs.class_names
        if self.n_classes not in (None, rows.outputs.n_classes) or (
            self.class_names is not None and names is not None and self.class_names != tuple(map(str, names))
        ):
            raise InputError(
                f"{rows.name} has {rows.outputs.n_classes} classes, or names of them, that differ from the state's: "
                "it is of another network"
            )


def check_same(state: Sequence, wanted: dict[str, Any], what: str) -> None:
    """Raise InputError where network, target or confidence differ from those the state was begun with."""
    for name, value in wanted.items():
        ours = getattr(state, name)
        if ours != value:
            raise InputError(
                f"{what} was begun with {name} {ours!r}, not {value!r}: these are fixed before the first label; "
                "begin another state for other ones"
            )
