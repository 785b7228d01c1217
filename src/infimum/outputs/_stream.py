"""OutputsStream: outputs that do not fit into memory, read block by block; and how files become one.

Memory is that of some blocks, each of about a million numbers, whatever the number of rows. Weights, where there
are any, are held whole: 8 bytes a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from infimum._checks import Array, check_weights
from infimum._text import listed
from infimum._threads import read_ahead
from infimum.errors import InputError
from infimum.io.files import array_names, read_bytes
from infimum.outputs._outputs import ABOUT_ROWS, NAMES, PROBABILITIES, Outputs

BLOCK = 2**20
"""Numbers (logits and features) per block."""

LEAST = 1000
"""Rows per block at least: the first block is looked at as a sample."""

WEIGHED = 2**16
"""Rows per block while only the weights are read."""

Blocks = Iterator[dict[str, Array]]

Read = Callable[[tuple[str, ...], int, int], Blocks]
"""Names wanted, rows per block (at most), row to begin at -> the arrays of each block, in order."""

Progress = Callable[[int, int | None], None]
"""Called after each block with the rows read and how many there are."""


@dataclass(frozen=True, eq=False)
class OutputsStream:
    """Outputs of `n` inputs, in blocks; `assess` takes it as its operation.

    `first` holds the first rows: what is known of one row is known of all. `weights` (n,) or None.
    """

    n: int
    first: Outputs
    weights: Array | None
    read: Callable[[int], Iterator[Outputs]]
    progress: Progress | None = None

    def __len__(self) -> int:
        return self.n

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.first.name

    @property
    def n_classes(self) -> int:
        """K."""
        return self.first.n_classes

    @staticmethod
    def of(outputs: Outputs) -> OutputsStream:
        """Outputs in memory as a stream of views.

        >>> stream = OutputsStream.of(Outputs(np.eye(2)))
        >>> [(row, len(block)) for row, block in stream.blocks()]
        [(0, 2)]
        """
        rows = rows_per_block(outputs)

        def read(start: int) -> Iterator[Outputs]:
            for begin in range(start, len(outputs), rows):
                yield outputs.taken(slice(begin, begin + rows))

        return OutputsStream(
            len(outputs), outputs.taken(slice(0, rows)), outputs.weights, lambda start: read(start)
        )

    def blocks(
        self, start: int = 0, beside: Callable[[int, Outputs], None] | None = None
    ) -> Iterator[tuple[int, Outputs]]:
        """Number of its first row, and each block (without weights), from row `start` on; read ahead by a thread.

        The thread calls `beside` with each block before it hands it on. Raises InputError where a block is damaged,
        or of other classes, columns or dtype than the first.
        """
        row = start
        for block in read_ahead(self._checked(start, beside)):
            yield row, block
            row += len(block)
            if self.progress is not None:
                self.progress(row, self.n)
        if row != self.n:
            raise InputError(
                f"{self.name} has {row} rows, {self.n} were announced: was it changed meanwhile?"
            )

    def _checked(self, start: int, beside: Callable[[int, Outputs], None] | None) -> Iterator[Outputs]:
        row = start
        for block in self.read(start):
            self._check_like_first(block, row)
            if beside is not None:
                beside(row, block)
            yield block
            row += len(block)

    def _check_like_first(self, block: Outputs, row: int) -> None:
        if block.class_names != self.first.class_names:
            raise InputError(
                f"{self.name}: class_names from row {row} on differ from those of the first rows"
            )
        for what in ("logits", *ABOUT_ROWS):
            ours, theirs = getattr(self.first, what), getattr(block, what)
            if ours is None and theirs is None:
                continue
            same = ours is not None and theirs is not None and ours.shape[1:] == theirs.shape[1:]
            if not same or (ours.dtype != theirs.dtype and not ours.dtype.kind == theirs.dtype.kind == "U"):
                raise InputError(
                    f"{self.name}: {what} from row {row} on differ in kind or width from the first rows "
                    f"({_kind(theirs)} instead of {_kind(ours)}); the parts must agree"
                )


def _kind(array: Array | None) -> str:
    return "none" if array is None else f"{array.dtype} x {array.shape[1] if array.ndim > 1 else 1}"


def rows_per_block(outputs: Outputs) -> int:
    """Rows that hold about BLOCK numbers, or at least 1,000."""
    width = outputs.n_classes + (0 if outputs.features is None else outputs.features.shape[1])
    return max(LEAST, BLOCK // width)


def open_stream(path: str | Path, progress: Progress | None = None) -> OutputsStream:
    """Outputs in a Parquet file or npz, or in a folder of either, as a stream; another file is read whole.

    Arrays in npz should not be compressed (np.savez), else they are unpacked whole. The parts of a folder are
    read in order of their names. Raises InputError for what `Outputs.load` refuses too.
    """
    path = Path(path)
    parts = _npz_parts(path) if path.is_dir() else [path]
    if not parts or read_bytes(parts[0], 4) == b"PAR1":
        from infimum.io.parquet_parts import parquet_blocks, parquet_parts

        n, read = parquet_blocks(parquet_parts(path))
        names = [*array_names(path), "class_names"]  # which may be in the metadata
    elif read_bytes(parts[0], 2) == b"PK":
        from infimum.io.lazily import npz_blocks

        n, read = npz_blocks(parts)
        names = array_names(parts[0])
    else:
        return replace(OutputsStream.of(Outputs.load(path)), progress=progress)
    return _stream(str(path), n, read, names, progress)


def _stream(name: str, n: int, read: Read, names: list[str], progress: Progress | None) -> OutputsStream:
    given = [key for key in ("logits", *PROBABILITIES) if key in names]
    if not given:
        there = [key for key in names if key != "class_names"]
        raise InputError(f"{name} has no 'logits' and no 'probabilities'; it holds: {listed(there)}")
    if n == 0:
        raise InputError(f"{name} is empty")
    left = {"weights", *given[1:]}
    wanted = tuple(key for key in names if key in NAMES and key not in left)

    def made(arrays: dict[str, Array], row: int = 0) -> Outputs:
        values = arrays.pop(given[0])
        if given[0] == "logits":
            return Outputs(values, name=name, first_row=row, **arrays)  # type: ignore[arg-type]
        return Outputs.from_probabilities(values, name=name, first_row=row, **arrays)

    few = made(next(read(wanted, 1, 0)))
    rows = rows_per_block(few)

    def blocks(start: int) -> Iterator[Outputs]:
        row = start
        for arrays in read(wanted, rows, start):
            block = made(arrays, row)
            yield block
            row += len(block)

    weights = None
    if "weights" in names:
        found = [arrays["weights"] for arrays in read(("weights",), WEIGHED, 0)]
        weights = check_weights(np.concatenate(found), n, f"{name}: weights")
    return OutputsStream(n, made(next(read(wanted, rows, 0))), weights, blocks, progress)


def _npz_parts(folder: Path) -> list[Path]:
    """The npz files of a folder by name; InputError for links, and where there are Parquet files too."""
    parts = sorted(path for path in folder.glob("*.npz") if not path.name.startswith((".", "_")))
    if parts and any(folder.glob("*.parquet")):
        raise InputError(
            f"{folder} holds npz and Parquet files; which of them are the outputs cannot be told"
        )
    for path in parts:
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{path} is a link or not a file; the parts must lie in the folder")
    return parts
