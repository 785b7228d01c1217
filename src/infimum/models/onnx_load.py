"""Reading an ONNX file that others made: parsed without its external data, whose places are checked first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.files import check_fits, read_bytes

LARGEST = 2**31 - 1
"""Protobuf reads no message beyond this; larger models keep their weights as external data."""


def read_model(path: Path) -> Any:
    """The ModelProto of a file; its external data is not read, but all lies within the file's folder.

    Raises InputError for a missing, damaged or empty file and for external data outside the folder.
    """
    import onnx
    from google.protobuf.message import DecodeError

    if path.is_dir():
        raise InputError(f"{path} is a directory; an .onnx file was expected")
    start = read_bytes(path, 1)
    if (size := path.stat().st_size) > LARGEST:
        raise InputError(
            f"{path} has {size} bytes, more than the 2 GiB that an ONNX file can hold; save the model with "
            "external data: onnx.save(model, path, save_as_external_data=True)"
        )
    check_fits(size, path)
    try:
        model = onnx.load_model_from_string(read_bytes(path) if start else b"")
    except DecodeError as error:
        raise InputError(f"{path} is not an ONNX file, or is damaged or cut short ({error})") from error
    if not model.graph.node or not model.graph.output:
        raise InputError(f"{path} is not an ONNX file, or is empty: it holds no graph with nodes and outputs")
    folder = path.resolve().parent
    for tensor in _messages(model, "TensorProto"):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _check_external(tensor, folder, path)
    if len(model.functions):
        from onnx.inliner import inline_local_functions

        model = inline_local_functions(model)
    return model


def _messages(message: Any, kind: str) -> Iterator[Any]:
    """Every message of a kind, wherever it is: initialisers, attributes, subgraphs, functions, sparse tensors."""
    if message.DESCRIPTOR.name == kind:
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _messages(part, kind)


def _check_external(tensor: Any, folder: Path, path: Path) -> None:
    """Refuse external data outside the folder, or beyond the end of its file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"{path}: the external data of tensor {tensor.name!r}"
    place = (folder / location).resolve()
    # Backslashes and drive letters are paths on another system; resolve() has followed all symbolic links.
    written_safely = location and not Path(location).is_absolute() and ".." not in Path(location).parts
    if not written_safely or "\\" in location or ":" in location or not place.is_relative_to(folder):
        raise InputError(
            f"{what} lies at {location!r}, outside the model's folder {folder}; refused, since such a model can "
            "read any file. If you trust it, copy model and data (not links to them) into one folder"
        )
    if not place.is_file():
        raise InputError(
            f"{what} is missing: there is no file {location!r} in {folder}; copy it beside the model"
        )
    try:
        offset, length = int(entries.get("offset") or 0), int(entries.get("length") or 0)
    except ValueError as error:
        raise InputError(f"{what} has an offset or length that is not a whole number") from error
    if offset < 0 or length < 0 or offset + length > place.stat().st_size:
        raise InputError(
            f"{what} should be bytes {offset} to {offset + length} of {location!r}, which has "
            f"{place.stat().st_size} bytes: the file is cut short, or belongs to another model"
        )
