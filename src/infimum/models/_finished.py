"""What a finished extraction's file says of itself: the settings it was made with, and its first rows.

The settings lie where other readers pass over them: in the comment of the zip file that an npz is, and in the
metadata of a safetensors file.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.content import CHECKSUM, check_seal, sealed
from infimum.io.documents import parse_json
from infimum.io.files import read_arrays, read_bytes
from infimum.io.lazily import map_npz
from infimum.io.parquet import SCHEMA
from infimum.io.ranges import Count, checked
from infimum.io.safetensors_file import open_safetensors

KEY = "infimum"
"""Of the settings in a safetensors file's metadata."""

_NOT_SETTINGS = {"complete", "schema", CHECKSUM, "rows", "read"}


def check_settings(place: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise InputError naming what differs between the settings that `place` was made with and those of now."""
    differing = [key for key in sorted({*old, *new} - _NOT_SETTINGS) if old.get(key) != new.get(key)]
    if differing:
        changes = "; ".join(_change(key, old.get(key), new.get(key)) for key in differing)
        raise InputError(
            f"{place} cannot be continued, it was begun with other settings ({changes}); remove it to begin anew"
        )


def _change(key: str, old: Any, new: Any) -> str:
    """A setting that changed; of files only that they did, their sizes and hashes say nothing to a reader."""
    if any("sha256 " in str(value) for value in (old, new)):
        return f"{key} was changed since, in content or time of change"
    return f"{key} was {old!r}, is {new!r}"


def as_text(manifest: Mapping[str, Any]) -> str:
    """The settings as they are written."""
    return json.dumps(sealed({**manifest, "schema": SCHEMA}), ensure_ascii=True)


def read_settings(path: Path) -> dict[str, Any] | None:
    """What `extract` wrote into a finished .npz or .safetensors; None for a file that is not there, or of others.

    Raises InputError where it is not as it was written.
    """
    if not path.is_file():
        return None
    if read_bytes(path, 2) == b"PK":
        try:
            with zipfile.ZipFile(path) as archive:
                text: str | bytes = archive.comment
        except (zipfile.BadZipFile, OSError):
            return None
    else:
        try:
            text = open_safetensors(path, set())[1].get(KEY, "")
        except InputError:
            return None
    try:
        document = parse_json(text, str(path))
    except InputError:
        return None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return None
    try:
        check_seal(document)
        for key in ("rows", "read"):
            checked(document.get(key), Count, key)
    except InputError as error:
        raise InputError(f"{path}: what infimum wrote of its settings: {error}") from error
    return document


def first_rows(path: Path, names: tuple[str, ...], n: int) -> dict[str, Array]:
    """The first `n` rows of the named arrays that a file of outputs holds, without reading the rest where it can."""
    if path.suffix == ".npz":
        arrays = map_npz(path)
        return {name: arrays[name][:n] for name in names if name in arrays}
    if path.suffix == ".safetensors":
        found, _ = open_safetensors(path, set(names))
        return {name: found[name][:n] for name in names if name in found}
    return {name: array[:n] for name, array in read_arrays(path, names).items()}
