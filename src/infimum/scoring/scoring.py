"""Success levels of any number of inputs to a file, part by part: resumable, and by one process or a cluster."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum.conformal import Calibration
from infimum.conformal._calibration import ErrorLevel
from infimum.conformal._success import Empty, Step
from infimum.errors import InputError
from infimum.io.csv_files import safe_cells
from infimum.io.lazily import map_npz
from infimum.io.places import Folder, check_places
from infimum.io.replacing import replace_file
from infimum.models._assembly import assemble
from infimum.models._extraction import places_of
from infimum.models._finished import check_settings, read_settings
from infimum.models._parts import PartFolder
from infimum.scoring.parts import FileSource, PartScorer, Source
from infimum.scoring.writing import Engine, PartMade, PartWriter, local_engine, part_there

ENDINGS = (".npz", ".csv", ".parquet", "")
"""Of what is written; `.parquet` is a folder of Parquet parts, and no ending one of npz parts."""

FOLDERS = (".parquet", "")

LISTED_WITHIN = 30.0
"""Seconds until the listing of a folder on a network disk holds what other machines have written."""


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
    """Write the success level of every input of `source` to `out`: .npz, .csv, or a folder of parts: of Parquet
    (.parquet), or of npz (no ending).

    Parts lie in `OUT.parts/` (a folder: in `OUT`) until all are there; `resume` makes those that are missing. It
    refuses if the source, `settings` (what the calibration was made from) or the options differ.

    Raises InputError for what cannot be read or does not fit.
    """
    check_places(
        {"out": written_for(out)}, {"source": source.path if isinstance(source, FileSource) else None}
    )
    n, n_classes = source.open()
    if n_classes != calibration.n_classes:
        raise InputError(f"the inputs have {n_classes} classes, the calibration has {calibration.n_classes}")
    rows = source.rows_per_part(n_classes)
    manifest: dict[str, Any] = {
        "of": "success levels",
        "step": str(step),
        "empty": empty,
        "error": str(error),
        "rows_per_part": rows,
        **source.settings(),
        **(settings or {}),
    }
    folder = _folder_of(out)
    starts = range(0, n, rows)
    if resume and out.suffix not in FOLDERS:
        folder.clear_finished()
        if not folder.folder.exists() and (old := read_settings(out)) is not None:
            check_settings(out, old, manifest)
            return Scored(n, _mean([part_there(0, out)]), len(starts), 0)
    folder.begin(manifest, resume)
    there = {start: part_there(start, path) for start, _, path in folder.found()}
    made = dict(there)
    writer = PartWriter(PartScorer(source, calibration, rows, step, empty, error), folder, n)
    missing = [start for start in starts if start not in there]
    try:
        with closing((engine or local_engine)(writer, missing)) as parts:
            for part in parts:
                made[part.start] = part
                if progress is not None:
                    progress(min(n, len(made) * rows), n)
    except BaseException:
        folder.sweep()  # of workers that were stopped while they wrote
        if not folder.found():  # nothing to go on from
            folder.remove()
        raise
    files = _all_parts(folder, n, made)
    if out.suffix in FOLDERS:
        folder.finish()
    else:
        _join(files, out, {**manifest, "rows": n, "read": n})
        folder.clear()
    in_order = [made[start] for start in starts]
    return Scored(n, _mean(in_order), len(there), sum(part.saturated for part in in_order))


def written_for(out: Path) -> list[Path | Folder]:
    """What is written for `out`; a folder of parts is one of its own."""
    return [Folder(out)] if out.suffix in FOLDERS else places_of(out)


def _folder_of(out: Path) -> PartFolder:
    if out.suffix in FOLDERS:
        return PartFolder(out, out.suffix.removeprefix(".") or "npz")
    return PartFolder(out.with_name(out.name + ".parts"), "npz")


def _all_parts(folder: PartFolder, n: int, made: Iterable[int]) -> list[Path]:
    """The files of all parts, in order; InputError unless each of the `n` rows is in one of them."""
    until, wanted = time.monotonic() + LISTED_WITHIN, set(made)
    while True:
        found = folder.found()
        if wanted <= {start for start, _, _ in found} or time.monotonic() > until:
            break
        time.sleep(0.2)
    ends = [0, *(stop for _, stop, _ in found)]
    if [start for start, _, _ in found] != ends[:-1] or ends[-1] != n:
        raise InputError(f"{folder.folder} does not hold each of the {n} rows once; remove it to begin anew")
    return [path for _, _, path in found]


def _mean(parts: Iterable[PartMade]) -> float | None:
    """Mean of the success levels that there are; added up in order of the rows, whoever made them."""
    total, known = 0.0, 0
    for part in parts:
        total, known = total + part.total, known + part.known
    return total / known if known else None


def _join(parts: list[Path], out: Path, settings: Mapping[str, Any]) -> None:
    if out.suffix == ".csv":
        replace_file(out, lambda temporary: _write_csv(temporary, parts))
    else:
        assemble(parts, out, None, settings)


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
