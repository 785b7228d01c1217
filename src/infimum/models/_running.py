"""Run a network over data, batch by batch: preprocessing, and labels that fit the network's classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import Batch, Data, count_rows
from infimum.errors import InputError
from infimum.io.hashing import input_hashes
from infimum.models._cut import CutNetwork
from infimum.outputs._outputs import Outputs

BATCH_SIZE = 64

Preprocess = Callable[[Any], Any]
"""A batch as read -> the array (or dict of arrays) that the network takes, row for row."""


def run(
    adapter: CutNetwork,
    data: Data,
    batch_size: int | None = None,
    preprocess: Preprocess | None = None,
    start: int = 0,
    first_row: int = 0,
) -> Iterator[tuple[int, Outputs | None]]:
    """After each batch the position reached and its outputs (None: every input of it was bad and skipped)."""
    row, n_classes = first_row, None
    for batch in prepared(data, choose_batch_size(adapter, batch_size), preprocess, start):
        made = next(adapter.stream([in_order(batch, adapter.cut.input_names, data.name)], row), None)
        if made is not None:
            _check_class_names(data, made.n_classes)
            if made.n_classes != (n_classes or made.n_classes):
                raise InputError(
                    f"the network gave {n_classes} classes for the inputs before row {row}, and {made.n_classes} from "
                    "there on; a classifier gives as many for every batch"
                )
            n_classes = made.n_classes
            row += len(made)
        yield batch.stop, made


def prepared(data: Data, size: int, preprocess: Preprocess | None, start: int = 0) -> Iterator[Batch]:
    """The data's batches as the network takes them; InputError where preprocessing changes the number of rows."""
    for batch in data.batches(size, start):
        if len(batch):
            batch = dataclasses.replace(batch, input_hash=input_hashes(batch.inputs))
        if preprocess is None or len(batch) == 0:
            yield batch
            continue
        try:
            inputs = preprocess(batch.inputs)
        except InputError:
            raise
        except Exception as error:  # anybody's code raises anything
            name = getattr(preprocess, "__name__", type(preprocess).__name__)
            raise InputError(f"preprocess {name!r} failed: {type(error).__name__}: {error}") from error
        rows = count_rows(inputs) if hasattr(inputs, "__len__") else None
        if rows != len(batch):
            got = f"{rows} rows" if rows is not None else f"a {type(inputs).__name__}"
            raise InputError(
                f"preprocess gave {got} for a batch of {len(batch)} inputs; it must return an array with one row "
                "per input"
            )
        yield dataclasses.replace(batch, inputs=inputs, columns=None)


def in_order(batch: Batch, names: tuple[str, ...], what: str) -> Batch:
    """A batch of named columns with those that the network was trained on, in their order.

    >>> batch = Batch(np.array([[1, 2, 3]]), np.arange(1), 1, columns=("width", "index", "length"))
    >>> in_order(batch, ("length", "width"), "the data").inputs.tolist()
    [[3, 1]]
    """
    if not names or batch.columns is None or batch.columns == names:
        return batch
    missing = [name for name in names if name not in batch.columns]
    if missing:
        raise InputError(
            f"{what} has no column {missing[0]!r}, which the model was trained on; it has "
            f"{', '.join(batch.columns[:10])}. Rename the columns, or pass an array (npz) in the model's order: "
            f"{', '.join(names[:10])}"
        )
    places = [batch.columns.index(name) for name in names]
    return dataclasses.replace(batch, inputs=batch.inputs[:, places], columns=names)


def choose_batch_size(adapter: CutNetwork, asked: int | None) -> int:
    """The size asked for, else the network's own if it takes only one, else 64."""
    if asked is not None and asked < 1:
        raise InputError(f"batch_size must be 1 or more, not {asked}")
    return asked or adapter.cut.fixed_batch or BATCH_SIZE


def join(parts: list[Outputs | None], data: Data) -> Outputs:
    """Outputs of all batches as one; InputError if there are none."""
    made = [part for part in parts if part is not None]
    if not made:
        raise InputError(f"{data.name} gave no inputs" + (f"; {len(data.bad)} were bad" if data.bad else ""))

    def joined(name: str) -> Array | None:
        known = [array for part in made if (array := getattr(part, name)) is not None]
        if known and len(known) < len(made):
            raise InputError(f"some batches have {name} and some have none; give them all {name}, or none")
        return np.concatenate(known) if known else None

    return Outputs(
        logits=np.concatenate([part.logits for part in made]),
        labels=joined("labels"),
        features=joined("features"),
        ids=joined("ids"),
        id_source=joined("id_source"),
        input_hash=joined("input_hash"),
        class_names=data.class_names,
        name=data.name,
    )


def _check_class_names(data: Data, n_classes: int) -> None:
    """Classes named by the data must be as many as the network's: another count means another numbering."""
    names = data.class_names
    if names is not None and len(names) != n_classes:
        raise InputError(
            f"{data.name} names {len(names)} classes ({', '.join(names[:5])}{', …' if len(names) > 5 else ''}) but "
            f"the network has {n_classes}, so its labels are not the network's; pass labels apart (a CSV, an .npy "
            'file), or none (labels="none"; extract --labels none, assess --labels operation=none)'
        )
