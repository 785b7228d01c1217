"""Damaged files: bytes flipped, cut, added, and edits that know the format. Everything follows from the generator."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Mutant = bytes
Rng = np.random.Generator

EXTREME_JSON = (
    *("-1", "0", "1", "2", "1e400", "-1e308", "1e-320", "9223372036854775808", "1" + "0" * 400, "1" * 5000),
    *(
        "NaN",
        "Infinity",
        "null",
        "true",
        "[]",
        "{}",
        "[[]]",
        '""',
        '"x"',
        '"\\u0000"',
        '"\\ud800"',
        '"\\u001b[2J\\n"',
    ),
    *('"' + "y" * 3000 + '"', "[" * 2000, "[" * 90 + "]" * 90, '{"a":' * 90 + "1" + "}" * 90, "[0.5, NaN]"),
)
EXTREME_TOML = (
    *("-1", "0", "1e400", "inf", "nan", "1" + "0" * 400, "0x" + "f" * 5000, "1" * 5000, "true", "[]", "{}"),
    *(
        '""',
        '"\\u0000"',
        '"a\\u001b[2J\\nb"',
        '"/"',
        '".."',
        '"/dev/zero"',
        "'''x\ny'''",
        '"' + "y" * 3000 + '"',
    ),
    *("[" * 2000, "{a=" * 90 + "1" + "}" * 90, "1979-05-27", "[1, [2, [3]]]"),
)
EXTREME_TEXT = (
    *(
        "",
        "-1",
        "0",
        "1e400",
        "nan",
        "inf",
        "1" * 400,
        "9" * 5000,
        "\0",
        "\x1b[2J",
        '"',
        '"\n"',
        "=1+1",
        "\u202e",
        "٣",
    ),
    *("é" * 2000, " ", "true", "1.5", "1_0"),
)
SHAPES = (
    *(
        "(-1, 4)",
        "(True, True)",
        "(" + "1, " * 100 + ")",
        "(" + "9" * 400 + ",)",
        "()",
        "(0,)",
        "(1,)",
        "(2, 2)",
    ),
    *(
        "(3, 0, 9)",
        "(4611686018427387904, 4)",
        "(2**9,)",
        "(1.5,)",
        "('a',)",
        "[4]",
        "None",
        "(" * 2000,
        "(0, 10" + "0" * 17 + ")",
    ),
)
DESCRS = (
    "|O",
    "<f3",
    "<U999999999",
    "<U0",
    "|V8",
    ">f8",
    "<f16",
    "<M8[ns]",
    "<c16",
    "|b1",
    "<i8",
    "x" * 500,
    "<f8'",
)


def bytes_edited(data: bytes, rng: Rng) -> Mutant:
    """One edit of bytes: places near the ends, where headers and directories lie, come up more often."""
    made = bytearray(data)
    at = _place(len(data), rng)
    end = min(len(data), at + int(rng.integers(1, 64)))
    match int(rng.integers(8)):
        case 0 | 1:
            for _ in range(int(rng.integers(1, 4))):
                made[_place(len(data), rng)] ^= 1 << int(rng.integers(8))
        case 2:
            return bytes(made[:at])
        case 3:
            made[at:at] = rng.bytes(int(rng.integers(1, 64)))
        case 4:
            del made[at:end]
        case 5:
            made[at:at] = made[at:end]
        case 6:
            extreme = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)[int(rng.integers(7))]
            width = (1, 2, 4, 8)[int(rng.integers(4))]
            made[at : at + width] = (extreme % 256**width).to_bytes(width, "little")[: len(data) - at]
        case _:
            made[at:end] = rng.bytes(end - at)
    return bytes(made)


def _place(length: int, rng: Rng) -> int:
    near = min(length, 300)
    return int(
        (rng.integers(near), length - 1 - rng.integers(near), rng.integers(length))[int(rng.integers(3))]
    )


def json_edited(data: bytes, rng: Rng) -> Mutant:
    """A value replaced, a digit changed, a key left out or given twice."""
    text = data.decode()
    spots = [
        m.span(1)
        for m in re.finditer(r"""[:\[,]\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)""", text)
    ]
    match int(rng.integers(5)):
        case 0 | 1 if spots:
            begin, end = _few(spots, rng)
            return (text[:begin] + EXTREME_JSON[int(rng.integers(len(EXTREME_JSON)))] + text[end:]).encode()
        case 2 | 3:
            return _digit(text, rng)
    document = json.loads(text)
    keys = list(document)
    key = keys[int(rng.integers(len(keys)))]
    if rng.random() < 0.5:
        del document[key]
        return json.dumps(document).encode()
    return (text.rstrip()[:-1] + f", {json.dumps(key)}: {json.dumps(document[key])}}}").encode()


def _few(spots: list[tuple[int, int]], rng: Rng) -> tuple[int, int]:
    """A spot; of documents with long lists the first, which stand for the rest, come up more often."""
    return spots[int(rng.integers(len(spots) if rng.random() < 0.5 else min(len(spots), 30)))]


def _digit(text: str, rng: Rng) -> Mutant:
    digits = [m.start() for m in re.finditer(r"[0-9]", text)]
    if not digits:
        return text.encode() + b"0"
    at = digits[int(rng.integers(len(digits)))]
    return (text[:at] + str((int(text[at]) + int(rng.integers(1, 10))) % 10) + text[at + 1 :]).encode()


def toml_edited(data: bytes, rng: Rng) -> Mutant:
    """A value replaced, a digit changed, a line taken out, given twice, or added."""
    lines = data.decode().split("\n")
    valued = [i for i, line in enumerate(lines) if "=" in line]
    at = valued[int(rng.integers(len(valued)))]
    match int(rng.integers(6)):
        case 0 | 1:
            lines[at] = (
                lines[at].partition("=")[0] + "= " + EXTREME_TOML[int(rng.integers(len(EXTREME_TOML)))]
            )
        case 2:
            return _digit("\n".join(lines), rng)
        case 3:
            del lines[at]
        case 4:
            lines.insert(at, lines[at])
        case _:
            added = (
                "a" + ".a" * 100_000 + " = 1",
                "[a" + ".a" * 40 + "]",
                "zzz = 1",
                "a = " + "[" * 5000,
                "x" * 9999,
            )
            lines.insert(at, added[int(rng.integers(len(added)))])
    return "\n".join(lines).encode()


def csv_edited(data: bytes, rng: Rng) -> Mutant:
    """An entry replaced, a digit changed, a row or column doubled or taken out."""
    rows = [line.split(",") for line in data.decode().splitlines()]
    row, column = int(rng.integers(len(rows)) * (rng.random() < 0.7)), int(rng.integers(len(rows[0])))
    match int(rng.integers(6)):
        case 0 | 1:
            rows[row][column] = EXTREME_TEXT[int(rng.integers(len(EXTREME_TEXT)))]
        case 2:
            return _digit(data.decode(), rng)
        case 3:
            rows.insert(row, rows[row])
        case 4:
            del rows[row]
        case _:
            for entries in rows:
                entries.append(entries[column]) if rng.random() < 0.99 else entries.pop()
    return "\n".join(",".join(entries) for entries in rows).encode()


def npy_edited(data: bytes, rng: Rng) -> Mutant:
    """The header rewritten: another shape, kind, order or version, or nonsense."""
    if rng.random() < 0.3:
        other = io.BytesIO()
        np.save(other, odd_array(np.load(io.BytesIO(data)).shape, rng))
        return other.getvalue()
    length = int.from_bytes(data[8:10], "little")
    header, rest = data[10 : 10 + length].decode(), data[10 + length :]
    version = b"\1\0"
    match int(rng.integers(6)):
        case 0 | 1:
            shape = SHAPES[int(rng.integers(len(SHAPES)))]
            header = re.sub(r"\([^)]*\)", lambda _: shape, header)
        case 2:
            descr = DESCRS[int(rng.integers(len(DESCRS)))]
            header = re.sub(r"'descr': '[^']*'", lambda _: f"'descr': '{descr}'", header)
        case 3:
            header = header.replace("False", "True")
        case 4:
            version = (b"\2\0", b"\3\0", b"\4\0", b"\0\0")[int(rng.integers(4))]
        case _:
            header = (
                "{" * 3000,
                "{}",
                "[" * 3000,
                "'\\d'",
                "",
                "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
            )[int(rng.integers(6))]
    text = header.encode()
    size = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    if rng.random() < 0.3:
        rest = rng.bytes(len(rest))
    return data[:6] + version + size + text + rest


ODD_IDS = ("\ud800", "\udcff", "a\x1b[2J\n", "", "1", "é" * 900, "=1+1")


def odd_array(shape: tuple[int, ...], rng: Rng) -> np.ndarray[Any, Any]:
    """An array of about this shape that somebody may save in earnest, or in anger."""
    n = shape[0] if shape else 3
    numbers = rng.integers(-1, 4, shape)
    odd: tuple[Callable[[], Any], ...] = (
        lambda: numbers,
        lambda: numbers.astype(
            (">f4", "<f2", "<f8", ">i8", "<u8", "i1", "c16", "g", "?")[int(rng.integers(9))]
        ),
        lambda: np.where(
            numbers == 3, (np.nan, np.inf, -np.inf, 1e301, -1e308, 5e-324)[int(rng.integers(6))], 1.0
        ),
        lambda: np.abs(numbers) * (2.0**62, 1e-320, 2.0**63, 1e17)[int(rng.integers(4))],
        lambda: np.array([ODD_IDS[int(rng.integers(len(ODD_IDS)))] + str(i) for i in range(n)]),
        lambda: np.array(
            [("a", "b", "\ud800", "\0x", "1", "nan", "1.0")[int(rng.integers(7))] for _ in range(n)]
        ),
        lambda: np.array([b"a", b"\xff"] * n)[:n],
        lambda: np.arange(n).astype("M8[s]"),
        lambda: np.asfortranarray(rng.normal(size=(n, 3))),
        lambda: rng.normal(size=(n, int(rng.integers(5)))),
        lambda: rng.normal(size=(int(rng.integers(3)), 3)),
        lambda: np.full((n, 3), 1 / 3, np.float16),
        lambda: np.eye(3)[rng.integers(3, size=n)],
        lambda: np.zeros(shape),
        lambda: np.array(3.0),
        lambda: np.zeros((n, 3, 2)),
        lambda: np.zeros(n, [("a", "f8")]),
    )
    return np.asarray(odd[int(rng.integers(len(odd)))]())


def npz_edited(data: bytes, rng: Rng) -> Mutant:
    """Members rewritten, with right checksums: their npy changed, renamed, doubled, packed, or joined by others."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = int(rng.integers(len(members)))
    name, content = members[at]
    match int(rng.integers(9)):
        case 0 | 1:
            members[at] = (name, npy_edited(content, rng))
        case 2:
            members[at] = (name, bytes_edited(content, rng))
        case 3:
            names = (
                "x.npy",
                "logits.npy",
                "labels.npy",
                "logits",
                "\x1b[2J.npy",
                "ids.npy",
                "a/../b.npy",
                "y" * 3000,
                "features.npy",
                "weights.npy",
                "class_names.npy",
            )
            members[at] = (names[int(rng.integers(len(names)))], content)
        case 4:
            members.append((name if rng.random() < 0.5 else name.removesuffix(".npy"), content))
        case _:
            other = io.BytesIO()
            shape = np.load(io.BytesIO(content)).shape
            np.save(other, odd_array(shape, rng))
            members[at] = (name, other.getvalue())
    made = io.BytesIO()
    with zipfile.ZipFile(
        made, "w", (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)[int(rng.integers(3))]
    ) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = archive.compression
            if name in archive.namelist():
                archive.NameToInfo.pop(name)  # it would warn
            archive.writestr(info, content)
    return made.getvalue()


def safetensors_edited(data: bytes, rng: Rng) -> Mutant:
    """The header edited as JSON."""
    length = int.from_bytes(data[:8], "little")
    header = json_edited(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def parquet_edited(data: bytes, rng: Rng) -> Mutant:
    """Columns renamed, doubled, or of other values, in a sound file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    names, columns = list(table.column_names), list(table.columns)
    at, other = int(rng.integers(len(names))), int(rng.integers(len(names)))
    n = len(table)
    match int(rng.integers(4)):
        case 0:
            names[at] = names[other]
        case 1:
            given = (
                "logits",
                "logits_03",
                "labels",
                "ids",
                "weights",
                "class_names",
                "features_0",
                "\x1b",
                "a_" + "1" * 5000,
                "l.m",
                "",
            )
            names[at] = given[int(rng.integers(len(given)))]
        case 2:
            values: tuple[Any, ...] = (
                pa.nulls(n), pa.array([None] + [1] * (n - 1)), pa.array([float("nan")] * n), pa.array([[1.0]] * n),
                pa.array([[]] * n, pa.list_(pa.float64())), pa.array([{"a": 1}] * n), pa.array(["x"] * n), pa.array([b"\xff"] * n),
                pa.array([10**18] * n), pa.array([-1] * n), pa.array(["x"] * n).dictionary_encode(), pa.array([True] * n),
                pa.array([[[1.0]]] * n), pa.array([[1.0], None] + [[1.0]] * (n - 2)), pa.array([[None, 1.0]] * n),
            )  # fmt: skip
            columns[at] = pa.chunked_array([values[int(rng.integers(len(values)))]])
        case _:
            del names[at], columns[at]
    made = pa.Table.from_arrays(columns, names=names)
    notes = (None, "[", "3", '["a", 1]', "[" * 3000, '{"a": 1, "a": 2}')[int(rng.integers(6))]
    made = made.replace_schema_metadata(None if notes is None else {"infimum.class_names": notes})
    out = io.BytesIO()
    pq.write_table(made, out, write_page_checksum=True)
    return out.getvalue()


EDITS: dict[str, Callable[[bytes, Rng], Mutant]] = {
    ".json": json_edited,
    ".toml": toml_edited,
    ".csv": csv_edited,
    ".npy": npy_edited,
    ".npz": npz_edited,
    ".safetensors": safetensors_edited,
    ".parquet": parquet_edited,
}


def mutant(path: Path, rng: Rng) -> Mutant:
    """A damaged copy of a file: half the time by an edit that knows its format, where there is one."""
    data, known = path.read_bytes(), EDITS.get(path.suffix)
    made = known(data, rng) if known is not None and rng.random() < 0.5 else bytes_edited(data, rng)
    return bytes_edited(made, rng) if made and rng.random() < 0.1 else made
