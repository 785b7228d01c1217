"""A calibration as one file: JSON, or safetensors for many rows. Neither can carry code; the checksum is the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.content import check_seal, sealed
from infimum.io.documents import parse_json
from infimum.io.files import read_bytes, read_safetensors, write_safetensors
from infimum.io.ranges import numbers_of, shown
from infimum.io.records import check_schema
from infimum.io.replacing import write_bytes

SCHEMA = "infimum/calibration/2"

KEYS = ("key_high", "key_low")
"""The two arrays (n,): scores, and what their rounding lost."""


def write_calibration(path: Path, facts: Mapping[str, Any], keys: Array) -> None:
    """Write facts and keys (n,) in the form that the name's ending asks for: .safetensors, else JSON."""
    if path.suffix not in (".json", ".safetensors"):
        raise InputError(f"{path}: the name of a calibration must end in .json or .safetensors")
    arrays = {"key_high": np.ascontiguousarray(keys.real), "key_low": np.ascontiguousarray(keys.imag)}
    content = sealed({"schema": SCHEMA, **facts, **arrays})
    about = {name: value for name, value in content.items() if name not in KEYS}
    if path.suffix == ".safetensors":
        write_safetensors(path, arrays, {"infimum": json.dumps(about)})
    else:
        document = {**about, **{name: array.tolist() for name, array in arrays.items()}}
        write_bytes(path, json.dumps(document, allow_nan=False).encode())


def read_calibration(path: Path) -> tuple[dict[str, Any], Array]:
    """Facts and keys (n,) from either form, told apart by content; InputError for what was changed, or is neither."""
    if read_bytes(path, 1) == b"{":
        about = parse_json(read_bytes(path), "it")
        check_schema(about, SCHEMA)
        arrays = {name: numbers_of(about.pop(name, None), name) for name in KEYS}
    else:
        stored, metadata = read_safetensors(path)
        about = parse_json(metadata.get("infimum", "null"), "its metadata")
        check_schema(about, SCHEMA)
        arrays = {name: _vector(stored.get(name), name) for name in KEYS}
    check_seal({**about, **arrays})
    high, low = arrays["key_high"], arrays["key_low"]
    if missing := {"score", "n"} - about.keys():
        raise InputError(f"it lacks {min(missing)!r}")
    if high.shape != low.shape or about["n"] != len(high):
        raise InputError(f"n is {shown(about['n'])}, but there are {len(high)} and {len(low)} scores")
    keys = np.empty(len(high), dtype=np.complex128)
    keys.real, keys.imag = high, low
    return about, keys


def _vector(array: Any, what: str) -> Array:
    """An array of a safetensors file, as it is."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 1:
        raise InputError(f"{what} must be float64 and one-dimensional")
    return array


def holds_calibration(path: Path) -> bool:
    """Whether a file is a calibration rather than arrays, by its content."""
    if path.is_dir():  # Parquet parts
        return False
    start = read_bytes(path, 16)
    if start[:1] == b"{":
        return True
    if start[:2] == b"PK" or start[:4] == b"PAR1":
        return False
    return start[8:9] == b"{" and "infimum" in read_safetensors(path, set())[1]
