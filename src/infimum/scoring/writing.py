"""Whoever makes a part writes it, into a folder that all see; the run itself handles names and sums only."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infimum._checks import Array
from infimum.io.lazily import map_npz
from infimum.models._parts import PartFolder
from infimum.scoring.parts import PartScorer, Table


class PartMade(NamedTuple):
    """What is said of a part that was written: its first row, the sum of its success levels, how many of its rows
    have one, and how many are saturated.
    """

    start: int
    total: float
    known: int
    saturated: int


@dataclass(frozen=True, eq=False)
class PartWriter:
    """Makes parts of the `n` rows and writes each into the folder, in one move: a part made twice replaces itself."""

    scorer: PartScorer
    folder: PartFolder
    n: int

    def part(self, start: int) -> PartMade:
        """Make and write the part that begins at row `start`."""
        return self.write(start, *self.scorer.part(start))

    def write(self, start: int, table: Table, saturated: int) -> PartMade:
        """Write a part that was made."""
        self.folder.write(start, min(self.n, start + self.scorer.rows), table)
        return PartMade(start, *sum_of(table["success_levels"]), saturated)


Engine = Callable[[PartWriter, Sequence[int]], Generator[PartMade, None, None]]
"""Makes and writes the parts that begin at these rows, in any order, and says so of each."""


def local_engine(writer: PartWriter, starts: Sequence[int]) -> Generator[PartMade, None, None]:
    """The parts in order, in this process: one is written while the next one is scored."""
    with ThreadPoolExecutor(1) as thread:
        written: Future[PartMade] | None = None
        for start, table, saturated in writer.scorer.parts(starts):
            if written is not None:
                yield written.result()
            written = thread.submit(writer.write, start, table, saturated)
        if written is not None:
            yield written.result()


def part_there(start: int, path: Path) -> PartMade:
    """A part, or whole file, of an earlier run. Which rows were saturated it does not say."""
    if path.suffix == ".npz":
        levels = map_npz(path)["success_levels"][...]
    else:
        from infimum.io.parquet import read_parquet

        levels = read_parquet(path, {"success_levels"})["success_levels"]
    return PartMade(start, *sum_of(levels), 0)


def sum_of(levels: Array) -> tuple[float, int]:
    """The sum of the success levels that there are, and how many they are."""
    return float(np.nansum(levels)), int(np.isfinite(levels).sum())
