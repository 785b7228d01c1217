"""Success levels of any number of inputs to a file, part by part: resumable, and by one process or a cluster.

A part is a fixed range of rows. What it holds depends on the calibration and its rows only (draws are keyed by
row), so it does not matter who makes it, in which order, or how often: the results are the same bits, and a part
that is made twice replaces itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infimum._checks import Array
from infimum.conformal import Calibration
from infimum.conformal._calibration import ErrorLevel
from infimum.conformal._success import Empty, Step, levels_of
from infimum.data._data import path_fingerprint
from infimum.errors import InputError
from infimum.io.csv_files import safe_cells
from infimum.io.lazily import map_npz
from infimum.io.places import check_places
from infimum.io.replacing import replace_file
from infimum.models._assembly import assemble
from infimum.models._extraction import places_of
from infimum.models._finished import check_settings, read_settings
from infimum.models._parts import PartFolder
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import open_stream

NUMBERS = 2**22
"""Logits per part of a file."""

Table = dict[str, Array]
"""Columns by name, a row per input."""


@runtime_checkable
class Source(Protocol):
    """Where outputs come from; it is sent to workers, so it holds names of files and not what is in them."""

    def open(self) -> tuple[int, int]:
        """How many rows there are, and of how many classes."""
        ...

    def rows_per_part(self, n_classes: int) -> int:
        """How many rows a part has: what a killed run loses, and what a worker takes at a time."""
        ...

    def outputs(self, start: int) -> Iterator[tuple[int, Outputs]]:
        """Blocks from row `start` on, each with its first row."""
        ...

    def settings(self) -> dict[str, str]:
        """What the outputs depend on: a scoring is only continued with the same."""
        ...


@dataclass(frozen=True)
class FileSource:
    """Outputs in a file, or a folder of parts."""

    path: Path

    def open(self) -> tuple[int, int]:
        """Rows and classes."""
        stream = open_stream(self.path)
        return stream.n, stream.n_classes

    def rows_per_part(self, n_classes: int) -> int:
        """About four million logits."""
        return max(1000, NUMBERS // n_classes)

    def outputs(self, start: int) -> Iterator[tuple[int, Outputs]]:
        """Blocks, read ahead."""
        return open_stream(self.path).blocks(start)

    def settings(self) -> dict[str, str]:
        """The file's fingerprint."""
        return {"input": path_fingerprint(self.path)}


@dataclass(frozen=True, eq=False)
class PartScorer:
    """Makes parts: `rows` inputs of `source` from a multiple of `rows` on, scored by `calibration`."""

    source: Source
    calibration: Calibration
    rows: int
    step: Step = None
    empty: Empty = "argmax"
    error: ErrorLevel | None = None

    def part(self, start: int) -> tuple[Table, int]:
        """The part that begins at row `start`, and how many of its rows are saturated."""
        return self._joined(takewhile(lambda piece: piece[0] < start + self.rows, self._pieces(start)))

    def parts(self, starts: Sequence[int]) -> Iterator[tuple[int, Table, int]]:
        """These parts, in order; neighbours are read in one go."""
        for at, start in enumerate(starts):
            if at == 0 or start != starts[at - 1] + self.rows:
                pieces = self._pieces(start)
            found = []
            for piece in pieces:
                if piece[0] >= start + self.rows:
                    pieces = chain([piece], pieces)
                    break
                found.append(piece)
            yield start, *self._joined(found)

    def _pieces(self, start: int) -> Iterator[tuple[int, Outputs]]:
        """Blocks cut at the borders of parts."""
        for row, block in self.source.outputs(start):
            done = 0
            while done < len(block):
                take = min(len(block) - done, self.rows - (row + done) % self.rows)
                whole = take == len(block)
                yield row + done, block if whole else block.taken(slice(done, done + take))
                done += take

    def _joined(self, pieces: Iterable[tuple[int, Outputs]]) -> tuple[Table, int]:
        tables, saturated = [], 0
        for row, block in pieces:
            tables.append(self._table(row, block))
            saturated += block.saturated
        return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}, saturated

    def _table(self, row: int, block: Outputs) -> Table:
        n = self.calibration.n
        counts = self.calibration.top_two(block.logits, first_row=row)
        table: Table = {} if block.ids is None else {"ids": block.ids}
        table["predicted"] = counts.predicted
        table["success_levels"] = levels_of(counts.count_top, counts.count_second, n, self.step, self.empty)
        table["p_top"] = counts.count_top / (n + 1)
        table["p_second"] = counts.count_second / (n + 1)
        if self.error is not None:
            table["prediction_sets"] = self.calibration.prediction_sets(
                block.logits, self.error, first_row=row
            )
        return table


Engine = Callable[[PartScorer, Sequence[int]], Iterator[tuple[int, Table, int]]]
"""Makes the parts that begin at these rows, in any order: first row, table, saturated rows of each."""


@dataclass(frozen=True)
class Scored:
    """What `score_to_file` wrote: `n` inputs, of which the mean success level (None: none has one); `resumed` parts
    were there already, and `saturated` rows were met among the others.
    """

    n: int
    mean: float | None
    resumed: int
    saturated: int


def score_to_file(
    source: Source,
    calibration: Calibration,
    out: Path,
    *,
    step: Step = None,
    empty: Empty = "argmax",
    error: ErrorLevel | None = None,
    resume: bool = False,
    settings: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Scored:
    """Write the success level of every input of `source` to `out`: .npz, .csv, or a folder of Parquet parts (.parquet).

    Parts lie in `OUT.parts/` (Parquet: in `OUT`) until all are there; `resume` makes those that are missing. It
    refuses if the source, `settings` (what the calibration was made from) or the options differ.

    Raises InputError for what cannot be read or does not fit.
    """
    check_places({"out": places_of(out)}, {"source": source.path if isinstance(source, FileSource) else None})
    n, n_classes = source.open()
    if n_classes != calibration.n_classes:
        raise InputError(f"the inputs have {n_classes} classes, the calibration has {calibration.n_classes}")
    rows = source.rows_per_part(n_classes)
    scorer = PartScorer(source, calibration, rows, step, empty, error)
    manifest: dict[str, Any] = {
        "of": "success levels",
        "step": str(step),
        "empty": empty,
        "error": str(error),
        "rows_per_part": rows,
        **source.settings(),
        **(settings or {}),
    }
    parquet = out.suffix == ".parquet"
    folder = PartFolder(out, "parquet") if parquet else PartFolder(out.with_name(out.name + ".parts"), "npz")
    starts = list(range(0, n, rows))
    if resume and not parquet:
        folder.clear_finished()
    if resume and not folder.folder.exists() and (old := read_settings(out)) is not None:
        check_settings(out, old, manifest)
        return Scored(n, _mean([out]), len(starts), 0)
    folder.begin(manifest, resume)
    there = {start for start, _, _ in folder.found()}
    missing = [start for start in starts if start not in there]
    saturated, done = 0, len(there)
    try:
        with ThreadPoolExecutor(1) as writer:  # a part is written while the next one is scored
            written: Future[None] | None = None
            for start, table, of_part in (engine or PartScorer.parts)(scorer, missing):
                if written is not None:
                    written.result()
                written = writer.submit(folder.write, start, min(n, start + rows), table)
                saturated, done = saturated + of_part, done + 1
                if progress is not None:
                    progress(min(n, done * rows), n)
            if written is not None:
                written.result()
    except BaseException:
        if not folder.found():  # nothing to go on from
            folder.remove()
        raise
    files = folder.parts()
    if files[-1][1] != n or len(files) != len(starts):
        raise InputError(f"{folder.folder} does not hold each of the {n} rows once; remove it to begin anew")
    mean = _mean([path for _, _, path in files])
    if parquet:
        folder.finish()
    else:
        paths = [path for _, _, path in files]
        if out.suffix == ".csv":
            replace_file(out, lambda temporary: _write_csv(temporary, paths))
        else:
            assemble(paths, out, None, {**manifest, "rows": n, "read": n})
        folder.clear()
    return Scored(n, mean, len(there), saturated)


def packed(table: Table) -> bytes:
    """A table as the bytes of an npz: how workers send it, every dtype kept.

    >>> unpacked(packed({"p_top": np.array([0.5])}))["p_top"].tolist()
    [0.5]
    """
    file = io.BytesIO()
    np.savez(file, **table)  # type: ignore[arg-type]
    return file.getvalue()


def unpacked(data: bytes) -> Table:
    """Inverse of `packed`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _mean(files: list[Path]) -> float | None:
    """Mean of the success levels that there are."""
    total, known = 0.0, 0
    for path in files:
        if path.suffix == ".npz":
            levels = map_npz(path)["success_levels"][...]
        else:
            from infimum.io.parquet import read_parquet

            levels = read_parquet(path, {"success_levels"})["success_levels"]
        total += float(np.nansum(levels))
        known += int(np.isfinite(levels).sum())
    return total / known if known else None


def _write_csv(path: Path, parts: list[Path]) -> None:
    """A line per input; a prediction set is its class numbers with spaces between."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        for number, part in enumerate(parts):
            table = map_npz(part)
            if number == 0:
                rows.writerow(table)
            for start in range(0, len(table["predicted"]), size := 10_000):
                columns = [
                    [" ".join(map(str, np.flatnonzero(row))) for row in column[start : start + size]]
                    if name == "prediction_sets"
                    else safe_cells(column[start : start + size].tolist())
                    for name, column in table.items()
                ]
                rows.writerows(zip(*columns, strict=True))
