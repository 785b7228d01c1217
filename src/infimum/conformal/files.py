"""A calibration as one file: JSON, or safetensors for many rows. Neither can carry code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import check_positive, check_seed
from infimum.conformal.calibration import Calibration
from infimum.conformal.scores import score_named, score_to_dict
from infimum.documents import parse_json, read_json
from infimum.errors import InputError
from infimum.files import read_bytes, read_safetensors, write_bytes, write_safetensors

SCHEMA = "infimum/calibration/1"


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write by the name's ending: .safetensors, else JSON."""
    if path.suffix not in (".json", ".safetensors"):
        raise InputError(f"{path}: the name of a calibration must end in .json or .safetensors")
    about = {
        "schema": SCHEMA,
        "score": score_to_dict(calibration.score),
        "n": calibration.n,
        "n_classes": calibration.n_classes,
        "temperature": calibration.temperature,
        "randomize": calibration.randomize,
        "seed": calibration.seed,
        "n_tuning": calibration.n_tuning,
        "notes": list(calibration.notes),
    }
    high, low = calibration.keys.real, calibration.keys.imag
    if path.suffix == ".safetensors":
        arrays = {"key_high": np.ascontiguousarray(high), "key_low": np.ascontiguousarray(low)}
        write_safetensors(path, arrays, {"infimum": json.dumps(about)})
    else:
        document = {**about, "key_high": high.tolist(), "key_low": low.tolist()}
        write_bytes(path, json.dumps(document, allow_nan=False).encode())


def load_calibration(path: Path) -> Calibration:
    """Read either form, told apart by content; raises InputError naming what is wrong."""
    arrays: Mapping[str, Any]
    if read_bytes(path, 1) == b"{":
        about = arrays = read_json(path)
    else:
        arrays, metadata = read_safetensors(path)
        about = parse_json(metadata.get("infimum", "{}"), f"the metadata of {path}")
    try:
        return _from_parts(about, arrays["key_high"], arrays["key_low"])
    except InputError as error:
        raise InputError(f"{path} is not a usable calibration: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a calibration written by infimum ({error!r})") from error


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


def _from_parts(about: dict[str, Any], high: Any, low: Any) -> Calibration:
    if about["schema"] != SCHEMA:
        raise InputError(f"schema is {about['schema']!r}, this version reads {SCHEMA!r}")
    high, low = np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64)
    if high.ndim != 1 or high.shape != low.shape or len(high) < 2:
        raise InputError("its scores are not two equally long lists of at least 2 numbers")
    keys = np.empty(len(high), dtype=np.complex128)
    keys.real, keys.imag = high, low
    if not np.isfinite(keys).all():
        raise InputError("a score is not finite")
    if about["n"] != len(high):
        raise InputError(f"n is {about['n']!r}, but it holds {len(high)} scores")
    if not isinstance(about["randomize"], bool):
        raise InputError(f"randomize is {about['randomize']!r}, not true or false")
    if (
        not isinstance(about["n_tuning"], int)
        or about["n_tuning"] < 0
        or not isinstance(about["notes"], list)
    ):
        raise InputError("n_tuning or notes are damaged")
    n_classes = about["n_classes"]
    if not isinstance(n_classes, int) or n_classes < 2:
        raise InputError(f"n_classes is {n_classes!r}")
    parameters = dict(about["score"])
    score = score_named(parameters.pop("name"), **parameters)
    return Calibration(
        score=score,
        keys=np.sort(keys),
        n_classes=n_classes,
        temperature=check_positive(about["temperature"], "temperature"),
        randomize=score.has_random_form and about["randomize"],
        seed=check_seed(about["seed"]),
        n_tuning=about["n_tuning"],
        notes=tuple(str(note) for note in about["notes"]),
    )
