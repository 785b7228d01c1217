"""How labelled rows were drawn in strata: the columns that `plan --select` writes and `certify` reads back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_vector
from infimum.bounds._observations import check_bounded
from infimum.errors import InputError
from infimum.io.content import CHECKSUM, checksum
from infimum.io.csv_files import numbers

COLUMNS = ("stratum", "sampling_probability", "stratum_weight")

WHOLE = ("order", "n_selected")
"""What shows that a table is whole: the places 1..n of its rows, and n in each."""

SEALED = ("id", "row", "predicted", "level", *COLUMNS, "stratum_from", "operation", *WHOLE, "n_classes")
"""What was drawn, and how: the columns that the checksum is of. Labels and further columns are the user's."""

OWN = "own"
"""What stands in the column `checksum` of a draw in strata that infimum did not make."""

DIGITS = 9
"""Decimals of the numbers in a table: spreadsheets show no more, and save what they show."""

ROUNDING = 1e-6
"""How far weights and probabilities may differ from one another: what is lost when a table is written."""


@dataclass(frozen=True, eq=False)
class Design:
    """A stratified draw of n rows out of N: `stratum` (n,) in 0..S−1, `weights` (S,) shares of the N rows, sum 1.

    `levels` (S,) are the success rates expected beforehand, `edges` (S−1,) the levels at which strata begin, `rows`
    (n,) the rows of the operation that were drawn, and `pool` what the operation is known by; each None where unknown.
    """

    stratum: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " S"]
    levels: Float[np.ndarray, " S"] | None = None
    edges: Float[np.ndarray, " cuts"] | None = None
    rows: Int[np.ndarray, " n"] | None = None
    pool: str | None = None

    def first(self, n: int) -> Design:
        """The same with the first n rows only: a sample too, since the rows of a selection are in random order."""
        rows = None if self.rows is None else self.rows[:n]
        return replace(self, stratum=self.stratum[:n], rows=rows)


def read_design(columns: Mapping[str, Array], what: str) -> Design | None:
    """The design in the columns of a table, None where there is none; InputError where it cannot be right.

    Every row must have had a chance to be drawn, equal within its stratum; n_s rows at probability π_s stand for
    n_s/π_s inputs, and these must have the shares that `stratum_weight` says, or rows were deleted. Rows stand in
    their `order` 1..n, n being `n_selected`, and each `row` of the operation occurs once.

    >>> table = {"stratum": [0, 0, 1], "sampling_probability": [0.5, 0.5, 1.0], "stratum_weight": [0.8, 0.8, 0.2]}
    >>> table |= {"order": [1, 2, 3], "n_selected": [3, 3, 3]}
    >>> read_design({name: np.array(column) for name, column in table.items()}, "table").weights.tolist()
    [0.8, 0.2]
    """
    missing = [name for name in (*COLUMNS, *WHOLE) if name not in columns]
    of_draw = [name for name in ("n_selected", "stratum_from", CHECKSUM) if name in columns]
    if set(COLUMNS) <= set(missing) and not of_draw:
        return None
    if missing:
        raise InputError(
            f"{what} has columns of a stratified draw but no {' and no '.join(missing)}; all of "
            f"{', '.join((*COLUMNS, *WHOLE))} are needed, as `infimum plan --select` writes them"
        )
    _check_whole(columns, what)
    names, probability, weight = (numbers(columns[name], f"{what}: {name}") for name in COLUMNS)
    for name, values in (("sampling_probability", probability), ("stratum_weight", weight)):
        wrong = np.flatnonzero((values <= 0) | (values > 1))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"{what}: {name}: row {row} is {values[row]:g}, but must be above 0 and at most 1: a row that could "
                "not be drawn says nothing of the operation"
            )
    strata, first, stratum, count = np.unique(
        names, return_index=True, return_inverse=True, return_counts=True
    )
    weights = weight[first]
    for name, values in (("sampling_probability", probability), ("stratum_weight", weight)):
        unequal = np.flatnonzero(np.abs(values - values[first][stratum]) > ROUNDING * values)
        if len(unequal):
            row = int(unequal[0])
            raise InputError(f"{what}: {name}: row {row} differs from other rows of stratum {names[row]:g}")
    if abs(weights.sum() - 1.0) > ROUNDING:
        raise InputError(
            f"{what}: the weights of its {len(strata)} strata sum to {weights.sum():.6g}, not 1: rows were deleted "
            "(leave the label of rows not yet labelled blank instead)"
        )
    stands_for = count / probability[first]
    lost = np.flatnonzero(np.abs(stands_for / stands_for.sum() - weights) > 1e3 * ROUNDING * weights)
    if len(lost):
        s = int(lost[0])
        raise InputError(
            f"{what}: the {count[s]} rows of stratum {strata[s]:g} at sampling probability {probability[first][s]:.4g} "
            f"do not match its stratum_weight {weights[s]:.4g}: rows were deleted or added"
        )
    levels = None
    if "level" in columns:
        level = check_bounded(numbers(columns["level"], f"{what}: level"), f"{what}: level")
        levels = np.bincount(stratum, level) / count
    edges, rows, pool = _drawn_from(columns, first, what)
    return Design(stratum.astype(np.int64), weights / weights.sum(), levels, edges, rows, pool)


def _drawn_from(
    columns: Mapping[str, Array], first: Array, what: str
) -> tuple[Array | None, Array | None, str | None]:
    """Edges of the strata, rows of the operation, and what it is known by, where the table holds them."""
    edges, rows, pool = None, None, None
    if "stratum_from" in columns:
        begins = numbers(columns["stratum_from"], f"{what}: stratum_from")[first]
        if (np.diff(begins) <= 0).any():
            raise InputError(f"{what}: stratum_from does not rise with the strata")
        edges = begins[1:] - 10.0**-DIGITS  # they are levels, rounded: none of those may come to lie below
    if "row" in columns:
        values = numbers(columns["row"], f"{what}: row")
        rows = values.astype(np.int64)
        if (rows != values).any() or (rows < 0).any():
            raise InputError(f"{what}: row must hold whole numbers, 0 or more")
    if "operation" in columns:
        names = np.unique(columns["operation"].astype(str))
        if len(names) > 1:
            raise InputError(f"{what}: operation differs between rows: the rows are of two selections")
        pool = str(names[0])
    return edges, rows, pool


def sealed_table(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The columns as they are written: numbers rounded to what a spreadsheet keeps, and the checksum in each row.

    >>> table = sealed_table({"id": np.array(["a"]), "level": np.array([2 / 3])})
    >>> table["level"].tolist(), len(table["checksum"][0])
    ([0.666666667], 23)
    """
    written = {name: _rounded(c) if c.dtype.kind == "f" else c for name, c in columns.items()}
    n = len(next(iter(columns.values())))
    return {**written, CHECKSUM: np.full(n, _checksum(written, "the table"))}


def check_table(columns: Mapping[str, Array], what: str) -> None:
    """Raise InputError unless a table drawn in strata is as `sealed_table` made it, or says that it is the user's own.

    Another order of columns, way of writing a number, or filling in of labels does no harm.
    """
    if CHECKSUM not in columns:
        raise InputError(
            f"{what} has no column {CHECKSUM!r}, which `infimum plan --select` writes into every row: put it back. To "
            f"certify on a draw in strata of your own, add that column with {OWN!r} in every row"
        )
    said = set(columns[CHECKSUM].astype(str).tolist())
    if said not in ({OWN}, {_checksum(columns, what)}):
        raise InputError(
            f"{what} is not as `infimum plan --select` wrote it: {', '.join(n for n in SEALED if n in columns)} or "
            f"{CHECKSUM} was changed, perhaps by a spreadsheet (an id 007 becomes 7). Copy the labels into the table "
            "as it was written"
        )


def _checksum(columns: Mapping[str, Array], what: str) -> str:
    """Of the columns in SEALED, numbers as numbers and text without the spaces around it; its first 16 digits."""
    content: dict[str, Any] = {}
    for name in (name for name in SEALED if name in columns):
        text = name in ("id", "operation") or (name == "predicted" and "n_classes" not in columns)
        content[name] = (
            [" ".join(entry.split()) for entry in columns[name].astype(str).tolist()]
            if text
            else _rounded(numbers(columns[name], f"{what}: {name}")).tolist()
        )
    return checksum(content)[:23]


def _rounded(values: Array) -> Array:
    """Numbers to 9 decimals; below 0.001, where spreadsheets write powers of ten, to 6 digits."""
    each = values.astype(np.float64).tolist()
    return np.array(
        [round(x, DIGITS if abs(x) >= 1e-3 or not x else 5 - math.floor(math.log10(abs(x)))) for x in each]
    )


def _check_whole(columns: Mapping[str, Array], what: str) -> None:
    """Every row that was drawn is there once, in the order of drawing; InputError where it is not."""
    n = len(columns["order"])
    for name in (*COLUMNS, "n_selected"):
        check_vector(columns[name], f"{what}: {name}", n)
    drawn = numbers(columns["n_selected"], f"{what}: n_selected")
    if (drawn != n).any():
        raise InputError(
            f"{what} has {n} rows, but its n_selected says {drawn[drawn != n][0]:g}: rows were deleted or added (leave "
            "the label of rows not yet labelled blank instead)"
        )
    order = numbers(columns["order"], f"{what}: order")
    moved = np.flatnonzero(order != np.arange(1, n + 1))
    if len(moved):
        row = int(moved[0])
        raise InputError(
            f"{what}: order: row {row} is {order[row]:g}, expected {row + 1}: the rows were sorted, moved or repeated. "
            "Sort them by 'order' again and label from the top"
        )
    for name in ("row", "id"):
        if name in columns:
            values, count = np.unique(columns[name].astype(str), return_counts=True)
            if len(values) < n:
                raise InputError(
                    f"{what}: {name} {str(values[count.argmax()])!r} occurs {count.max()} times: an input counts once"
                )
