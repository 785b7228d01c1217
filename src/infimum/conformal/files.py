"""A calibration as one file: JSON, or safetensors for many rows. Neither can carry code; the checksum is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.conformal.calibration import Calibration
from infimum.conformal.scores import score_named, score_to_dict
from infimum.content import check_seal, sealed
from infimum.documents import parse_json
from infimum.errors import InputError
from infimum.files import read_bytes, read_safetensors, write_bytes, write_safetensors
from infimum.ranges import checked, numbers_of, read_fields, shown
from infimum.records import check_schema

SCHEMA = "infimum/calibration/1"

KEYS = ("key_high", "key_low")
"""The two arrays (n,): scores, and what their rounding lost."""

FACTS = ("n_classes", "temperature", "randomize", "seed", "n_tuning", "notes")
"""Fields of a calibration that are written as they are."""


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write by the name's ending: .safetensors, else JSON."""
    if path.suffix not in (".json", ".safetensors"):
        raise InputError(f"{path}: the name of a calibration must end in .json or .safetensors")
    arrays = {
        "key_high": np.ascontiguousarray(calibration.keys.real),
        "key_low": np.ascontiguousarray(calibration.keys.imag),
    }
    facts = {name: getattr(calibration, name) for name in FACTS}
    content = sealed(
        {"schema": SCHEMA, "score": score_to_dict(calibration.score), "n": calibration.n, **facts, **arrays}
    )
    about = {name: value for name, value in content.items() if name not in KEYS}
    if path.suffix == ".safetensors":
        write_safetensors(path, arrays, {"infimum": json.dumps(about)})
    else:
        document = {**about, **{name: array.tolist() for name, array in arrays.items()}}
        write_bytes(path, json.dumps(document, allow_nan=False).encode())


def load_calibration(path: Path) -> Calibration:
    """Read either form, told apart by content; raises InputError naming what is wrong, or that it was changed."""
    try:
        if read_bytes(path, 1) == b"{":
            about = parse_json(read_bytes(path), "it")
            check_schema(about, SCHEMA)
            arrays = {name: numbers_of(about.pop(name, None), name) for name in KEYS}
        else:
            found, metadata = read_safetensors(path)
            about = parse_json(metadata.get("infimum", "null"), "its metadata")
            check_schema(about, SCHEMA)
            arrays = {name: _vector(found.get(name), name) for name in KEYS}
        check_seal({**about, **arrays})
        return _from_parts(about, arrays["key_high"], arrays["key_low"])
    except InputError as error:
        raise InputError(f"{path} is not a usable calibration: {error}") from error


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


def _from_parts(about: dict[str, Any], high: Array, low: Array) -> Calibration:
    facts = read_fields(Calibration, about, FACTS)
    if missing := {"score", "n"} - about.keys():
        raise InputError(f"it lacks {min(missing)!r}")
    if high.shape != low.shape or about["n"] != len(high):
        raise InputError(f"n is {shown(about['n'])}, but there are {len(high)} and {len(low)} scores")
    keys = np.empty(len(high), dtype=np.complex128)
    keys.real, keys.imag = high, low
    parameters = dict(checked(about["score"], dict[str, Any], "score"))
    score = score_named(checked(parameters.pop("name", None), str, "score.name"), **parameters)
    return Calibration(score=score, keys=keys, **facts)
