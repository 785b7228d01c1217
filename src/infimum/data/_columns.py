"""Columns of an Arrow table as a network's inputs, labels and ids: numbers, tensors, nested lists, image bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import ID_NAMES, LABEL_NAMES, BadInputs, named
from infimum.data._images import MAX_BYTES, BadImageError, ImageOptions, stack_images
from infimum.errors import InputError
from infimum.io.documents import parse_json


@dataclass(frozen=True)
class Columns:
    """Which columns are what. `stacked`: the inputs are columns of single numbers, one matrix together."""

    inputs: tuple[str, ...]
    stacked: bool
    label: str | None
    identity: str | None


def find_columns(schema: Any, what: str) -> Columns:
    """Inputs are the columns beside label and id. Text columns count only where there are no others."""
    import pyarrow as pa

    if again := [name for name, times in Counter(schema.names).items() if times > 1]:
        raise InputError(f"{what} has two columns {again[0]!r}; rename or leave out one of them")
    label, identity = named(schema.names, LABEL_NAMES, what), named(schema.names, ID_NAMES, what)
    rest = [field for field in schema if field.name not in (label, identity)]
    solid = [field for field in rest if not _is_text(field.type)] or rest
    if not solid:
        raise InputError(f"{what} holds no inputs beside {', '.join(schema.names) or 'nothing'}")
    stacked = all(
        pa.types.is_integer(f.type) or pa.types.is_floating(f.type) or pa.types.is_boolean(f.type)
        for f in solid
    )
    return Columns(tuple(field.name for field in solid), stacked, label, identity)


def class_names_of(schema: Any) -> tuple[str, ...] | None:
    """Names of the classes, where the file came from Hugging Face `datasets` and says them."""
    try:
        document = parse_json(
            (schema.metadata or {})[b"huggingface"], "what Hugging Face says of the columns"
        )
        return names_in_features(document["info"]["features"])
    except (KeyError, TypeError, InputError):
        return None


def names_in_features(features: Any) -> tuple[str, ...] | None:
    """Names of the label's classes in a `features` document of Hugging Face `datasets`."""
    if not isinstance(features, dict):
        return None
    for name in LABEL_NAMES:
        names = features.get(name, {}).get("names") if isinstance(features.get(name), dict) else None
        if isinstance(names, list) and names:
            return tuple(map(str, names))
    return None


def read_columns(
    table: Any, columns: Columns, options: ImageOptions | None, bad: BadInputs, first: int, what: str
) -> tuple[Any, Array, Array | None, Array | None]:
    """Inputs, which rows were kept, labels and ids of a table; `first` is its first row's position."""
    keep = np.ones(len(table), dtype=bool)
    found: dict[str, Any] = {}
    for name in columns.inputs:
        column = table.column(name).combine_chunks()
        found[name] = (
            _images(column, options, bad, keep, first, f"{what}: {name}")
            if options is not None and is_image(column.type)
            else to_array(column, f"{what}: {name}", first)
        )
    inputs: Any
    if columns.stacked:
        inputs = np.stack([found[name] for name in columns.inputs], axis=1)
    elif len(found) == 1:
        inputs = _kept(next(iter(found.values())), keep, what)
    else:
        inputs = {name: _kept(value, keep, f"{what}: {name}") for name, value in found.items()}
    about = [
        None
        if name is None
        else to_array(table.column(name).combine_chunks(), f"{what}: {name}", first)[keep]
        for name in (columns.label, columns.identity)
    ]
    return inputs, np.flatnonzero(keep) + first, about[0], about[1]


def is_image(kind: Any) -> bool:
    """Bytes, or a struct that has them, as Hugging Face `datasets` stores images."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return any(field.name == "bytes" and _is_binary(field.type) for field in kind)
    return _is_binary(kind)


def to_array(column: Any, what: str, first: int = 0) -> Array:
    """Numbers (n,), text (n,), or tensors and nested lists of one shape (n, …)."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if isinstance(column, pa.FixedShapeTensorArray):
        _no_nulls(column, what, first)
        return np.asarray(column.to_numpy_ndarray())
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    shape = [len(column)]
    while (
        pa.types.is_list(column.type)
        or pa.types.is_large_list(column.type)
        or pa.types.is_fixed_size_list(column.type)
    ):
        _no_nulls(column, what, first)
        widths = (
            [column.type.list_size]
            if pa.types.is_fixed_size_list(column.type)
            else column.value_lengths().unique().to_pylist()
        )
        if len(widths) > 1:
            raise InputError(
                f"{what}: the lists differ in length ({min(widths)} to {max(widths)}); pad them to one"
            )
        shape.append(widths[0] if widths else 0)
        column = column.flatten()
    _no_nulls(column, what, first)
    if _is_text(column.type) or pa.types.is_dictionary(column.type):
        return np.asarray(column.to_pylist(), dtype=str).reshape(shape)
    if (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_boolean(column.type)
    ):
        return np.array(column.to_numpy(zero_copy_only=False)).reshape(shape)
    raise InputError(
        f"{what}: columns of type {column.type} are not read; numbers, lists of them, images or text are"
    )


def _images(
    column: Any, options: ImageOptions, bad: BadInputs, keep: Array, first: int, what: str
) -> dict[int, Array]:
    """Decoded images by row; rows that are bad are taken out of `keep`."""
    import pyarrow as pa

    data = column.field("bytes") if pa.types.is_struct(column.type) else column
    images = {}
    for row, value in enumerate(data):
        try:
            if not value.is_valid:
                raise BadImageError("it is missing (null); images outside the file are not followed")
            if len(value.as_buffer()) > MAX_BYTES:
                raise BadImageError(f"it has more bytes than the limit of {MAX_BYTES:,}")
            images[row] = options.decode(value.as_py())
        except BadImageError as error:
            bad.meet(f"{what}: row {first + row}", str(error))
            keep[row] = False
    return images


def _kept(values: Any, keep: Array, what: str) -> Array:
    if not isinstance(values, dict):
        return np.asarray(values[keep])
    rows = [row for row in values if keep[row]]
    if not rows:
        return np.empty((0,), np.float32)
    return np.asarray(
        stack_images([values[row] for row in rows], [f"{what}: image {row} of the batch" for row in rows])
    )


def _no_nulls(column: Any, what: str, first: int) -> None:
    if column.null_count:
        raise InputError(
            f"{what}: {column.null_count} of the values from row {first} on are missing (null); fill or drop them"
        )


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
