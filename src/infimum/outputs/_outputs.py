"""Outputs: what a network said on one data set. The one currency between `models/` and everything else."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum._arrays import as_array
from infimum._checks import (
    SINGLE_COLUMN,
    Array,
    check_ids,
    check_kind,
    check_labels,
    check_logits,
    check_matrix,
    check_weights,
)
from infimum._text import listed
from infimum.errors import InputError
from infimum.io.files import array_names, read_arrays, write_npz, write_safetensors

logger = logging.getLogger("infimum")

PROBABILITIES = ("probabilities", "probs")
ABOUT_ROWS = ("labels", "features", "ids", "id_source", "input_hash")
"""What may be known of each input besides its logits."""

NAMES = ("logits", *PROBABILITIES, *ABOUT_ROWS, "class_names", "weights")


@dataclass(frozen=True, eq=False)
class Outputs:
    """Logits of n inputs and K classes, and what else is known of them.

    `logits` (n, K) finite, float16/32/64; `labels` (n,) whole numbers 0..K−1; `features` (n, d) what the
    prediction layer read; `ids` (n,), "" where an input has none; `class_names` (K,); `weights` (n,) an operational
    profile, none negative. `id_source` (n,): where ids are positions or relative paths, which source they hold in;
    `input_hash` (n,) of the raw input. Both are written by extraction (docs/method.md: who is the same input).
    `saturated` counts rows given as probabilities of which one was exactly 1: the order of their scores is lost.
    `first_row`: where these rows are a block of more, the number of the first; errors name rows by it.
    Raises InputError for anything else.

    >>> import numpy as np
    >>> Outputs(logits=np.eye(2), labels=np.array([0, 1])).accuracy
    1.0
    """

    logits: Array
    labels: Array | None = None
    features: Array | None = None
    ids: Array | None = None
    class_names: Sequence[str] | Array | None = None
    weights: Array | None = None
    saturated: int = 0
    saturated_rows: Array | None = None
    name: str = "outputs"
    first_row: int = 0
    id_source: Array | None = None
    input_hash: Array | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        logits = check_logits(self.logits, f"{self.name}: logits", first_row=self.first_row)
        n, n_classes = logits.shape
        put(self, "logits", logits)
        if self.labels is not None:
            labels = check_labels(self.labels, n, n_classes, f"{self.name}: labels", self.first_row)
            put(self, "labels", labels)
        if self.features is not None:
            features = check_matrix(self.features, f"{self.name}: features", first_row=self.first_row)
            if len(features) != n:
                raise InputError(f"{self.name}: features has {len(features)} rows, but logits has {n}")
            put(self, "features", features)
        if self.ids is not None:
            put(self, "ids", check_ids(self.ids, f"{self.name}: ids", n))
        for name in ("id_source", "input_hash"):
            if (column := getattr(self, name)) is not None:
                put(self, name, check_ids(column, f"{self.name}: {name}", n))
        if self.class_names is not None:
            names = tuple(
                str(name) for name in as_array(self.class_names, f"{self.name}: class_names").reshape(-1)
            )
            if len(names) != n_classes:
                raise InputError(f"{self.name}: {len(names)} class_names for {n_classes} classes")
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise InputError(
                    f"{self.name}: class_names: {names.count(twice[0])} classes are named {twice[0]!r}; give each "
                    "another name"
                )
            put(self, "class_names", names)
        if self.weights is not None:
            put(self, "weights", check_weights(self.weights, n, f"{self.name}: weights"))

    def __len__(self) -> int:
        return len(self.logits)

    def taken(self, rows: Array | slice) -> Outputs:
        """Some of the rows, without weights: of a few rows they may be all zero."""
        saturated = np.zeros(0, dtype=np.int64)
        if self.saturated_rows is not None:
            saturated = np.flatnonzero(np.isin(np.arange(len(self))[rows], self.saturated_rows))
        about: dict[str, Any] = {
            name: None if (a := getattr(self, name)) is None else a[rows] for name in ABOUT_ROWS
        }
        return Outputs(
            logits=self.logits[rows],
            **about,
            class_names=self.class_names,
            saturated=len(saturated),
            saturated_rows=saturated,
            name=self.name,
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.logits.shape[1])

    @property
    def predicted(self) -> Array:
        """Predicted class of each input: argmax of the logits, ties to the lower index."""
        predicted: Array = self.logits.argmax(axis=1)
        return predicted

    @property
    def known_labels(self) -> Array:
        """The labels; InputError without them."""
        if self.labels is None:
            raise InputError(f"{self.name} has no 'labels': which class is right for each row is needed")
        return self.labels

    @property
    def correct(self) -> Array:
        """Whether each input is classified correctly; InputError without labels."""
        correct: Array = self.predicted == self.known_labels
        return correct

    @property
    def accuracy(self) -> float:
        """λ*: the (weighted) share of correct predictions (docs/method.md §1)."""
        return float(np.average(self.correct, weights=self.weights))

    @staticmethod
    def from_probabilities(probabilities: Any, **others: Any) -> Outputs:
        """Outputs of a network that gives probabilities (n, K); they become log-probabilities.

        A 0 is taken as the smallest positive number of its dtype. Rows must sum to 1 within 1e-3 (float16:
        1e-2) and are renormalised. Raises InputError otherwise, naming the row.

        >>> import numpy as np
        >>> Outputs.from_probabilities(np.array([[1.0, 0.0], [0.5, 0.5]])).saturated
        1
        """
        name = others.get("name", "outputs")
        logits, saturated_rows = log_probabilities(
            probabilities, f"{name}: probabilities", others.get("first_row", 0)
        )
        return Outputs(logits=logits, saturated=len(saturated_rows), saturated_rows=saturated_rows, **others)

    @staticmethod
    def load(path: str | Path, name: str | None = None) -> Outputs:
        """Read npz, safetensors or Parquet holding `logits` or `probabilities`, and optionally the other names.

        Raises InputError naming the file and, if the needed array is missing, those that are there.
        """
        path = Path(path)
        arrays = read_arrays(path, NAMES)
        name = str(path) if name is None else name
        given = [key for key in ("logits", *PROBABILITIES) if key in arrays]
        if not given:
            there = listed(array_names(path))
            raise InputError(f"{name} has no 'logits' and no 'probabilities'; it holds: {there}")
        logger.info("read %r: %s", str(path), ", ".join(f"{k} {v.shape}" for k, v in arrays.items()))
        others = {k: arrays.get(k) for k in (*ABOUT_ROWS, "class_names", "weights")}
        if given[0] == "logits":
            return Outputs(logits=arrays["logits"], name=name, **others)  # type: ignore[arg-type]
        return Outputs.from_probabilities(arrays[given[0]], name=name, **others)

    def save(self, path: str | Path) -> None:
        """Write to npz, safetensors or Parquet (by the name's ending), replaced in one move."""
        arrays = {
            key: np.asarray(getattr(self, key))
            for key in ("logits", *ABOUT_ROWS, "class_names", "weights")
            if getattr(self, key) is not None
        }
        suffix = Path(path).suffix
        if suffix == ".npz":
            write_npz(path, arrays)
        elif suffix == ".safetensors":
            text = [key for key, array in arrays.items() if array.dtype.kind not in "fiub"]
            if text:
                raise InputError(f"safetensors cannot hold text ({', '.join(text)}); write .npz or .parquet")
            write_safetensors(path, arrays, {})
        elif suffix == ".parquet":
            from infimum.io.parquet import write_parquet

            write_parquet(path, arrays)
        else:
            raise InputError(f"{path}: the name must end in .npz, .safetensors or .parquet")


def check_outputs(outputs: Any, what: str) -> Outputs:
    """Raise InputError unless this is Outputs: not an array, a pair of arrays or the path of a file."""
    check_kind(outputs, Outputs, what, "Outputs, for example Outputs(logits, labels)")
    return outputs  # type: ignore[no-any-return]


def check_one_network(calibration: Outputs, operation: Outputs) -> None:
    """Raise InputError unless both are Outputs of the same classes in the same order."""
    check_outputs(calibration, "calibration")
    check_outputs(operation, "operation")
    if operation.n_classes != calibration.n_classes:
        raise InputError(
            f"calibration has {calibration.n_classes} classes, operation has {operation.n_classes}: "
            "they are not outputs of one network"
        )
    names = (calibration.class_names, operation.class_names)
    if names[0] is not None and names[1] is not None and tuple(names[0]) != tuple(names[1]):
        raise InputError(
            "class_names of calibration and operation differ, or stand in another order: "
            "the columns of their logits do not mean the same classes"
        )


def log_probabilities(
    probabilities: Any, what: str = "probabilities", first_row: int = 0
) -> tuple[Array, Array]:
    """Log-probabilities (n, K) in float64, renormalised, and the rows with a probability of exactly 1.

    Errors number rows from `first_row`.

    >>> import numpy as np
    >>> log_probabilities(np.array([[0.5, 0.5]]))[0].round(3).tolist()
    [[-0.693, -0.693]]
    """
    p = check_matrix(probabilities, what, first_row=first_row)
    if p.shape[1] == 1:
        raise InputError(f"{what} {SINGLE_COLUMN}")
    if p.dtype.kind != "f":
        p = p.astype(np.float64)
    smallest = float(np.finfo(p.dtype).smallest_subnormal)
    tolerance = 1e-2 if p.dtype == np.float16 else 1e-3
    logs = np.empty(p.shape, dtype=np.float64)
    saturated = []
    for start in range(0, len(p), size := max(1, 2**18 // p.shape[1])):
        block = p[start : start + size].astype(np.float64)
        total = block.sum(axis=1)
        # A thousandth more, so that .333 + .333 + .333, which is just above or below .999, is within .001 of 1.
        bad = np.flatnonzero((np.abs(total - 1) > 1.001 * tolerance) | (block < 0).any(axis=1))
        if len(bad):
            row = int(bad[0])
            hint = "; are these logits? name the array 'logits'" if block.min() < 0 or total[row] > 2 else ""
            raise InputError(
                f"{what}: row {first_row + start + row} sums to {total[row]:.9g} "
                f"(smallest entry {block[row].min():.3g}), but must hold numbers from 0 to 1 that sum to 1 within "
                f"{tolerance:g}{hint}"
            )
        saturated.append(start + np.flatnonzero((block == 1).any(axis=1)))
        np.log(np.maximum(block, smallest), out=block)
        logs[start : start + size] = block - np.log(np.maximum(total, smallest))[:, None]
    return logs, np.concatenate(saturated)
