"""Named arrays in Parquet: list columns, or one column per number (`logits_0`, `logits_1`, …). Extra [parquet]."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.io.documents import parse_json
from infimum.io.memory import check_fits
from infimum.io.regular import check_regular
from infimum.io.replacing import replace_file

MANIFEST = "_infimum.json"
"""What an extraction keeps beside the parts of a folder; other readers of Parquet folders pass over it."""

SCHEMA = "infimum/extraction/1"
"""Of the manifest, and of the settings in a finished file."""

READ_BUFFER = 2**20
"""Bytes of a column read from a file at a time."""

_NUMBERED = re.compile(r"(.+)_([0-9]{1,9})", re.DOTALL)

_WIDTH = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}
"""Bytes of a number in memory, by its kind in the file; of text and others at least some."""


def parquet_rows(path: Path) -> int:
    """Rows of a file, from its footer."""
    return int(open_parquet(path).metadata.num_rows)


def arrays_of(
    table: Any, columns: Mapping[str, list[str]], path: Path, first_row: int = 0
) -> dict[str, Array]:
    """Arrays of a table, each from its columns; errors count from `first_row`."""
    arrays = {}
    for name, parts in columns.items():
        found = [_to_array(table.column(c), f"{path}: {c}", first_row) for c in parts]
        if any(array.shape != found[0].shape for array in found):
            raise InputError(f"{path}: {parts[0]}, … are to be single numbers, or lists of one length")
        arrays[name] = found[0] if parts == [name] else np.stack(found, axis=1)
    return arrays


def class_names_of(file: Any, path: Path) -> Array | None:
    """What the file's metadata say of its classes' names."""
    text = (file.schema_arrow.metadata or {}).get(b"infimum.class_names")
    if text is None:
        return None
    names = parse_json(text, f"class_names of {path}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path} is damaged: its class_names are not a list of texts")
    return np.asarray(names, dtype=str)


def read_parquet(path: Path, wanted: set[str] | None = None) -> dict[str, Array]:
    """Arrays of a Parquet file by name; metadata `infimum.class_names` (JSON) becomes `class_names`."""
    file = open_parquet(path)
    check_fits(size_of(file, path, wanted), path)
    arrays: dict[str, Array] = {}
    with answering(path):
        for name, columns in columns_of(file, path).items():
            if wanted is None or name in wanted:
                arrays |= arrays_of(file.read(columns=columns), {name: columns}, path)
    if (names := class_names_of(file, path)) is not None:
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

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:  # pyarrow takes only names that are UTF-8
            pq.write_table(table, file, write_page_checksum=True)

    replace_file(Path(path), write)


def open_parquet(path: Path) -> Any:
    """A file, to be read a page at a time; InputError where it is none."""
    need_pyarrow()
    import pyarrow
    import pyarrow.parquet as pq

    check_regular(path)
    try:
        # Pages are read as they are needed; pre-buffering would hold whole columns of the file. It is not mapped: see
        # `stored`, and pages of a map that have been read would count as memory of this process.
        # pyarrow verifies the pages' CRC-32 only when it is told to.
        return pq.ParquetFile(
            path,
            pre_buffer=False,
            buffer_size=READ_BUFFER,
            page_checksum_verification=True,
        )
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file ({error})") from error
    except UnicodeError as error:  # pyarrow takes names as text
        raise InputError(f"{str(path)!r} has a name that is not UTF-8; rename the file") from error


def size_of(file: Any, path: Path, wanted: set[str] | None) -> int:
    """Bytes that the wanted columns take in memory, at least: packed, a few bytes can stand for any number of rows."""
    columns = columns_of(file, path)
    read = {c for name, parts in columns.items() if wanted is None or name in wanted for c in parts}
    size = 0
    with answering(path):
        for group in map(file.metadata.row_group, range(file.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                if chunk.path_in_schema in read or chunk.path_in_schema.partition(".")[0] in read:
                    width = _WIDTH.get(chunk.physical_type, 1)
                    size += max(chunk.total_uncompressed_size, chunk.num_values * width)
    return size


def _names(file: Any, path: Path) -> list[str]:
    with answering(path):
        names: list[str] = file.schema_arrow.names
        return names


@contextmanager
def answering(path: Path, where: str = "") -> Iterator[None]:
    """What pyarrow raises on damaged bytes, as an InputError; UnicodeError where a name is no text."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise InputError(
            f"{path} is damaged{where or ' or cut short'} ({str(error)[:200]}); write it anew"
        ) from error


def columns_of(file: Any, path: Path) -> dict[str, list[str]]:
    """Columns of each array: itself, or its numbered parts in order of number (0, 1, 2, … without a gap).

    Raises InputError where two columns have one name, or one number, or an array is there in both ways.
    """
    found: dict[str, list[str]] = {}
    numbered: dict[str, dict[int, str]] = {}
    for name in _names(file, path):
        if name in found:
            raise InputError(f"{path} has two columns {name!r}; rename or leave out one of them")
        if match := _NUMBERED.fullmatch(name):
            parts, number = numbered.setdefault(match[1], {}), int(match[2])
            if number in parts:
                raise InputError(
                    f"{path} has columns {parts[number]!r} and {name!r}, both of number {number}; rename or leave out "
                    "one of them"
                )
            parts[number] = name
        else:
            found[name] = [name]
    for base, parts in numbered.items():
        if sorted(parts) == list(range(len(parts))):
            if base in found:
                raise InputError(
                    f"{path} has a column {base!r} and columns {parts[0]!r}, …; which of them are meant cannot be told"
                )
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
            f"{what}: values are missing (null), the first in row {row}; mend what made them: without "
            "such rows the rest is no random sample"
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


def need_pyarrow() -> None:
    """Raise with the install command if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("Parquet", "parquet") from error
