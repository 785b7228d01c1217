"""The state of a sequential certificate in a file: JSON, replaced in one move, one writer at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infimum.bounds.base import check_confidence
from infimum.bounds.observations import check_bounded
from infimum.certification.certificate import Certificate
from infimum.certification.design import Design
from infimum.certification.labelled import Labelled
from infimum.certification.sequence import Sequence, check_same
from infimum.checks import Real, check_labels, check_weights, exact_fraction
from infimum.errors import InputError
from infimum.files import check_can_make, read_bytes, replace_file

SCHEMA = "infimum/sequence/1"


def add_to_state(
    path: str | Path,
    rows: Labelled,
    *,
    target: Real,
    confidence: Real = 0.95,
    name: str = "network",
    label_errors: Any = None,
) -> Certificate:
    """Add newly labelled rows to the state file (made if it is not there), and say what all rows so far certify.

    The file is replaced in one move after the bound is computed: a crash or Ctrl-C leaves the old state or the
    new one. Rows need ids; an id that is in the state already is refused, as are another network, target or
    confidence than those it was begun with. Runs at the same time wait for each other. `label_errors`: how many of
    all labels in the state may be wrong, or which share; said anew each time. Raises InputError.
    """
    path = Path(path)
    wanted = {
        "network": name,
        "target": float(exact_fraction(target, "target")),
        "confidence": check_confidence(confidence),
    }
    check_can_make(path)
    with one_at_a_time(path):
        state = load_sequence(path) if path.exists() else Sequence(**wanted)  # type: ignore[arg-type]
        check_same(state, wanted, str(path))
        grown = state.with_rows(rows)
        made = grown.certificate(label_errors)
        save_sequence(grown, path)
    return made


def save_sequence(state: Sequence, path: Path) -> None:
    """Write the state, on the disk before it takes the old one's place."""
    design = state.design
    document = {
        "schema": SCHEMA,
        "network": state.network,
        "target": state.target,
        "confidence": state.confidence,
        "n_classes": state.n_classes,
        "class_names": None if state.class_names is None else list(state.class_names),
        "batches": list(state.batches),
        "design": None
        if design is None
        else {
            "weights": design.weights.tolist(),
            "levels": None if design.levels is None else design.levels.tolist(),
            "stratum": design.stratum.tolist(),
        },
        "ids": list(state.ids),
        "correct": "".join("1" if right else "0" for right in state.correct.tolist()),
    }

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())

    replace_file(path, write)


def load_sequence(path: Path) -> Sequence:
    """Read a state; raises InputError naming what is wrong with it."""
    try:
        document = json.loads(read_bytes(path))
        return _from_dict(document)
    except InputError as error:
        raise InputError(f"{path} is not a usable state: {error}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a state written by infimum certify --sequential: no JSON") from error
    except KeyError as error:
        raise InputError(f"{path} is not a usable state: {error.args[0]} is missing") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is not a state written by infimum certify --sequential: an entry is of another kind"
        ) from error


def _from_dict(d: Any) -> Sequence:
    schema = d.get("schema") if isinstance(d, dict) else None
    if schema != SCHEMA:
        said = "it has no schema" if schema is None else f"schema is {schema!r}"
        raise InputError(f"{said}, this version reads {SCHEMA!r}")
    if not isinstance(d["ids"], list) or not isinstance(d["batches"], list):
        raise InputError("ids or batches is no list")
    ids, batches = tuple(str(i) for i in d["ids"]), tuple(d["batches"])
    correct = d["correct"]
    if not isinstance(correct, str) or set(correct) - {"0", "1"} or len(correct) != len(ids):
        raise InputError("correct is not one 0 or 1 for each id")
    if len(set(ids)) < len(ids):
        raise InputError("an id occurs twice")
    n_classes = d["n_classes"]
    if n_classes is not None and (not isinstance(n_classes, int) or n_classes < 2):
        raise InputError(f"n_classes is {n_classes!r}, a whole number from 2 was expected")
    if any(not isinstance(b, int) or b < 1 for b in batches) or sum(batches) != len(ids):
        raise InputError("batches do not add up to its rows")
    design = d["design"]
    if design is not None:
        weights = check_weights(design["weights"], len(design["weights"]), "weights")
        levels = design["levels"]
        design = Design(
            check_labels(design["stratum"], len(ids), len(weights), "stratum"),
            weights,
            None if levels is None else check_bounded(levels, "levels", n=len(weights)),
        )
    names = d["class_names"]
    return Sequence(
        network=str(d["network"]),
        target=float(exact_fraction(d["target"], "target")),
        confidence=check_confidence(d["confidence"]),
        ids=ids,
        correct=np.array([c == "1" for c in correct], dtype=bool),
        batches=batches,
        design=design,
        n_classes=n_classes,
        class_names=None if names is None else tuple(str(name) for name in names),
    )


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold the folder's lock while a file in it is read, changed and replaced.

    The system lets go of it when the process ends, however it ends, so no lock is ever left behind. Where there
    are no such locks (Windows) nothing is held.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        yield
        return
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
