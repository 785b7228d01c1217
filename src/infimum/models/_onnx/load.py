"""Reading an ONNX file that others made: parsed, checked, and its external data told apart from other files first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.io.files import read_bytes
from infimum.io.memory import check_fits
from infimum.models._onnx.external import check_external, is_external, read_external, tensors_of
from infimum.models._onnx.functions import without_functions

LARGEST = 2**31 - 1
"""Protobuf reads no message beyond this; larger models keep their weights as external data."""


def read_model(path: Path) -> Any:
    """The ModelProto of a file, without local functions and ZipMaps; external data of initialisers is not yet read.

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
    foreign = next((text for text in _texts(model) if isinstance(text, bytes)), None)
    if foreign is not None:
        raise InputError(f"{path} is damaged: its name {foreign[:40]!r} is not UTF-8")
    _settle_external(model, path)
    model = without_functions(model, path)
    _check_order(model.graph, path)
    _open_zipmaps(model.graph)
    return model


def reads(node: Any) -> set[str]:
    """The tensors that a node reads, also within the subgraphs of If, Loop and Scan."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            read = {name for inner in graph.node for name in reads(inner)} | {v.name for v in graph.output}
            own = {name for inner in graph.node for name in inner.output}
            names |= read - own - {value.name for value in [*graph.input, *graph.initializer]}
    return names


def _texts(message: Any) -> Iterator[str | bytes]:
    """Every text of a message and of those in it; protobuf gives as bytes what is not UTF-8."""
    for field, value in message.ListFields():
        single = isinstance(value, str | bytes) or hasattr(value, "ListFields")
        if field.message_type is not None:
            for part in [value] if single else value:
                yield from _texts(part)
        elif field.type == field.TYPE_STRING:
            yield from [value] if single else value


def _settle_external(model: Any, path: Path) -> None:
    """Check all external data, and read what is not an initialiser of the graph: constants and parts of subgraphs."""
    folder, graph = path.resolve().parent, model.graph
    # Several tensors may name the same bytes: together they must fit into memory too.
    check_fits(sum(check_external(t, folder, path) for t in tensors_of(model) if is_external(t)), path)
    elsewhere = [value for field, value in model.ListFields() if field.name != "graph"]
    elsewhere += [value for field, value in graph.ListFields() if field.name != "initializer"]
    for value in elsewhere:
        parts = [value] if hasattr(value, "ListFields") else value if hasattr(value, "append") else []
        for part in parts:
            for tensor in tensors_of(part) if hasattr(part, "ListFields") else ():
                if is_external(tensor):
                    tensor.CopyFrom(read_external(tensor, folder))


def _check_order(graph: Any, path: Path) -> None:
    """Each tensor is made once, and before it is read: all that follows a graph from node to node relies on it."""
    made_somewhere = {name for node in graph.node for name in node.output if name}
    made: set[str] = set()
    for node in graph.node:
        early = sorted((reads(node) & made_somewhere) - made)
        outputs = [name for name in node.output if name]
        if early or made.intersection(outputs) or len(set(outputs)) < len(outputs):
            what = f"reads {early[0]!r} before it is made" if early else f"makes {outputs[0]!r} once more"
            raise InputError(
                f"{path} is damaged, or not in order: its node {node.op_type} {node.name!r} {what}"
            )
        made.update(outputs)


def _open_zipmaps(graph: Any) -> None:
    """Outputs that are maps from class to score, which skl2onnx makes by default, become the matrix of the scores."""
    from onnx import TensorProto, helper

    maps = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "ZipMap"}
    outputs = {value.name for value in graph.output}
    for index in reversed(range(len(graph.output))):
        matrix = maps.get(graph.output[index].name)
        if matrix in outputs:
            del graph.output[index]
        elif matrix is not None:
            graph.output[index].CopyFrom(helper.make_tensor_value_info(matrix, TensorProto.FLOAT, None))
            outputs.add(matrix)
