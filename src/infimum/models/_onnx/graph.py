"""An ONNX graph by its tensors: which node makes one, which are constant, and which nodes lie between two."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.models._onnx.external import is_external, read_external
from infimum.models._onnx.load import reads

FLOATS = (1, 10, 11)
"""ONNX's numbers of float32, float16 and float64: the types of outputs that can be read as logits."""

CONSTANTS = ("value", "value_floats", "value_float", "value_ints", "value_int")
"""What holds the value of a Constant node."""


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
