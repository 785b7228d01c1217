"""Parquet files of a folder as one: parts side by side, or hive-partitioned (`date=2026-01-01/part-0.parquet`).

The order is that of the parts' paths, folder by folder. Of a partitioned folder, what the folders' names say is a
column, as Spark, Hive, DuckDB and pyarrow write and read it: whole numbers where all values are, else text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.memory import check_fits
from infimum.io.parquet import (
    MANIFEST,
    SCHEMA,
    answering,
    arrays_of,
    class_names_of,
    columns_of,
    open_parquet,
    parquet_rows,
    read_parquet,
    size_of,
)
from infimum.io.records import read_sealed

MISSING = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and Spark name the folder of rows whose key is null."""

_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Part:
    """One file, and the columns that the names of its folders say: the same in each of its rows."""

    path: Path
    says: dict[str, str | int] = field(default_factory=dict)

    def columns(self, names: set[str] | None, rows: int) -> dict[str, Array]:
        """Those of the columns that are named (None: all)."""
        wanted = {key: value for key, value in self.says.items() if names is None or key in names}
        for key, value in wanted.items():
            if value == MISSING:
                raise InputError(
                    f"{self.path}: {key} is missing (null) in these rows; mend what made them: without such rows "
                    "the rest is no random sample"
                )
        return {key: np.full(rows, value) for key, value in wanted.items()}

    def check_once(self, names: set[str] | None, there: set[str]) -> None:
        """InputError for a wanted column that is in the file, too."""
        for key in self.says:
            if key in there and (names is None or key in names):
                raise InputError(
                    f"{self.path} has a column {key!r}, and its folder's name says {key} too; which of them is meant "
                    "cannot be told"
                )


def parquet_parts(path: Path) -> list[Part]:
    """The file itself, or the parts of a folder in order.

    Raises InputError for none, for links, for an extraction that is not finished, and where files lie at several
    levels or the folders beside one another are not of the same keys.
    """
    if not path.is_dir():
        return [Part(path)]
    found = list(_files(path, ()))
    if not found:
        raise InputError(
            f"{path} is a directory without Parquet files; a file was expected, or a folder of Parquet parts, which "
            "may lie in folders named key=value (assess and score read folders of npz too)"
        )
    keys = [tuple(key for key, _ in said) for _, said in found]
    for (file, _), of_file in zip(found, keys, strict=True):
        if of_file != keys[0]:
            raise InputError(
                f"{path} is not partitioned alike: {found[0][0].relative_to(path)} lies in {_levels(keys[0])}, "
                f"{file.relative_to(path)} in {_levels(of_file)}; move the parts into folders of the same keys"
            )
        if len(set(of_file)) < len(of_file):
            raise InputError(f"{file} lies in two folders of one key; which of them is meant cannot be told")
    manifest = path / MANIFEST
    if manifest.is_file() and read_sealed(manifest, SCHEMA).get("complete") is not True:
        raise InputError(f"{path} is an extraction that is not finished; run it again with --resume")
    values: list[dict[str, str | int]] = [dict(said) for _, said in found]
    for key in keys[0]:
        if all(_WHOLE.fullmatch(str(said[key])) for said in values):
            for said in values:
                said[key] = int(said[key])
    return [Part(file, said) for (file, _), said in zip(found, values, strict=True)]


def _files(
    folder: Path, said: tuple[tuple[str, str], ...]
) -> Iterator[tuple[Path, tuple[tuple[str, str], ...]]]:
    """The Parquet files below a folder, each with the keys and values on its way."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    files = [entry for entry in entries if entry.name.endswith(".parquet")]
    folders = [entry for entry in entries if "=" in entry.name and entry.is_dir() and entry not in files]
    for entry in [*files, *folders]:
        if entry.is_symlink() or (entry in files and not entry.is_file()):
            raise InputError(f"{entry} is a link or not a file; the parts must lie in the folder")
    if files and folders:
        raise InputError(
            f"{folder} holds Parquet files and partitions at one level ({files[0].name}, {folders[0].name}); which "
            "of them are meant cannot be told"
        )
    if folders and (others := [entry for entry in entries if entry.is_dir() and entry not in folders]):
        raise InputError(
            f"{folder}: {others[0].name} lies beside {folders[0].name}, and is not named key=value"
        )
    if said and not files and not folders:
        raise InputError(f"{folder} is a partition without Parquet files; remove it, or write it anew")
    for entry in files:
        yield entry, said
    for entry in folders:
        key, _, value = entry.name.partition("=")
        yield from _files(entry, (*said, (unquote(key), unquote(value))))


def _levels(keys: tuple[str, ...]) -> str:
    return "".join(f"{key}=…/" for key in keys) or "the folder itself"


def parquet_names(path: Path) -> list[str]:
    """Names of the arrays in the file, or folder of parts; numbered columns count as one array."""
    part = parquet_parts(path)[0]
    return sorted({*columns_of(open_parquet(part.path), part.path), *part.says})


def parquet_blocks(
    parts: list[Part],
) -> tuple[int, Callable[[tuple[str, ...], int, int], Iterator[dict[str, Array]]]]:
    """Rows of all parts, and a reader of them block by block (see `stream.Read`), a row group's pages at a time."""
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + parquet_rows(part.path))

    def read(names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
        for first, stop, part in zip(starts, starts[1:], parts, strict=False):
            if start < stop:
                yield from _file_blocks(part, names, rows, max(0, start - first))

    return starts[-1], read


def _file_blocks(part: Part, names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
    import pyarrow as pa

    path = part.path
    with open_parquet(path) as file:
        columns = {name: c for name, c in columns_of(file, path).items() if name in names}
        part.check_once(set(names), set(columns))
        there = {*columns, *part.says, "class_names"}
        missing = [name for name in names if name not in there]
        if missing:
            raise InputError(f"{path} lacks {', '.join(missing)}, which the first part holds")
        others = {}
        if "class_names" in names and (found := class_names_of(file, path)) is not None:
            others["class_names"] = found
        read = [c for parts in columns.values() for c in parts]
        first = 0
        for group in range(file.num_row_groups):
            stop = first + file.metadata.row_group(group).num_rows
            if start < stop:
                # One row group per call: pyarrow keeps what it has read of several until the last is done.
                row = first
                with answering(path, f" in row group {group}, which holds rows {first} to {stop - 1}"):
                    for batch in file.iter_batches(rows, [group], read):
                        skipped = min(max(0, start - row), len(batch))
                        if skipped < len(batch):
                            table = pa.Table.from_batches([batch.slice(skipped)])
                            yield {
                                **arrays_of(table, columns, path, row + skipped),
                                **part.columns(set(names), len(table)),
                                **others,
                            }
                        row += len(batch)
            first = stop


def read_parquet_folder(folder: Path, wanted: set[str] | None = None) -> dict[str, Array]:
    """Arrays of a folder of Parquet parts, joined in order of the parts' names."""
    parts = parquet_parts(folder)
    check_fits(sum(size_of(open_parquet(part.path), part.path, wanted) for part in parts), folder)
    first = _read_part(parts[0], wanted)
    blocks: dict[str, list[Array]] = {name: [array] for name, array in first.items()}
    for part in parts[1:]:
        arrays = _read_part(part, wanted)
        if {name: array.shape[1:] for name, array in arrays.items()} != {
            name: array.shape[1:] for name, array in first.items()
        }:
            raise InputError(
                f"{part.path} has other columns or widths than {parts[0].path}; the parts must agree"
            )
        for name, array in arrays.items():
            blocks[name].append(array)
    if any((names != first["class_names"]).any() for names in blocks.get("class_names", ())):
        raise InputError(f"{folder}: the parts differ in class_names")
    return {
        name: first[name] if name == "class_names" else np.concatenate(arrays)
        for name, arrays in blocks.items()
    }


def _read_part(part: Part, wanted: set[str] | None) -> dict[str, Array]:
    arrays = read_parquet(part.path, wanted)
    part.check_once(wanted, set(arrays))
    return {**arrays, **part.columns(wanted, parquet_rows(part.path))}
