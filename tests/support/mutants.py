"""Damaged files: bytes flipped, cut, added, and edits that know the format. Everything follows from the generator."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import odd_values as odd
from odd_values import Rng, one_of


def mutant(path: Path, rng: Rng) -> bytes:
    """A damaged copy of a file: half the time by an edit that knows its format, where there is one."""
    data, known = path.read_bytes(), EDITS.get(path.suffix)
    made = known(data, rng) if known is not None and rng.random() < 0.5 else bytes_edited(data, rng)
    return bytes_edited(made, rng) if made and rng.random() < 0.1 else made


def bytes_edited(data: bytes, rng: Rng) -> bytes:
    """One edit of bytes: places near the ends, where headers and directories lie, come up more often."""
    made = bytearray(data)
    at = _place(len(data), rng)
    end = min(len(data), at + int(rng.integers(1, 64)))
    match int(rng.integers(8)):
        case 0 | 1:
            for _ in range(int(rng.integers(1, 4))):
                made[_place(len(data), rng)] ^= 1 << int(rng.integers(8))
        case 2:
            del made[at:]
        case 3:
            made[at:at] = rng.bytes(int(rng.integers(1, 64)))
        case 4:
            del made[at:end]
        case 5:
            made[at:at] = made[at:end]
        case 6:
            extreme = one_of((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1), rng)
            width = min(one_of((1, 2, 4, 8), rng), len(data) - at)
            made[at : at + width] = (extreme % 256**width).to_bytes(width, "little")
        case _:
            made[at:end] = rng.bytes(end - at)
    return bytes(made)


def _place(length: int, rng: Rng) -> int:
    near = int(rng.integers(min(length, 300)))
    return one_of((near, length - 1 - near, int(rng.integers(length))), rng)


_VALUE = re.compile(r"""[:\[,]\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)""")


def json_edited(data: bytes, rng: Rng) -> bytes:
    """A value replaced, a digit changed, a key left out or given twice."""
    text = data.decode()
    spots = [found.span(1) for found in _VALUE.finditer(text)]
    match int(rng.integers(5)):
        case 0 | 1 if spots:
            # Of documents with long lists the beginning, where each value is another, comes up more often.
            begin, end = one_of(spots if rng.random() < 0.5 else spots[:30], rng)
            return (text[:begin] + one_of(odd.JSON, rng) + text[end:]).encode()
        case 2 | 3:
            return _digit(text, rng)
    document = json.loads(text)
    key = one_of(list(document), rng)
    if rng.random() < 0.5:
        del document[key]
        return json.dumps(document).encode()
    return (text.rstrip()[:-1] + f", {json.dumps(key)}: {json.dumps(document[key])}}}").encode()


def _digit(text: str, rng: Rng) -> bytes:
    digits = [found.start() for found in re.finditer(r"[0-9]", text)]
    if not digits:
        return bytes_edited(text.encode(), rng)
    at = one_of(digits, rng)
    return (text[:at] + str((int(text[at]) + int(rng.integers(1, 10))) % 10) + text[at + 1 :]).encode()


def toml_edited(data: bytes, rng: Rng) -> bytes:
    """A value replaced, a digit changed, a line taken out, given twice, or added."""
    lines = data.decode().split("\n")
    at = one_of([number for number, line in enumerate(lines) if "=" in line], rng)
    match int(rng.integers(6)):
        case 0 | 1:
            lines[at] = lines[at].partition("=")[0] + "= " + one_of(odd.TOML, rng)
        case 2:
            return _digit("\n".join(lines), rng)
        case 3:
            del lines[at]
        case 4:
            lines.insert(at, lines[at])
        case _:
            lines.insert(at, one_of(odd.TOML_LINES, rng))
    return "\n".join(lines).encode()


def csv_edited(data: bytes, rng: Rng) -> bytes:
    """An entry replaced, a digit changed, a row or column doubled or taken out."""
    rows = [line.split(",") for line in data.decode().splitlines()]
    row, column = int(rng.integers(len(rows)) * (rng.random() < 0.7)), int(rng.integers(len(rows[0])))
    match int(rng.integers(6)):
        case 0 | 1:
            rows[row][column] = one_of(odd.TEXT, rng)
        case 2:
            return _digit(data.decode(), rng)
        case 3:
            rows.insert(row, rows[row])
        case 4:
            del rows[row]
        case _:
            rows = [[*entries, entries[column]] for entries in rows]
    return "\n".join(",".join(entries) for entries in rows).encode()


def npy_edited(data: bytes, rng: Rng) -> bytes:
    """Another array, or the header rewritten: another shape, kind, order or version, or nonsense."""
    if rng.random() < 0.3:
        return _npy(odd.array(np.load(io.BytesIO(data)).shape, rng))
    length = int.from_bytes(data[8:10], "little")
    header, rest = data[10 : 10 + length].decode(), data[10 + length :]
    version = b"\1\0"
    match int(rng.integers(6)):
        case 0 | 1:
            shape = one_of(odd.SHAPES, rng)
            header = re.sub(r"\([^)]*\)", lambda _: shape, header)
        case 2:
            descr = one_of(odd.DESCRS, rng)
            header = re.sub(r"'descr': '[^']*'", lambda _: f"'descr': '{descr}'", header)
        case 3:
            header = header.replace("False", "True")
        case 4:
            version = one_of((b"\2\0", b"\3\0", b"\4\0", b"\0\0"), rng)
        case _:
            header = one_of(odd.HEADERS, rng)
    text = header.encode()
    return data[:6] + version + len(text).to_bytes(2 if version == b"\1\0" else 4, "little") + text + rest


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz_edited(data: bytes, rng: Rng) -> bytes:
    """Members rewritten, with right checksums: their npy changed, renamed, doubled, or packed otherwise."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = int(rng.integers(len(members)))
    name, content = members[at]
    match int(rng.integers(6)):
        case 0 | 1:
            members[at] = (name, npy_edited(content, rng))
        case 2:
            members[at] = (name, bytes_edited(content, rng))
        case 3:
            members[at] = (one_of(odd.NAMES, rng) + ".npy", content)
        case 4:
            members.append((name if rng.random() < 0.5 else name.removesuffix(".npy"), content))
        case _:
            members[at] = (name, _npy(odd.array(np.load(io.BytesIO(content)).shape, rng)))
    made = io.BytesIO()
    packing = one_of((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2), rng)
    with zipfile.ZipFile(made, "w", packing) as archive:
        for name, content in members:
            archive.NameToInfo.pop(name, None)  # it would warn of a name that is there
            archive.writestr(name, content)
    return made.getvalue()


def safetensors_edited(data: bytes, rng: Rng) -> bytes:
    """The header edited as JSON."""
    length = int.from_bytes(data[:8], "little")
    header = json_edited(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def parquet_edited(data: bytes, rng: Rng) -> bytes:
    """Columns renamed, doubled, taken out, or of other values, in a sound file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    names, columns = list(table.column_names), list(table.columns)
    at = int(rng.integers(len(names)))
    match int(rng.integers(4)):
        case 0:
            names[at] = one_of(names, rng)
        case 1:
            names[at] = one_of(odd.NAMES, rng)
        case 2:
            columns[at] = pa.chunked_array([odd.column(len(table), rng)])
        case _:
            del names[at], columns[at]
    about = one_of(odd.CLASS_NAMES, rng)
    made = pa.Table.from_arrays(columns, names=names)
    made = made.replace_schema_metadata(None if about is None else {"infimum.class_names": about})
    out = io.BytesIO()
    pq.write_table(made, out, write_page_checksum=True)
    return out.getvalue()


EDITS: dict[str, Callable[[bytes, Rng], bytes]] = {
    ".json": json_edited,
    ".toml": toml_edited,
    ".csv": csv_edited,
    ".npy": npy_edited,
    ".npz": npz_edited,
    ".safetensors": safetensors_edited,
    ".parquet": parquet_edited,
}
