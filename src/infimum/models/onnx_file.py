"""An ONNX file, run with onnxruntime and cut at the input of its last Gemm, MatMul or 1x1 Conv."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.head import AnyHead, Head, HeadFunction
from infimum.models.adapter import Cut
from infimum.models.endings import HALF, as_rows, classifier_logits, two_classes
from infimum.models.onnx_graph import Graph, Linear, describe
from infimum.models.onnx_load import read_model
from infimum.models.onnx_session import session

FLOATS = (1, 10, 11)
"""ONNX's numbers of float32, float16 and float64: the types of outputs that can be read as logits."""


def cut_onnx(path: str | Path, head_layer: str | None = None, device: str = "cpu") -> Cut:
    """The network of an ONNX file, cut before its prediction layer; logits are those before a softmax.

    `head_layer` names a Gemm or MatMul (its node, output or weight) if the last one before the output is not
    meant; where more follows it, the head is a function. Of a 1x1 convolution the features are its input averaged
    over positions. `device` is "cpu" or "cuda". Batches are arrays
    (n, ...), or mappings of arrays by input name. A single output z, with or without a sigmoid, is read as
    logits [0, z]. External data is read from the file's folder only.

    Raises InputError for a damaged file, external data elsewhere, a layer or device that is not there, outputs
    that are no classifier's, and, when run, inputs that do not fit; MissingExtraError without onnxruntime.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading ONNX", "onnx") from error
    path = Path(path)
    graph = Graph(read_model(path), path.resolve().parent)
    named = None if head_layer is None else graph.find(head_layer)
    output = _output(graph, named, path)
    logits, end = graph.logits(output)
    layer = graph.linear(logits)
    if named is not None and named.op_type == "Conv" and (isinstance(layer, str) or layer.node is not named):
        raise InputError(
            f"head_layer {head_layer!r} is a convolution within the network, which reads maps, not features; "
            f"name a Gemm or MatMul {_candidates(graph)}"
        )
    node = named if named is not None else None if isinstance(layer, str) else layer.node
    features = None if node is None else node.input[0]
    run = session(graph, [value.name for value in graph.inputs()], logits, features, device, path)

    def read(values: Array) -> Array:
        return classifier_logits(values, str(path), end == "Sigmoid", known=bool(end) or node is not None)

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        found, *rest = run(inputs)
        if node is None or node.op_type != "Conv":
            return read(found), as_rows(rest[0]) if rest else None
        return read(found), rest[0].reshape(*rest[0].shape[:2], -1).mean(axis=2)

    head: AnyHead | None = None
    if isinstance(layer, Linear) and layer.node is node:
        weight, bias = two_classes(layer.weight, layer.bias)
        head = Head(weight, bias, name=f"{path}: {describe(node)}")
    elif node is not None:
        head = _head_function(graph, node, logits, read, device, path)
    batch = graph.inputs()[0].type.tensor_type.shape.dim[:1] if graph.inputs() else []
    return Cut(
        forward=forward,
        head=head,
        framework="ONNX",
        layer="" if node is None else describe(node),
        why_no_head="" if head is not None else f"{layer} {_candidates(graph)}",
        fixed_batch=batch[0].dim_value if batch and batch[0].dim_value > 0 else None,
        tolerance=HALF if _is_half(graph, output) else 0.0,
        probabilities=None if head is None and not end else False,
        may_draw=True,
    )


def _output(graph: Graph, named: Any, path: Path) -> str:
    """The output that holds the classes: the one that ends in a linear layer, or is named logits."""
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
    linear = [name for name in floats if isinstance(graph.linear(graph.logits(name)[0]), Linear)] or floats
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
            "layer of the right one (head_layer, --head-layer)"
        )
    return str(chosen[0])


def _is_matrix(graph: Graph, output: str) -> bool:
    """Whether an output may be one row (or number) per input: its shape says so, or nothing."""
    tensor = next(v.type.tensor_type for v in graph.graph.output if v.name == output)
    return not tensor.HasField("shape") or len(tensor.shape.dim) in (1, 2)


def _is_half(graph: Graph, output: str) -> bool:
    return any(v.name == output and v.type.tensor_type.elem_type == 10 for v in graph.graph.output)


def _reaches(graph: Graph, output: str, node: Any) -> bool:
    layer = graph.linear(graph.logits(output)[0])
    return isinstance(layer, Linear) and layer.node is node


def _candidates(graph: Graph) -> str:
    names = [node.name or node.output[0] for node in graph.layers()]
    return f"(linear layers elsewhere: {', '.join(names[-10:])})" if names else "(it has no linear layer)"


def _head_function(
    graph: Graph, node: Any, logits: str, read: Callable[[Array], Array], device: str, path: Path
) -> HeadFunction:
    """All that follows the input of `node`, as a function: for a head of several layers."""
    run = session(graph, [node.input[0]], logits, None, device, path)
    found = graph.layer(node)
    width = found.weight.shape[1] if isinstance(found, Linear) else 0

    def function(features: Array) -> Array:
        return read(run(features)[0])

    return HeadFunction(
        function, width, function(np.zeros((1, width))).shape[1], name=f"{path}: from {describe(node)} on"
    )
