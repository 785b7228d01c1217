"""The state of a sequential certificate in a file: JSON, replaced in one move, one writer at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Real, check_labels, check_weights, exact_fraction
from infimum.bounds._bound import check_confidence
from infimum.bounds._observations import check_bounded
from infimum.certification._certificate import Certificate
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._sequence import Sequence, check_same
from infimum.errors import InputError
from infimum.io.content import sealed
from infimum.io.places import check_can_make
from infimum.io.ranges import checked, must, numbers_of, read_fields
from infimum.io.records import read_sealed
from infimum.io.regular import LARGEST
from infimum.io.replacing import replace_file

SCHEMA = "infimum/sequence/1"

FIELDS = ("network", "target", "confidence", "n_classes", "class_names", "batches", "ids")
"""Fields of a sequence that are written as they are."""


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
        certificate = grown.certificate(label_errors)
        save_sequence(grown, path)
    return certificate


def save_sequence(state: Sequence, path: Path) -> None:
    """Write the state, on the disk before it takes the old one's place."""
    design = state.design
    document = {
        "schema": SCHEMA,
        **{name: getattr(state, name) for name in FIELDS},
        "design": None
        if design is None
        else {
            "weights": design.weights.tolist(),
            "levels": None if design.levels is None else design.levels.tolist(),
            "stratum": design.stratum.tolist(),
        },
        "correct": "".join("1" if right else "0" for right in state.correct.tolist()),
    }

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(sealed(document), file, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())

    replace_file(path, write)


def load_sequence(path: Path) -> Sequence:
    """Read a state; raises InputError naming what is wrong with it, or that it was changed."""
    document = read_sealed(path, SCHEMA, at_most=LARGEST)
    try:
        return _from_dict(document)
    except InputError as error:
        raise InputError(f"{path} is not a usable state: {error}") from error


def _from_dict(d: dict[str, Any]) -> Sequence:
    plain = read_fields(Sequence, d, FIELDS)
    if missing := {"correct", "design"} - d.keys():
        raise InputError(f"it lacks {min(missing)!r}")
    correct = checked(d["correct"], str, "correct")
    if set(correct) - {"0", "1"} or len(correct) != len(plain["ids"]):
        raise InputError("correct is not one 0 or 1 for each id")
    return Sequence(
        correct=np.array([c == "1" for c in correct], dtype=bool),
        design=None if d["design"] is None else _design(d["design"], len(correct)),
        **plain,
    )


def _design(d: Any, n: int) -> Design:
    must(
        isinstance(d, dict) and {"weights", "levels", "stratum"} == set(d),
        "weights, levels, stratum",
        d,
        "design",
    )
    weights = check_weights(numbers_of(d["weights"], "weights"), len(d["weights"]), "weights")
    levels = None if d["levels"] is None else numbers_of(d["levels"], "levels")
    return Design(
        check_labels(numbers_of(d["stratum"], "stratum"), n, len(weights), "stratum"),
        weights,
        None if levels is None else check_bounded(levels, "levels", n=len(weights)),
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
