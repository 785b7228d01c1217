"""Which operation inputs to label next: drawn in strata of their levels, with what `certify` needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_seed
from infimum._streams import Stream
from infimum.bounds import allocate, strata
from infimum.certification._design import COLUMNS, sealed_table
from infimum.certification._draw import pool_of
from infimum.certification._labelled import filled_in, singular
from infimum.certification._planning import operation_levels
from infimum.conformal import Calibration
from infimum.errors import InputError
from infimum.identity.findings import ids_refuted, may_be_shared
from infimum.identity.hints import compared_raw, hinted
from infimum.identity.membership import told_by_ids
from infimum.identity.rows import Rows
from infimum.identity.shared import shared_rows
from infimum.io.csv_files import read_csv, write_csv
from infimum.io.faces import Shown
from infimum.io.files import read_arrays, write_npz
from infimum.io.findings import Finding, those
from infimum.outputs._outputs import Outputs


@dataclass(frozen=True, eq=False)
class Selection(Shown):
    """N operation inputs in random order, balanced over strata: those from the top down to any row are a sample too.

    `row` (N,) their rows in the operation, `id` (N,) their ids (rows where there are none), `predicted` (N,) class
    or its name, `level` (N,) expected success rate, `stratum` (N,), `sampling_probability` (N,) = n_s/N_s, and
    `stratum_weight` (N,) = N_s/N, `stratum_from` (N,) the level at which the stratum begins (0: the first). `operation`
    is what the operation is known by. `n_classes` where classes are numbers 0..n_classes − 1, not names. `findings` are
    for who selected.
    """

    id: Array
    row: Int[np.ndarray, " N"]
    predicted: Array
    level: Float[np.ndarray, " N"]
    stratum: Int[np.ndarray, " N"]
    sampling_probability: Float[np.ndarray, " N"]
    stratum_weight: Float[np.ndarray, " N"]
    stratum_from: Float[np.ndarray, " N"]
    operation: str
    n_classes: int | None = None
    findings: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        return len(self.row)

    def save(self, path: str | Path) -> None:
        """Write to .csv, with an empty column `label` to fill in, or .npz, to which `label` or `correct` is added.

        Each row holds its place (`order`), how many there are (`n_selected`), and the table's checksum, so that
        `certify` notices what is missing or changed.

        Raises InputError where `path` holds labels already, or is no selection.
        """
        path = Path(path)
        check_unlabelled(path)
        columns = {name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)}
        columns["operation"] = np.full(len(self), self.operation)
        columns["order"] = np.arange(1, len(self) + 1)
        columns["n_selected"] = np.full(len(self), len(self))
        if self.n_classes is not None:
            columns["n_classes"] = np.full(len(self), self.n_classes)
        columns = sealed_table(columns)
        if path.suffix == ".csv":
            write_csv(path, {**{k: v.tolist() for k, v in columns.items()}, "label": [""] * len(self)})
        elif path.suffix == ".npz":
            write_npz(path, columns)
        else:
            raise InputError(f"{path}: the name must end in .csv or .npz")


def select(
    operation: Outputs, calibration: Outputs | Calibration, n_labels: int, *, n_strata: int = 6, seed: int = 0
) -> Selection:
    """Draw `n_labels` operation inputs to label, at random within strata of their levels.

    Strata of equal Σ√(f(1−f)), Neyman's allocation with a floor (`bounds.strata`, `bounds.allocate`): more labels
    where errors are likely, some everywhere. Levels come from `calibration`, other labelled rows; wrong levels
    cost tightness, never validity. Same seed, same draw. Raises InputError for weights, calibration rows among
    the operation, or more labels than inputs.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(900, 3)) * 3
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> drawn = select(Outputs(z[300:]), Outputs(z[:300], y[:300]), 60)
    >>> len(drawn), float(np.sum(1 / drawn.sampling_probability).round(6))
    (60, 600.0)
    """
    seed = check_seed(seed)
    level = operation_levels(operation, calibration)
    if isinstance(n_labels, bool) or not isinstance(n_labels, int) or not 1 <= n_labels <= len(operation):
        raise InputError(
            f"n_labels must be a whole number from 1 to {len(operation)} (operation inputs), not {n_labels!r}"
        )
    told: list[Finding | None] = []
    if isinstance(calibration, Outputs):
        shared = shared_rows([Rows.of(calibration)], Rows.of(operation))
        if shared.n:
            raise InputError(
                f"{shared.n} operation inputs are calibration rows too; their labels are known and made the levels: "
                "leave them out of the operation"
            )
        told.append(ids_refuted(shared.refuted, "operation inputs", "a calibration row"))
        equal, raw = hinted(calibration, operation), compared_raw(calibration, operation)
        by_ids = told_by_ids(Rows.of(calibration), Rows.of(operation))
        told.append(may_be_shared(equal, len(operation), "operation inputs", raw, by_ids))
    if operation.ids is not None and len(np.unique(operation.ids.astype(str))) < len(operation):
        raise InputError("operation: an id occurs twice; what is labelled is known by its id")
    parts = strata(level, min(n_strata, n_labels))
    stratum = parts.assign(level)
    size = np.bincount(stratum, minlength=len(parts.weights))
    number = allocate(n_labels, parts.weights, parts.levels, available=size)

    rng = Stream.LABELS_TO_BUY.generator(seed)
    rows, place = [], []
    for s, n in enumerate(number.tolist()):
        rows.append(rng.permutation(np.flatnonzero(stratum == s))[:n])
        place.append((np.arange(n) + rng.random()) / n)
    drawn = np.concatenate(rows)[np.argsort(np.concatenate(place), kind="stable")]
    of = stratum[drawn]
    predicted = operation.predicted[drawn]
    return Selection(
        id=drawn if operation.ids is None else operation.ids[drawn],
        row=drawn,
        predicted=predicted
        if operation.class_names is None
        else np.asarray(operation.class_names, dtype=str)[predicted],
        level=level[drawn],
        stratum=of,
        sampling_probability=(number / size)[of],
        stratum_weight=(size / len(operation))[of],
        stratum_from=np.concatenate([[0.0], parts.edges])[of],
        operation=pool_of(operation),
        findings=those(told),
        n_classes=operation.n_classes if operation.class_names is None else None,
    )


def check_unlabelled(path: Path) -> None:
    """Raise InputError where the file at `path` is no selection, or one with labels, which cost too much to lose."""
    if not path.exists():
        return
    try:
        columns = read_csv(path) if path.suffix == ".csv" else read_arrays(path)
    except InputError as error:
        raise InputError(f"{path} is there and is no selection that may be replaced ({error})") from error
    if not {"row", *COLUMNS} <= columns.keys():
        raise InputError(f"{path} is there and is no selection; write to another file")
    written = singular(columns, str(path))
    for name in ("label", "correct"):
        if name in written and (n := int(filled_in(written[name]).sum())):
            raise InputError(
                f"{path} holds {n} labels in its column '{name}', which would be lost; write to another file, or "
                "move it away first"
            )
