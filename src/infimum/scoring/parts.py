"""Parts of a scoring: a fixed range of rows each, from a source of outputs.

What a part holds depends on the calibration and its rows only (draws are keyed by row), so it does not matter who
makes it, in which order, or how often: the results are the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from infimum._checks import Array
from infimum.conformal import Calibration
from infimum.conformal._calibration import ErrorLevel
from infimum.conformal._success import Empty, Step, levels_of
from infimum.data._data import path_fingerprint
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
        joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        if "ids" in joined and joined["ids"].dtype.kind == "U":
            # As wide as the part's own longest: a block that was cut brings the width of its neighbours' rows.
            width = max(1, int(np.char.str_len(joined["ids"]).max(initial=1)))
            joined["ids"] = joined["ids"].astype(f"U{width}")
        return joined, saturated

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
