"""Finding the prediction layer in an ONNX graph: from the output back through softmax and constants to a linear layer.

That is a Gemm, a MatMul, or a 1x1 convolution: the same linear layer at each position of a map, which is then
averaged or of one position, so that it may change places with the average.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError

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


class Graph:
    """Producers and constants of a graph by tensor name. `folder` holds the external data, checked before."""

    def __init__(self, model: Any, folder: Path) -> None:
        self.model = model
        self.graph = model.graph
        self.folder = folder
        self.producer = {name: node for node in self.graph.node for name in node.output if name}
        self.initializer = {tensor.name: tensor for tensor in self.graph.initializer}

    def inputs(self) -> list[Any]:
        """What the network is fed with; old files list their initialisers as inputs too."""
        return [value for value in self.graph.input if value.name not in self.initializer]

    def constant(self, name: str) -> Array | None:
        """The value of a constant tensor: an initialiser, or what a few operators make of one; None otherwise."""
        from onnx import numpy_helper

        if name in self.initializer:
            return np.asarray(numpy_helper.to_array(self.initializer[name], str(self.folder)))
        node = self.producer.get(name)
        if node is None or node.domain not in ("", "ai.onnx"):
            return None
        if node.op_type == "Constant":
            value = attributes(node).get("value", attributes(node).get("value_floats"))
            value = attributes(node).get("value_float") if value is None else value
            tensor = hasattr(value, "data_type")
            return (
                None
                if value is None
                else np.asarray(numpy_helper.to_array(value, str(self.folder)) if tensor else value)
            )
        if node.op_type not in ("Identity", "Cast", "Transpose", "DequantizeLinear"):
            return None
        values = [self.constant(part) for part in node.input]
        if any(value is None for value in values):
            return None
        first = np.asarray(values[0])
        if node.op_type == "Transpose":
            return first.transpose(attributes(node).get("perm"))
        if node.op_type == "DequantizeLinear":
            return _dequantize([np.asarray(value) for value in values], attributes(node))
        return first

    def logits(self, output: str) -> tuple[str, str]:
        """The tensor that holds the logits of an output, and which of `ENDS` follows it ("" if none does)."""
        name = output
        while (node := self.producer.get(name)) is not None:
            if node.op_type in ENDS:
                if node.op_type != "Sigmoid" and attributes(node).get("axis", -1) not in (-1, 1):
                    break
                return node.input[0], node.op_type
            if node.op_type not in (*PASSES, "Log", "Clip"):
                break
            name = node.input[0]
        return output, ""

    def linear(self, logits: str) -> Linear | str:
        """The layer that the logits are an affine function of, or why there is none."""
        scale, shift, name, averaged = np.ones(1), np.zeros(1), logits, ""
        while (node := self.producer.get(name)) is not None:
            if node.op_type in PASSES or self._averages(node):
                averaged = averaged if node.op_type in PASSES else describe(node)
                name = node.input[0]
                continue
            if node.op_type in LAYERS:
                if averaged and node.op_type != "Conv":
                    return f"the output of {describe(node)} is averaged by {averaged}"
                found = self.layer(node)
                return found if isinstance(found, str) else _rescaled(found, scale, shift)
            step = self._affine(node)
            if step is None:
                return (
                    f"the output comes from {describe(node)}, not from a Gemm, MatMul or 1x1 Conv with constant "
                    "weights"
                )
            name, factor, term = step
            shift = shift + scale * term
            scale = scale * factor
        return "the output is an input of the network, with no linear layer before it"

    def _averages(self, node: Any) -> bool:
        """Whether a node averages a map (n, channels, ...) over its positions."""
        if node.op_type == "GlobalAveragePool":
            return True
        if node.op_type != "ReduceMean":
            return False
        axes = self.constant(node.input[1]) if len(node.input) > 1 else attributes(node).get("axes")
        return axes is not None and np.size(axes) > 0 and not {0, 1} & set(np.ravel(axes).tolist())

    def _affine(self, node: Any) -> tuple[str, Array, Array] | None:
        """Of Add, Sub, Mul, Div with a constant (say a temperature): the other input, its factor and its term."""
        if node.op_type not in ("Add", "Sub", "Mul", "Div") or node.domain not in ("", "ai.onnx"):
            return None
        names = list(node.input)
        values = [self.constant(name) for name in names]
        if values[1] is None and node.op_type in ("Add", "Mul"):
            names, values = names[::-1], values[::-1]
        value = values[1]
        if value is None or value.size != max(value.shape[-1:], default=1):
            return None
        c = value.astype(np.float64).reshape(-1)
        if node.op_type in ("Mul", "Div"):
            return names[0], c if node.op_type == "Mul" else 1 / c, np.zeros(1)
        return names[0], np.ones(1), c if node.op_type == "Add" else -c

    def layer(self, node: Any) -> Linear | str:
        """A Gemm, MatMul or 1x1 Conv as a layer, or why it is none that can be read."""
        weight, options = self.constant(node.input[1]), attributes(node)
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
        rows = rows.astype(np.float64) * options.get("alpha", 1.0)
        bias = np.zeros(len(rows))
        if len(node.input) > 2 and node.input[2]:
            value = self.constant(node.input[2])
            if value is None or value.size not in (1, len(rows)):
                return f"the bias of {describe(node)} is not constant, or not one per class"
            bias = bias + options.get("beta", 1.0) * value.astype(np.float64).reshape(-1)
        return Linear(node, node.input[0], rows, bias)

    def layers(self) -> list[Any]:
        """All Gemm, MatMul and 1x1 Conv nodes with constant weights."""
        return [n for n in self.graph.node if n.op_type in LAYERS and not isinstance(self.layer(n), str)]

    def find(self, layer: str) -> Any:
        """A linear layer by its name, its output or its weight ("fc" is found as "fc.weight"); InputError if none."""
        layers = self.layers()
        for node in layers:
            if layer in (node.name, node.output[0], node.input[1], node.input[1].removesuffix(".weight")):
                return node
        known = ", ".join(node.name or node.output[0] for node in layers) or "none"
        raise InputError(
            f"head_layer {layer!r} is not a layer of the network; its linear layers are: {known}"
        )

    def between(self, given: Iterable[str], wanted: list[str]) -> tuple[list[Any], set[str]]:
        """The nodes that make `wanted`, in order, and what they read beside `given`: constants and inputs."""
        given, needed, nodes = set(given), set(wanted), []
        for node in reversed(self.graph.node):
            if needed.intersection(node.output) - given:
                nodes.append(node)
                needed.update(_reads(node))
        made = {name for node in nodes for name in node.output}
        return nodes[::-1], {name for name in needed - made - given if name}


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def describe(node: Any) -> str:
    """A node in a message."""
    return f"{node.op_type} {node.name or node.output[0]!r}"


def _rescaled(layer: Linear, scale: Array, shift: Array) -> Linear | str:
    if max(scale.size, shift.size) > 1 and len(layer.weight) not in (scale.size, shift.size):
        return f"the constants after {describe(layer.node)} are not one per class"
    return Linear(
        layer.node,
        layer.features,
        layer.weight * scale.reshape(-1, 1),
        np.broadcast_to(layer.bias * scale + shift, len(layer.weight)).copy(),
    )


def _dequantize(values: list[Array], options: dict[str, Any]) -> Array | None:
    """(x − zero point) × scale, one scale or one per slice of an axis; None for scales per block."""
    x, scale = values[0], values[1]
    zero = values[2] if len(values) > 2 else np.zeros((), x.dtype)
    if scale.size > 1:
        if scale.ndim != 1:
            return None
        shape = [1] * x.ndim
        shape[options.get("axis", 1)] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape) if zero.size > 1 else zero
    return (x.astype(np.float32) - zero.astype(np.float32)) * scale


def _reads(node: Any) -> set[str]:
    """The tensors that a node reads, also within the subgraphs of If, Loop and Scan."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            read = {name for inner in graph.node for name in _reads(inner)} | {v.name for v in graph.output}
            own = {name for inner in graph.node for name in inner.output}
            names |= read - own - {value.name for value in [*graph.input, *graph.initializer]}
    return names
