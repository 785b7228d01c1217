"""Labelled rows that bounds rest on: right or wrong, and what else is known of each. From outputs or tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from infimum._checks import Array, check_ids, check_kind, check_vector
from infimum._text import listed
from infimum.bounds._observations import check_correct
from infimum.certification._classes import Classes
from infimum.certification._design import SEALED, Design, check_table, read_design
from infimum.errors import InputError
from infimum.identity.rows import Identity, Rows, keys_of
from infimum.identity.shared import copies_within
from infimum.io.content import CHECKSUM
from infimum.io.csv_files import numbers, read_csv
from infimum.io.files import array_names, read_arrays
from infimum.outputs._outputs import PROBABILITIES, Outputs, check_outputs

TRUE = ("1", "1.0", "true", "yes", "right", "correct")
FALSE = ("0", "0.0", "false", "no", "wrong", "incorrect")


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled inputs in their order of drawing: `correct` (n,), and where known `ids` (n,).

    `outputs` (n rows) where logits are known, `classes` where it is known which class is right; `design` where the
    rows were drawn in strata, else they are a random sample. An input that is given more than once counts once:
    `copies` were left out. `refuted` rows have the id of another row but other outputs, and count. Raises InputError
    for no row, or an id with two labels.

    >>> rows = Labelled(np.array([True, True, False]), ids=np.array(["a", "a", "b"]))
    >>> len(rows), rows.copies
    (2, 1)
    """

    correct: Array
    ids: Array | None = None
    outputs: Outputs | None = None
    design: Design | None = None
    classes: Classes | None = None
    name: str = "labels"
    identity: Identity = "ids"
    copies: int = 0
    refuted: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "correct", check_correct(self.correct))
        if self.design is not None:
            check_kind(self.design, Design, f"{self.name}: design", "a Design: which stratum each row is of")
        if self.outputs is not None:
            if len(check_outputs(self.outputs, f"{self.name}: outputs")) != len(self):
                raise InputError(
                    f"{self.name}: outputs has {len(self.outputs)} rows, correct has {len(self)}"
                )
            if self.classes is None and self.outputs.labels is not None:
                put(self, "classes", Classes.of(self.outputs))
        if self.ids is None:
            return
        put(self, "ids", check_ids(self.ids, f"{self.name}: ids", len(self)).astype(str))
        copies = copies_within(self.rows, self.name)
        put(self, "refuted", copies.refuted)
        if copies.n:
            kept = ~copies.mask
            put(self, "copies", self.copies + copies.n)
            put(self, "correct", self.correct[kept])
            put(self, "ids", self.ids[kept])
            put(self, "outputs", None if self.outputs is None else self.outputs.taken(kept))
            put(self, "classes", None if self.classes is None else self.classes.taken(kept))

    @property
    def rows(self) -> Rows:
        """What identifies the rows."""
        if self.outputs is None:
            keys = None if self.ids is None else keys_of(self.ids)
            return Rows(len(self), keys, labels=self.correct.astype(np.int64))
        rows = Rows.of(self.outputs, self.identity)
        return rows if self.ids is None else replace(rows, keys=keys_of(self.ids))

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def wrong(self) -> int:
        """How many were classified wrongly."""
        return int((~self.correct).sum())

    @staticmethod
    def of(outputs: Outputs, identity: Identity = "ids") -> Labelled:
        """Rows of labelled outputs, told apart by `identity`; InputError without labels, or with weights.

        >>> Labelled.of(Outputs(np.eye(2), np.array([0, 0]))).correct.tolist()
        [True, False]
        """
        if check_outputs(outputs, "labelled").weights is not None:
            raise InputError(
                f"{outputs.name} has weights; the binomial bound is of inputs that count alike: draw the labelled "
                "inputs evenly from the operation, or in strata (infimum plan --select), and leave the weights out"
            )
        ids = outputs.ids if identity == "ids" else outputs.input_hash
        if ids is None and identity == "hash":
            raise InputError(
                f"{outputs.name} has no 'input_hash' to tell inputs by (identity = hash); `infimum extract` writes it"
            )
        return Labelled(outputs.correct, ids, outputs, name=outputs.name, identity=identity)

    @staticmethod
    def load(path: str | Path, identity: Identity = "ids") -> Labelled:
        """Read outputs with labels, or a table with `correct`, or with `predicted` and `label`.

        A table is CSV (name ending in .csv), npz, safetensors or Parquet. Optional columns: `id`; and those of a
        stratified draw. Rows at the end may be blank, as not labelled yet. Raises InputError naming the file.
        """
        path = Path(path)
        if identity == "hash" and (
            path.suffix == ".csv" or {"logits", *PROBABILITIES}.isdisjoint(array_names(path))
        ):
            raise InputError(
                f"{path} is a table, and has no hashes of raw inputs to tell inputs by; leave identity out"
            )
        if path.suffix == ".csv":
            return _from_table(singular(read_csv(path), str(path)), str(path))
        if {"logits", *PROBABILITIES}.isdisjoint(array_names(path)):
            return _from_table(singular(read_arrays(path), str(path)), str(path))
        rows = Labelled.of(Outputs.load(path), identity)
        columns = singular(read_arrays(path, (*SEALED, CHECKSUM, *SINGULAR)), str(path))
        return replace(rows, design=_design(columns, str(path)))


SINGULAR = {"ids": "id", "labels": "label", "predictions": "predicted"}
"""Columns by the name they have for one row."""


def singular(columns: Mapping[str, Array], what: str) -> dict[str, Array]:
    """Columns by the name they have for one row; InputError for two of one meaning, as `label` and `labels`."""
    renamed = {SINGULAR.get(name, name): column for name, column in columns.items()}
    for plural, name in SINGULAR.items():
        if plural in columns and name in columns:
            raise InputError(f"{what} has both {name!r} and {plural!r}; rename or leave out one of them")
    return renamed


def _from_table(columns: Mapping[str, Array], what: str) -> Labelled:
    for name, values in columns.items():
        check_vector(values, f"{what}: {name}", values.size)
    filled = {
        name: columns[name]
        for name in ("correct", "label")
        if name in columns and filled_in(columns[name]).any()
    }
    if len(filled) == 2:
        raise InputError(f"{what} has both 'correct' and 'label' filled in; give one of them")
    if not filled:
        there = listed(columns)
        raise InputError(
            f"{what} has no labels: fill in 'label' (beside 'predicted') or 'correct'; or give logits and labels. "
            f"It holds: {there}"
        )
    ((name, column),) = filled.items()
    given = filled_in(column)
    n = int(given.sum())
    if not given[:n].all():
        row = int(np.flatnonzero(~given)[0])
        raise InputError(
            f"{what}: {name}: row {row} is blank, but later rows are not. Label from the top and leave blank only "
            "what follows: rows picked otherwise are no random sample"
        )
    for other, values in columns.items():
        check_vector(values, f"{what}: {other}", len(column))
    classes = None
    if name == "correct":
        correct = _truth(column[:n], what)
    elif "predicted" in columns:
        correct, classes = _same(columns["predicted"][:n], column[:n], what, _n_classes(columns, what))
    else:
        raise InputError(f"{what} has 'label' but no 'predicted' to compare it with; give one, or 'correct'")
    design = _design(columns, what)
    return Labelled(
        correct=correct,
        ids=columns["id"][:n] if "id" in columns else None,
        design=None if design is None else design.first(n),
        classes=classes,
        name=what,
    )


def _design(columns: Mapping[str, Array], what: str) -> Design | None:
    design = read_design(columns, what)
    if design is not None:
        check_table(columns, what)
    return design


def filled_in(column: Array) -> Bool[np.ndarray, " n"]:
    """Which entries are filled in: neither empty text nor NaN."""
    given: Array = ~np.isnan(column) if column.dtype.kind == "f" else column.astype(str) != ""
    return given


def _truth(column: Array, what: str) -> Bool[np.ndarray, " n"]:
    words = np.char.lower(column.astype(str))
    right = np.isin(words, TRUE)
    unclear = np.flatnonzero(~right & ~np.isin(words, FALSE))
    if len(unclear):
        row = int(unclear[0])
        raise InputError(
            f"{what}: correct: row {row} is {str(column[row])!r}, neither 1 (true) nor 0 (false)"
        )
    return right


def _n_classes(columns: Mapping[str, Array], what: str) -> int | None:
    if "n_classes" not in columns:
        return None
    values = numbers(columns["n_classes"], f"{what}: n_classes")
    if (values != values[0]).any() or values[0] < 2 or values[0] != int(values[0]):
        raise InputError(f"{what}: n_classes must be the same whole number in every row, at least 2")
    return int(values[0])


def _same(
    predicted: Array, label: Array, what: str, n_classes: int | None
) -> tuple[Bool[np.ndarray, " n"], Classes]:
    """Equal classes, and the classes: as whole numbers where the predicted ones are, else as text."""
    if not filled_in(predicted).all():
        raise InputError(f"{what}: predicted: row {int(np.flatnonzero(~filled_in(predicted))[0])} is blank")
    names = any(not _number(entry).is_integer() for entry in predicted.tolist())
    if names and n_classes is None:
        predicted, label = predicted.astype(str), label.astype(str)
        return predicted == label, Classes.named(label, predicted)
    predicted = _whole(predicted, n_classes, f"{what}: predicted")
    label = _whole(label, n_classes, f"{what}: label")
    return predicted == label, Classes.numbered(label, predicted, n_classes)


def _number(entry: object) -> float:
    """NaN for what is no finite number."""
    try:
        value = float(str(entry))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _whole(column: Array, n_classes: int | None, what: str) -> Array:
    """Class numbers as float64; InputError naming the first entry that is none."""
    values = np.array([_number(entry) for entry in column.tolist()])
    wanted = (
        "as in 'predicted'"
        if n_classes is None
        else f"0..{n_classes - 1} (the network has {n_classes} classes)"
    )
    top = np.inf if n_classes is None else n_classes
    bad = np.flatnonzero(~(values == np.floor(values)) | (values < 0) | (values >= top))
    if len(bad):
        row = int(bad[0])
        raise InputError(f"{what}: row {row} is {str(column[row])!r}; a whole number is expected, {wanted}")
    return values
