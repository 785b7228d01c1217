"""Tables as CSV, columns of text in and out: what people fill in by hand. Untrusted, like every file from others."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum._text import listed
from infimum.errors import InputError
from infimum.io.regular import read_whole
from infimum.io.replacing import replace_file

LARGEST = 2**30
"""Bytes of a table that people fill in by hand, at most."""


def read_csv(path: Path) -> dict[str, Array]:
    """Columns of a CSV file with a header, as text (n,) each; spaces around entries are dropped, `safe_cells` undone.

    Raises InputError naming the file for other encodings than UTF-8, repeated or empty column names, rows of
    another length than the header, and a file without rows.
    """
    rows = [row for _, row in csv_rows(path) if any(row)]
    if not rows:
        raise InputError(f"{path} is empty; a CSV file with a header was expected")
    header = check_header(rows[0], path)
    if "" in header:
        raise InputError(f"{path}: the column names must be given, not {listed(header)}")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise InputError(
                f"{path}: row {number} has {len(row)} entries, but there are {len(header)} columns"
            )
    if len(rows) == 1:
        raise InputError(f"{path} has a header but no rows")
    columns = zip(*rows[1:], strict=True)
    return {
        name: np.array([plain_cell(entry.strip()) for entry in c])
        for name, c in zip(header, columns, strict=True)
    }


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number of its (last) line and entries of each row, the header first; lines without a sign are left out.

    Raises InputError naming the file for other encodings than UTF-8, NUL characters and unended quotes.
    """
    try:
        text = read_whole(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as CSV in UTF-8") from error
    if "\0" in text:
        raise InputError(f"{path} holds NUL characters, so it is no text: save it as CSV in UTF-8")
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
    except csv.Error as error:
        raise InputError(f"{path} is not a readable CSV file: line {rows.line_num}: {error}") from error


def check_header(row: list[str], path: Path) -> list[str]:
    """Names of the columns, without spaces around them; InputError where one occurs twice."""
    header = [name.strip() for name in row]
    if again := [name for name, times in Counter(header).items() if name and times > 1]:
        raise InputError(f"{path} has two columns {again[0]!r}; rename or leave out one of them")
    return header


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length under a header, replaced in one move. Numbers keep all their digits.

    Text that a spreadsheet would compute is written by `safe_cells`; `read_csv` gives it back.
    """

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(columns)
            rows.writerows(zip(*map(safe_cells, columns.values()), strict=True))

    replace_file(path, write)


_COMPUTED = re.compile(r"'*[=+\-@\t\r\n−＝＋－＠]")
"""How text begins that a spreadsheet takes for a formula, with the apostrophes that make it plain text."""


def safe_cells(column: Sequence[Any]) -> list[Any]:
    """Entries as they are written to a CSV: text that begins as a formula does (= + − @) gets an apostrophe before it.

    Spreadsheets run formulas of files from others, even programs. Numbers stay as they are.

    >>> safe_cells(["a", "=1+1", "'=x", -1.5])
    ['a', "'=1+1", "''=x", -1.5]
    """
    return [f"'{x}" if isinstance(x, str) and _COMPUTED.match(x) else x for x in column]


def plain_cell(entry: str) -> str:
    """The text of an entry of a CSV without that apostrophe: the inverse of `safe_cells`.

    >>> plain_cell("'=1+1"), plain_cell("''=x"), plain_cell("'tis"), plain_cell("-1")
    ('=1+1', "'=x", "'tis", '-1')
    """
    return entry[1:] if entry[:1] == "'" and _COMPUTED.match(entry) else entry


def numbers(column: Array, what: str) -> Array:
    """A column as float64, whether it came as text or as numbers; InputError naming the first row that is none.

    >>> numbers(np.array(["1", "0.5"]), "weight").tolist()
    [1.0, 0.5]
    """
    if column.dtype.kind in "iufb":
        values: Array = column.astype(np.float64)
    else:
        values = np.full(len(column), np.nan)
        for row, entry in enumerate(column.tolist()):
            try:
                values[row] = float(entry)
            except (ValueError, TypeError, OverflowError):  # a date has no number either
                values[row] = np.nan
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(bad[0])
        entry = str(column[row])
        raise InputError(
            f"{what}: row {row} is {entry!r}, a finite number was expected"
            if entry
            else f"{what}: row {row} is empty, a number was expected"
        )
    return values
