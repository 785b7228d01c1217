"""Arrow IPC streams, as Hugging Face `datasets` saves them: read, not mapped (see `stored`); rows counted by headers.

A stream is a row of messages: four bytes FF, the length of the header, the header (a flatbuffer), the body. The
numbers of rows stand in the headers, so that the bodies, nearly all of the file, are passed over. pyarrow reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from infimum.errors import InputError

_RECORD_BATCH = 3
"""Of the kinds of a message's header."""

_LONGEST = 2**26
"""Bytes of a header: some hundred for each column."""


def record_batches(path: Path) -> Iterator[Any]:
    """The record batches of a stream, one in memory at a time."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        yield from reader


def stream_schema(path: Path) -> Any:
    """The schema of a stream."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        return reader.schema


def count_rows_of_stream(path: Path) -> int:
    """How many rows the record batches of a stream have; InputError where it is damaged or cut short."""
    rows, size = 0, path.stat().st_size
    try:
        with path.open("rb") as file:
            while (header := _header(file, path)) is not None:
                kind, length, body = _message(header)
                if length < 0 or body < 0 or file.tell() + body > size:
                    raise InputError(f"{path} is damaged or cut short")
                file.seek(body, 1)
                rows += length if kind == _RECORD_BATCH else 0
    except (struct.error, OSError) as error:
        raise InputError(f"{path} is damaged or cut short ({error})") from error
    return rows


def _header(file: IO[bytes], path: Path) -> bytes | None:
    """The next message's header; None at the end."""
    start = file.read(4)
    if start == b"\xff\xff\xff\xff":
        start = file.read(4)  # streams from before 2019 do not have the first four
    length = int.from_bytes(start, "little")
    if len(start) < 4 or length == 0:
        return None
    if length > _LONGEST:
        raise InputError(f"{path} is damaged: it claims a header of {length:,} bytes")
    return file.read(length)


def _message(header: bytes) -> tuple[int, int, int]:
    """Kind of a message, rows of its record batch, and bytes of its body: Arrow's Message.fbs, a flatbuffer."""
    message = _unpack("<I", header, 0)
    kind, table, body = (_field(header, message, number) for number in (1, 2, 3))
    if not kind or not table:
        return 0, 0, 0
    batch = table + _unpack("<I", header, table)
    length = _field(header, batch, 0)
    return (
        _unpack("<B", header, kind),
        _unpack("<q", header, length) if length else 0,
        _unpack("<q", header, body) if body else 0,
    )


def _field(data: bytes, table: int, number: int) -> int:
    """Where a table has its field of a number; 0 where it has not."""
    fields = table - _unpack("<i", data, table)
    place = 4 + 2 * number
    there = place < _unpack("<H", data, fields)
    offset = _unpack("<H", data, fields + place) if there else 0
    return table + offset if offset else 0


def _unpack(kind: str, data: bytes, place: int) -> int:
    if place < 0:
        raise struct.error("an offset before the beginning")
    return int(struct.unpack_from(kind, data, place)[0])
