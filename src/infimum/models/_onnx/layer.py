"""The prediction layer of an ONNX graph: from the output back through softmax and constants to a linear layer.

That is a Gemm, a MatMul, or a 1x1 convolution: the same linear layer at each position of a map, which is then
averaged or of one position, so that it may change places with the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.models._onnx.graph import Graph, attributes, describe
from infimum.models._onnx.softmax import axes_of, written_softmax

PASSES = ("Identity", "Cast", "Dropout", "Flatten", "Reshape", "Squeeze")
"""Operators that leave the values of their first input as they are, when the network is used."""

ENDS = ("Softmax", "LogSoftmax", "Sigmoid")

LAYERS = ("Gemm", "MatMul", "Conv")


@dataclass(frozen=True, eq=False)
class Linear:
    """The prediction layer: `node` reads the tensor `features`; `weight` (K, d) and `bias` (K,) give the logits."""

    node: Any
    features: str
    weight: Array
    bias: Array


@dataclass(frozen=True)
class End:
    """The tensor `logits`, which of `ENDS` follows ("" if none does), and what that gives if it is `written` out."""

    logits: str
    kind: str = ""
    written: str = ""


def logits_of(graph: Graph, output: str) -> End:
    """Where the logits of an output are, and what follows them."""
    name = output
    while (node := graph.producer.get(name)) is not None:
        if node.op_type in ENDS:
            if node.op_type != "Sigmoid" and attributes(node).get("axis", -1) not in (-1, 1):
                break
            return End(node.input[0], node.op_type)
        if (written := written_softmax(graph, node)) is not None:
            return End(*written, written=node.output[0])
        if node.op_type not in (*PASSES, "Log", "Clip"):
            break
        name = node.input[0]
    return End(output)


def linear_of(graph: Graph, logits: str) -> Linear | str:
    """The layer that the logits are an affine function of, or why there is none."""
    scale, shift, name, averaged = np.ones(1), np.zeros(1), logits, ""
    while (node := graph.producer.get(name)) is not None:
        if node.op_type in PASSES or _averages(graph, node):
            averaged = averaged if node.op_type in PASSES else describe(node)
            name = node.input[0]
            continue
        if node.op_type in LAYERS:
            if averaged and node.op_type != "Conv":
                return f"the output of {describe(node)} is averaged by {averaged}"
            found = layer_at(graph, node)
            return found if isinstance(found, str) else _rescaled(found, scale, shift)
        step = _affine(graph, node)
        if step is None:
            return (
                f"the output comes from {describe(node)}, not from a Gemm, MatMul or 1x1 Conv with constant "
                "weights"
            )
        name, factor, term = step
        shift = shift + scale * term
        scale = scale * factor
    return "the output is an input of the network, with no linear layer before it"


def layers_of(graph: Graph) -> list[Any]:
    """All Gemm, MatMul and 1x1 Conv nodes with constant weights."""
    return [n for n in graph.graph.node if n.op_type in LAYERS and not isinstance(layer_at(graph, n), str)]


def find_layer(graph: Graph, layer: str) -> Any:
    """A linear layer by its name, its output or its weight ("fc" is found as "fc.weight"); InputError if none."""
    layers = layers_of(graph)
    for node in layers:
        if layer in (node.name, node.output[0], node.input[1], node.input[1].removesuffix(".weight")):
            return node
    known = ", ".join(node.name or node.output[0] for node in layers) or "none"
    raise InputError(f"head_layer {layer!r} is not a layer of the network; its linear layers are: {known}")


def layer_at(graph: Graph, node: Any) -> Linear | str:
    """A Gemm, MatMul or 1x1 Conv as a layer, or why it is none that can be read."""
    weight, options = graph.constant(node.input[1]), attributes(node)
    if weight is None or (weight.ndim != 2 and node.op_type != "Conv"):
        return f"the weights of {describe(node)} are not constant, or not a matrix"
    if options.get("transA", 0):
        return f"{describe(node)} reads its features transposed"
    if node.op_type == "Conv":
        moves = {*options.get("strides", ()), options.get("group", 1), weight[0, 0].size} != {1}
        if moves or any(options.get("pads", ())):
            return f"{describe(node)} is a convolution that mixes or leaves out positions, not a 1x1 one"
        rows = weight.reshape(len(weight), -1)
    else:
        rows = weight if options.get("transB", 0) else weight.T
    # Neither a MatMul nor a Conv has alpha and beta, and the defaults are what they do.
    with np.errstate(invalid="ignore"):  # a NaN that signals; the head says where it is
        rows = rows.astype(np.float64) * options.get("alpha", 1.0)
    bias = np.zeros(len(rows))
    if len(node.input) > 2 and node.input[2]:
        value = graph.constant(node.input[2])
        if value is None or value.size not in (1, len(rows)):
            return f"the bias of {describe(node)} is not constant, or not one per class"
        bias = bias + options.get("beta", 1.0) * value.astype(np.float64).reshape(-1)
    return Linear(node, node.input[0], rows, bias)


def _averages(graph: Graph, node: Any) -> bool:
    """Whether a node averages a map (n, channels, ...) over its positions."""
    if node.op_type == "GlobalAveragePool":
        return True
    if node.op_type != "ReduceMean":
        return False
    axes = axes_of(graph, node)
    return axes is not None and not {0, 1} & set(axes)


def _affine(graph: Graph, node: Any) -> tuple[str, Array, Array] | None:
    """Of Add, Sub, Mul, Div with a constant (say a temperature): the other input, its factor and its term."""
    if node.op_type not in ("Add", "Sub", "Mul", "Div") or node.domain not in ("", "ai.onnx"):
        return None
    names = list(node.input)
    values = [_row(graph, name) for name in names]
    if values[1] is None and node.op_type in ("Add", "Mul"):
        names, values = names[::-1], values[::-1]
    value = values[1]
    if value is None or value.size != max(value.shape[-1:], default=1):
        return None
    c = value.astype(np.float64).reshape(-1)
    if node.op_type in ("Mul", "Div"):
        return names[0], c if node.op_type == "Mul" else 1 / c, np.zeros(1)
    return names[0], np.ones(1), c if node.op_type == "Add" else -c


def _row(graph: Graph, name: str) -> Array | None:
    """A constant, which may have been repeated for every input of the batch."""
    while (node := graph.producer.get(name)) is not None and node.op_type == "Expand":
        name = node.input[0]
    return graph.constant(name)


def _rescaled(layer: Linear, scale: Array, shift: Array) -> Linear | str:
    if max(scale.size, shift.size) > 1 and len(layer.weight) not in (scale.size, shift.size):
        return f"the constants after {describe(layer.node)} are not one per class"
    return Linear(
        layer.node,
        layer.features,
        layer.weight * scale.reshape(-1, 1),
        np.broadcast_to(layer.bias * scale + shift, len(layer.weight)).copy(),
    )
