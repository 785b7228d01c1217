"""External data of an ONNX file: which bytes of which file a tensor's values are, checked, then read in one piece.

Neither onnx nor onnxruntime opens these files: what is read is what was checked, and a file that is changed or cut
while the network runs is no matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError

_NUMBER = re.compile(r"[0-9]{1,18}")
"""An offset or a length; Python's int() would also take "8_6", " 8" and digits of other scripts."""

_BITS = {
    **dict.fromkeys(("UINT2", "INT2"), 2),
    **dict.fromkeys(("UINT4", "INT4", "FLOAT4E2M1"), 4),
    **dict.fromkeys(("UINT8", "INT8", "BOOL", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ"), 8),
    **dict.fromkeys(("FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0"), 8),
    **dict.fromkeys(("UINT16", "INT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("UINT32", "INT32", "FLOAT"), 32),
    **dict.fromkeys(("UINT64", "INT64", "DOUBLE", "COMPLEX64"), 64),
    "COMPLEX128": 128,
}
"""Bits of a number of ONNX's types, as external data hold them."""

_OUTSIDE = (
    "outside the model's folder {}; refused, since such a model can read any file. If you trust it, copy model and "
    "data (not links to them) into one folder"
)


def tensors_of(message: Any) -> Iterator[Any]:
    """Every tensor of a model, wherever it is: initialisers, attributes, subgraphs, functions, sparse tensors."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from tensors_of(part)


def is_external(tensor: Any) -> bool:
    """Whether a tensor's values lie in another file."""
    return bool(tensor.data_location == tensor.EXTERNAL)


def check_external(tensor: Any, folder: Path, path: Path) -> int:
    """Refuse external data outside the folder, of another size than the tensor's, or beyond the end of its file.

    Returns how many bytes they are.
    """
    location, offset, length = _entries(tensor, path)
    what = f"{path}: the external data of tensor {tensor.name!r}"
    # Backslashes and drive letters are paths on another system.
    written_safely = location.isprintable() and not Path(location).is_absolute() and location not in ("", ".")
    if not written_safely or ".." in Path(location).parts or "\\" in location or ":" in location:
        raise InputError(f"{what} lies at {location!r}, {_OUTSIDE.format(folder)}")
    place = folder / location
    # resolve() follows all symbolic links; a hard link does not show where else its file lies.
    if not Path(os.path.realpath(place)).is_relative_to(folder):
        raise InputError(f"{what} lies at {location!r}, {_OUTSIDE.format(folder)}")
    if not os.path.isfile(place):
        raise InputError(
            f"{what} is missing: there is no file {location!r} in {folder}; copy it beside the model"
        )
    if (status := place.stat()).st_nlink > 1:
        raise InputError(
            f"{what} lies in {location!r}, which is a hard link and so may be any file; refused. If you trust it, put "
            "a copy in its place"
        )
    needed = _bytes_needed(tensor, what)
    if length is not None and length != needed:
        raise InputError(f"{what} is said to have {length} bytes, but its shape and type need {needed}")
    if offset + needed > status.st_size:
        raise InputError(
            f"{what} should be bytes {offset} to {offset + needed} of {location!r}, which has {status.st_size} bytes: "
            "the file is cut short, or belongs to another model"
        )
    return needed


def read_external(tensor: Any, folder: Path) -> Any:
    """A checked tensor with its values in it."""
    location, offset, _ = _entries(tensor, folder)
    place = folder / location
    needed = _bytes_needed(tensor, str(place))
    try:
        with open(place, "rb") as file:
            file.seek(offset)
            data = file.read(needed)
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from error
    if len(data) != needed:
        raise InputError(f"{place} was cut short while it was read")
    filled = type(tensor)(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    filled.raw_data = data
    return filled


def _entries(tensor: Any, path: Path) -> tuple[str, int, int | None]:
    """Location, offset, and length (None: not said), of which the last two must be whole numbers."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    numbers = []
    for key in ("offset", "length"):
        text = entries.get(key)
        if text is not None and not _NUMBER.fullmatch(text):
            raise InputError(
                f"{path}: the external data of tensor {tensor.name!r} has the {key} {text[:20]!r}, which is not a "
                "whole number; the file is damaged"
            )
        numbers.append(None if text is None else int(text))
    return entries.get("location", ""), numbers[0] or 0, numbers[1]


def _bytes_needed(tensor: Any, what: str) -> int:
    """Bytes of a tensor's values, by its shape and type."""
    from onnx import TensorProto

    kinds = TensorProto.DataType
    name = kinds.Name(tensor.data_type) if tensor.data_type in kinds.values() else ""
    bits = _BITS.get(name)
    if bits is None or any(size < 0 for size in tensor.dims):
        raise InputError(
            f"{what} has type {name or tensor.data_type} and shape {list(tensor.dims)}: it is damaged"
        )
    numbers = 1
    for size in tensor.dims:
        numbers *= size
    return (numbers * bits + 7) // 8
