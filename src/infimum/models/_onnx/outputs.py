"""Which output of an ONNX graph holds the classes, where there are several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.models._onnx.graph import FLOATS, Graph, describe
from infimum.models._onnx.layer import Linear, linear_of, logits_of


def find_output(graph: Graph, named: Any, path: Path) -> str:
    """The output that holds the classes: the one that ends in a linear layer, or is named logits.

    `named` is the node of a layer that it must come from, or None. Raises InputError where there is none, or several.
    """
    floats = [
        value.name
        for value in graph.graph.output
        if value.type.tensor_type.elem_type in FLOATS and value.name in graph.producer
    ]
    if named is not None:
        floats = [name for name in floats if named in graph.between([], [name])[0]]
    if not floats:
        where = "" if named is None else f" after {describe(named)}"
        raise InputError(
            f"{path} has no output of floating-point numbers{where}; "
            f"its outputs are: {', '.join(value.name for value in graph.graph.output)}"
        )
    linear = [name for name in floats if isinstance(_layer(graph, name), Linear)] or floats
    chosen = [name for name in linear if "logits" in name.lower()]
    if not chosen:
        # An output that is not on the way to the layer's may be the classes too, whatever it ends in.
        way = graph.between([], linear)[0]
        chosen = linear + [
            n for n in floats if n not in linear and _is_matrix(graph, n) and graph.producer[n] not in way
        ]
    if named is not None:
        direct = [name for name in chosen if _reaches(graph, name, named)]
        chosen = direct or chosen
    if len(chosen) > 1:
        raise InputError(
            f"{path} has several outputs that may hold the classes ({', '.join(chosen)}); name the prediction "
            "layer of the right one (head_layer, --network head_layer=NAME)"
        )
    return str(chosen[0])


def is_half(graph: Graph, output: str) -> bool:
    """Whether an output is in float16."""
    return any(v.name == output and v.type.tensor_type.elem_type == 10 for v in graph.graph.output)


def _layer(graph: Graph, output: str) -> Linear | str:
    return linear_of(graph, logits_of(graph, output).logits)


def _is_matrix(graph: Graph, output: str) -> bool:
    """Whether an output may be one row (or number) per input: its shape says so, or nothing."""
    tensor = next(v.type.tensor_type for v in graph.graph.output if v.name == output)
    return not tensor.HasField("shape") or len(tensor.shape.dim) in (1, 2)


def _reaches(graph: Graph, output: str, node: Any) -> bool:
    layer = _layer(graph, output)
    return isinstance(layer, Linear) and layer.node is node
