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
from infimum.models.onnx_external import is_external, read_external
from infimum.models.onnx_load import reads
from infimum.models.onnx_softmax import axes_of, written_softmax

PASSES = ("Identity", "Cast", "Dropout", "Flatten", "Reshape", "Squeeze")
"""Operators that leave the values of their first input as they are, when the network is used."""

ENDS = ("Softmax", "LogSoftmax", "Sigmoid")

LAYERS = ("Gemm", "MatMul", "Conv")

FLOATS = (1, 10, 11)
"""ONNX's numbers of float32, float16 and float64: the types of outputs that can be read as logits."""

CONSTANTS = ("value", "value_floats", "value_float", "value_ints", "value_int")
"""What holds the value of a Constant node."""


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

    def values(self, tensor: Any) -> Array:
        """The numbers of a tensor, be they in the file or in its external data."""
        from onnx import numpy_helper

        return np.asarray(
            numpy_helper.to_array(read_external(tensor, self.folder) if is_external(tensor) else tensor)
        )

    def constant(self, name: str, known: dict[str, Array | None] | None = None) -> Array | None:
        """The value of a constant tensor: an initialiser, or what a few operators make of one; None otherwise.

        `known` is for itself: what it has found on the way, since a tensor may be read by many.
        """
        known = {} if known is None else known
        if name not in known:
            known[name] = self._constant(name, known)
        return known[name]

    def _constant(self, name: str, known: dict[str, Array | None]) -> Array | None:
        if name in self.initializer:
            return self.values(self.initializer[name])
        node = self.producer.get(name)
        if node is None or node.domain not in ("", "ai.onnx"):
            return None
        options = attributes(node)
        if node.op_type == "Constant":
            value = next((options[key] for key in CONSTANTS if key in options), None)
            return (
                None
                if value is None
                else self.values(value)
                if hasattr(value, "data_type")
                else np.asarray(value)
            )
        if node.op_type not in ("Identity", "Cast", "Transpose", "Reshape", "DequantizeLinear"):
            return None
        found = [self.constant(part, known) for part in node.input]
        values = [value for value in found if value is not None]
        if len(values) < len(found):
            return None
        if node.op_type == "Transpose":
            return values[0].transpose(options.get("perm"))
        if node.op_type == "DequantizeLinear":
            return _dequantize(values, options)
        if node.op_type == "Reshape" and not (values[1] == 0).any():  # 0: the size that it has
            return values[0].reshape(values[1].tolist())
        return None if node.op_type == "Reshape" else values[0]

    def logits(self, output: str) -> End:
        """Where the logits of an output are, and what follows them."""
        name = output
        while (node := self.producer.get(name)) is not None:
            if node.op_type in ENDS:
                if node.op_type != "Sigmoid" and attributes(node).get("axis", -1) not in (-1, 1):
                    break
                return End(node.input[0], node.op_type)
            if (written := written_softmax(self, node)) is not None:
                return End(*written, written=node.output[0])
            if node.op_type not in (*PASSES, "Log", "Clip"):
                break
            name = node.input[0]
        return End(output)

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
        axes = axes_of(self, node)
        return axes is not None and not {0, 1} & set(axes)

    def _affine(self, node: Any) -> tuple[str, Array, Array] | None:
        """Of Add, Sub, Mul, Div with a constant (say a temperature): the other input, its factor and its term."""
        if node.op_type not in ("Add", "Sub", "Mul", "Div") or node.domain not in ("", "ai.onnx"):
            return None
        names = list(node.input)
        values = [self._row(name) for name in names]
        if values[1] is None and node.op_type in ("Add", "Mul"):
            names, values = names[::-1], values[::-1]
        value = values[1]
        if value is None or value.size != max(value.shape[-1:], default=1):
            return None
        c = value.astype(np.float64).reshape(-1)
        if node.op_type in ("Mul", "Div"):
            return names[0], c if node.op_type == "Mul" else 1 / c, np.zeros(1)
        return names[0], np.ones(1), c if node.op_type == "Add" else -c

    def _row(self, name: str) -> Array | None:
        """A constant, which may have been repeated for every input of the batch."""
        while (node := self.producer.get(name)) is not None and node.op_type == "Expand":
            name = node.input[0]
        return self.constant(name)

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
        with np.errstate(invalid="ignore"):  # a NaN that signals; the head says where it is
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
                needed.update(reads(node))
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
