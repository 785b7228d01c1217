"""infimum.toml: what `infimum check` is to hold of which networks."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from infimum._checks import exact_fraction
from infimum._grammar import Registry
from infimum.bounds._judges import JUDGES
from infimum.bounds._label_errors import LabelErrors
from infimum.conformal._options import LEVELS
from infimum.conformal._scores import SCORES
from infimum.errors import InputError
from infimum.identity.rows import Identity
from infimum.io.documents import read_toml
from infimum.manifold._options import MANIFOLDS
from infimum.manifold._stopping import SAMPLINGS

Kind = tuple[type, ...]

TEXT: Kind = (str,)
NUMBER: Kind = (int, float)
WHOLE: Kind = (int,)

KIND_WORDS = {TEXT: "text", NUMBER: "a number", WHOLE: "a whole number"}

TOP: dict[str, Kind | None] = {"out": TEXT, "junit": TEXT, "ignore": None, "method": None, "network": None}

NETWORK: dict[str, Kind | None] = {
    "name": TEXT,
    "calibration": TEXT,
    "operation": TEXT,
    "tuning": TEXT,
    "head": TEXT,
    "manifold_data": TEXT,
    "target": NUMBER,
    "confidence": NUMBER,
    "baseline": TEXT,
    "tolerance": NUMBER,
    "alike": TEXT,
    "label_errors": (int, float, str),
}

METHOD: dict[str, Kind | None] = {
    "method": TEXT,
    "identity": TEXT,
    "score": TEXT,
    "levels": TEXT,
    "manifold": TEXT,
    "sampling": TEXT,
    "seed": WHOLE,
}

REGISTRIES: dict[str, Registry[Any]] = {
    "method": JUDGES,
    "score": SCORES,
    "levels": LEVELS,
    "manifold": MANIFOLDS,
    "sampling": SAMPLINGS,
}
"""Who reads the texts of [method]: the same as on the command line."""

SUMMARY = "summary.md"
"""What the gates of all networks are written to, in `out`."""

FILES = ("calibration", "operation", "tuning", "head", "manifold_data", "baseline")


@dataclass(frozen=True)
class NetworkEntry:
    """One network: its files, resolved, and what must hold of it."""

    name: str
    files: Mapping[str, Path]
    target: float | None = None
    confidence: float = 0.95
    tolerance: float | None = None
    alike: Literal["test", "require"] = "test"
    label_errors: LabelErrors = field(default_factory=LabelErrors)


@dataclass(frozen=True)
class CheckFile:
    """The networks to check, the common options of the method, and where reports go (None: nowhere)."""

    networks: tuple[NetworkEntry, ...]
    method: Mapping[str, Any] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    out: Path | None = None
    junit: Path | None = None


def load_check_file(path: str | Path) -> CheckFile:
    """Read a check file; the paths in it are relative to its folder, and reports stay inside that folder.

    Raises InputError naming the file, the table and the key that is unknown (with the closest known one), of a
    wrong kind or missing.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory; name the TOML file in it, as {path / 'infimum.toml'}")
    document = read_toml(path)
    folder = path.resolve().parent
    _known(document, TOP, str(path))
    entries = document.get("network", [])
    method = document.get("method", {})
    if not isinstance(entries, list) or not entries or not all(isinstance(e, dict) for e in entries):
        raise InputError(f"{path} names no network; begin each with a line [[network]]")
    if not isinstance(method, dict):
        raise InputError(f"{path}: method must be a table; begin it with a line [method]")
    _known(method, METHOD, f"{path}: [method]")
    if method.get("identity", "ids") not in get_args(Identity):
        raise InputError(
            f"{path}: [method]: identity must be {' or '.join(get_args(Identity))}, not {method['identity']!r}"
        )
    for key, registry in REGISTRIES.items():
        if key in method:
            try:
                registry.read(method[key])
            except InputError as error:
                raise InputError(f"{path}: [method]: {error}") from error
    networks = tuple(_entry(entry, number, folder, path) for number, entry in enumerate(entries, 1))
    folded = [e.name.casefold().rstrip(". ") for e in networks]
    again = next((e.name for i, e in enumerate(networks) if folded[i] in folded[:i]), None)
    if again is not None:
        raise InputError(
            f"{path}: two networks are named {again!r}, or alike but for capitals: their reports would share a folder"
        )
    out, junit = (_inside(document.get(key), key, folder, path) for key in ("out", "junit"))
    for entry in networks:
        baseline = entry.files.get("baseline")
        if out is not None and baseline is not None and baseline.resolve().is_relative_to(out / entry.name):
            # The bound could then fall by the tolerance with every run.
            raise InputError(
                f"{path}: the baseline of {entry.name!r} lies where its new assessment is written; keep the released "
                "one elsewhere"
            )
    return CheckFile(networks, method, _codes(document.get("ignore", []), path), out, junit)


def _codes(given: Any, path: Path) -> frozenset[str]:
    """Codes of findings that are not to be told; whether there are such, the command says."""
    if not isinstance(given, list) or not all(isinstance(code, str) for code in given):
        raise InputError(f'{path}: ignore must be a list of codes, as ["not-alike"], not {_shown(given)}')
    return frozenset(given)


def _entry(entry: dict[str, Any], number: int, folder: Path, path: Path) -> NetworkEntry:
    where = f"{path}: network {number}"
    _known(entry, NETWORK, where)
    for key in ("name", "calibration", "operation"):
        if key not in entry:
            raise InputError(f"{where} has no {key}")
    name = entry["name"]
    where = f"{path}: network {name!r}"
    # Its reports go to a folder of this name.
    if (
        not name.strip()
        or name != Path(name).name
        or name in (".", "..", SUMMARY)
        or "\\" in name
        or not name.isprintable()
        or len(name) > 100
    ):
        raise InputError(
            f"{where}: the name must be usable as a folder's: 1 to 100 letters, no / or \\, not {SUMMARY}"
        )
    if "target" not in entry and "baseline" not in entry:
        raise InputError(f"{where} has neither target nor baseline: there is nothing to check")
    if ("baseline" in entry) != ("tolerance" in entry):
        raise InputError(f"{where}: baseline and tolerance go together (by how much the bound may fall)")
    for key, inside in (("target", True), ("confidence", True), ("tolerance", False)):
        if key in entry:
            exact_fraction(entry[key], f"{where}: {key}", inside=inside)
    if entry.get("alike", "test") not in ("test", "require"):
        raise InputError(f"{where}: alike must be test or require, not {_shown(entry['alike'])}")
    try:
        label_errors = LabelErrors.of(entry.get("label_errors"))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return NetworkEntry(
        name=name,
        files={key: folder / entry[key] for key in FILES if key in entry},
        target=entry.get("target"),
        confidence=entry.get("confidence", 0.95),
        tolerance=entry.get("tolerance"),
        alike=entry.get("alike", "test"),
        label_errors=label_errors,
    )


def _known(table: Mapping[str, Any], known: Mapping[str, Kind | None], where: str) -> None:
    """Raise unless every key is known and its value of the right kind."""
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key[:60], known, n=1, cutoff=0.0)
            raise InputError(
                f"{where}: unknown key {_shown(key)}; did you mean {near[0]!r}? Known: {', '.join(known)}"
            )
        kind = known[key]
        if kind is not None and (
            not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind)
        ):
            wanted = KIND_WORDS.get(kind, "a number or text")
            raise InputError(f"{where}: {key} must be {wanted}, not {_shown(value)}")
        if isinstance(value, str) and "\0" in value:
            raise InputError(f"{where}: {key} holds a NUL character: {_shown(value)}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:  # what TOML promises to hold
            raise InputError(f"{where}: {key} must lie between -2^63 and 2^63 - 1, not {_shown(value)}")


def _shown(value: object) -> str:
    """A value as it is written, its beginning where it is long."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python writes no number of many digits
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _inside(name: str | None, key: str, folder: Path, path: Path) -> Path | None:
    if name is None:
        return None
    place = (folder / name).resolve()
    if not place.is_relative_to(folder) or place == folder:
        raise InputError(f"{path}: {key} must lie inside the folder of the file, not at {name!r}")
    return place
