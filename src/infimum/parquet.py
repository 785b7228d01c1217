"""Named arrays in Parquet: list columns, or one column per number (`logits_0`, `logits_1`, …). Extra [parquet]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError
from infimum.files import check_fits, need_pyarrow, replace_file

MANIFEST = "_infimum.json"
"""What an extraction keeps beside the parts of a folder; other readers of Parquet folders pass over it."""

READ_BUFFER = 2**20
"""Bytes of a column read from a file at a time."""

_NUMBERED = re.compile(r"(.+)_(\d+)")


def parquet_names(path: Path) -> list[str]:
    """Names of the arrays in the file, or folder of parts; numbered columns count as one array."""
    path = parquet_parts(path)[0]
    return sorted(_columns(_open(path).schema_arrow.names))


def parquet_rows(path: Path) -> int:
    """Rows of a file, from its footer."""
    return int(_open(path).metadata.num_rows)


def folder_parts(folder: Path) -> list[Path]:
    """The Parquet files of a folder by name; InputError for none, links, or an extraction that is not finished."""
    import json

    parts = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith((".", "_")))
    if not parts:
        raise InputError(
            f"{folder} is a directory without Parquet files; a file was expected, or a folder of Parquet parts "
            "(assess and score read folders of npz too)"
        )
    for path in parts:
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{path} is a link or not a file; the parts must lie in the folder")
    manifest = folder / MANIFEST
    if manifest.is_file():
        try:
            complete = json.loads(manifest.read_bytes())["complete"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{manifest} cannot be read ({error!r})") from error
        if complete is not True:
            raise InputError(f"{folder} is an extraction that is not finished; run it again with --resume")
    return parts


def parquet_parts(path: Path) -> list[Path]:
    """The file itself, or the parts of a folder."""
    return folder_parts(path) if path.is_dir() else [path]


def parquet_blocks(
    files: list[Path],
) -> tuple[int, Callable[[tuple[str, ...], int, int], Iterator[dict[str, Array]]]]:
    """Rows of all files, and a reader of them block by block (see `stream.Read`), a row group's pages at a time.

    The files are not mapped: pages of a map that have been read would count as memory of this process.
    """
    starts = [0]
    for path in files:
        with _open(path) as file:
            starts.append(starts[-1] + int(file.metadata.num_rows))

    def read(names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
        for first, stop, path in zip(starts, starts[1:], files, strict=False):
            if start < stop:
                yield from _file_blocks(path, names, rows, max(0, start - first))

    return starts[-1], read


def _file_blocks(path: Path, names: tuple[str, ...], rows: int, start: int) -> Iterator[dict[str, Array]]:
    import pyarrow as pa

    with _open(path, mapped=False) as file:
        columns = {name: c for name, c in _columns(file.schema_arrow.names).items() if name in names}
        missing = [name for name in names if name not in columns and name != "class_names"]
        if missing:
            raise InputError(f"{path} lacks {', '.join(missing)}, which the first part holds")
        others = {}
        if "class_names" in names and (found := _class_names(file, path)) is not None:
            others["class_names"] = found
        read = [c for parts in columns.values() for c in parts]
        first = 0
        for group in range(file.num_row_groups):
            stop = first + file.metadata.row_group(group).num_rows
            if start < stop:
                try:
                    # One row group per call: pyarrow keeps what it has read of several until the last is done.
                    row = first
                    for batch in file.iter_batches(rows, [group], read):
                        skipped = min(max(0, start - row), len(batch))
                        if skipped < len(batch):
                            table = pa.Table.from_batches([batch.slice(skipped)])
                            yield {**_arrays(table, columns, path, row + skipped), **others}
                        row += len(batch)
                except (pa.ArrowException, OSError) as error:
                    raise InputError(
                        f"{path} is damaged in row group {group}, which holds rows {first} to {stop - 1} "
                        f"({error}); write it anew"
                    ) from error
            first = stop


def _arrays(table: Any, columns: Mapping[str, list[str]], path: Path, first_row: int = 0) -> dict[str, Array]:
    arrays = {}
    for name, parts in columns.items():
        found = [_to_array(table.column(c), f"{path}: {c}", first_row) for c in parts]
        arrays[name] = found[0] if parts == [name] else np.stack(found, axis=1)
    return arrays


def _class_names(file: Any, path: Path) -> Array | None:
    import json

    names = (file.schema_arrow.metadata or {}).get(b"infimum.class_names")
    try:
        return None if names is None else np.asarray(json.loads(names), dtype=str)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error})") from error


def read_parquet_folder(folder: Path, wanted: set[str] | None = None) -> dict[str, Array]:
    """Arrays of a folder of Parquet parts, joined in order of the parts' names."""
    parts = folder_parts(folder)
    check_fits(sum(_size(_open(path)) for path in parts), folder)
    first = read_parquet(parts[0], wanted)
    blocks: dict[str, list[Array]] = {name: [array] for name, array in first.items()}
    for path in parts[1:]:
        arrays = read_parquet(path, wanted)
        if {name: array.shape[1:] for name, array in arrays.items()} != {
            name: array.shape[1:] for name, array in first.items()
        }:
            raise InputError(f"{path} has other columns or widths than {parts[0]}; the parts must agree")
        for name, array in arrays.items():
            blocks[name].append(array)
    if any((names != first["class_names"]).any() for names in blocks.get("class_names", ())):
        raise InputError(f"{folder}: the parts differ in class_names")
    return {
        name: first[name] if name == "class_names" else np.concatenate(arrays)
        for name, arrays in blocks.items()
    }


def read_parquet(path: Path, wanted: set[str] | None = None) -> dict[str, Array]:
    """Arrays of a Parquet file by name; metadata `infimum.class_names` (JSON) becomes `class_names`."""
    import pyarrow

    file = _open(path)
    check_fits(_size(file), path)
    arrays: dict[str, Array] = {}
    try:
        for name, columns in _columns(file.schema_arrow.names).items():
            if wanted is None or name in wanted:
                arrays |= _arrays(file.read(columns=columns), {name: columns}, path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is damaged ({error})") from error
    if (names := _class_names(file, path)) is not None:
        arrays["class_names"] = names
    return arrays


def write_parquet(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays of equal length to Parquet, two-dimensional ones as list columns; replaced in one move."""
    import json

    need_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if name == "class_names":
            continue
        native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        values = pa.array(native.reshape(-1))
        columns[name] = (
            values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, array.shape[1])
        )
    table = pa.table(columns)
    if "class_names" in arrays:
        table = table.replace_schema_metadata(
            {"infimum.class_names": json.dumps(arrays["class_names"].tolist())}
        )
    replace_file(Path(path), lambda temporary: pq.write_table(table, temporary, write_page_checksum=True))


def _open(path: Path, mapped: bool = True) -> Any:
    need_pyarrow()
    import pyarrow
    import pyarrow.parquet as pq

    try:
        # Not mapped, pages are read as they are needed; pre-buffering would hold whole columns of the file.
        # pyarrow verifies the pages' CRC-32 only when it is told to.
        return pq.ParquetFile(
            path,
            memory_map=mapped,
            pre_buffer=False,
            buffer_size=0 if mapped else READ_BUFFER,
            page_checksum_verification=True,
        )
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file ({error})") from error
    except UnicodeError as error:  # pyarrow takes names as text
        raise InputError(f"{str(path)!r} has a name that is not UTF-8; rename the file") from error


def _size(file: Any) -> int:
    return sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))


def _columns(names: list[str]) -> dict[str, list[str]]:
    """Columns of each array: itself, or its numbered parts in order of number (0, 1, 2, … without a gap)."""
    found: dict[str, list[str]] = {}
    numbered: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            numbered.setdefault(match[1], {})[int(match[2])] = name
        else:
            found[name] = [name]
    for base, parts in numbered.items():
        if sorted(parts) == list(range(len(parts))) and base not in found:
            found[base] = [parts[i] for i in range(len(parts))]
        else:
            found.update({name: [name] for name in parts.values()})
    return found


def _to_array(column: Any, what: str, first_row: int = 0) -> Array:
    """A column as an array: numbers (n,), text (n,), or lists of one length (n, width); errors count from first_row."""
    import pyarrow as pa

    if column.null_count:
        row = first_row + int(np.argmax(column.is_null().to_numpy()))
        raise InputError(
            f"{what}: values are missing (null), the first in row {row}; mend or leave out such rows"
        )
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        widths = column.combine_chunks().value_lengths().unique().to_pylist()
        if len(widths) > 1:
            raise InputError(
                f"{what}: the lists differ in length ({sorted(widths)[0]} to {sorted(widths)[-1]})"
            )
        values = np.asarray(pa.chunked_array([c.flatten() for c in column.chunks], kind.value_type))
        return values.reshape(len(column), widths[0] if widths else 0)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return np.asarray(column.to_pylist(), dtype=str)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    raise InputError(f"{what}: columns of type {kind} are not read; numbers, text or lists of numbers are")
