"""A softmax that is written out in an ONNX graph, as jax2tf and TensorFlow export it: exponentials over their sum.

What is found here was found by its form, and is proved by numbers on the first batch (`onnx_file`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from infimum.models._onnx.graph import Graph, attributes

SHAPES = ("Identity", "Cast", "Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten")
"""Operators that give the numbers of their first input in another shape or type."""

GUARDS = (*SHAPES, "Max", "Min", "Clip", "Where", "Neg")
"""What may lie between the maximum of a row and its subtraction: a least value, a guard against infinities."""


def written_softmax(graph: Graph, node: Any) -> tuple[str, str] | None:
    """The tensor of the logits, and "Softmax" or "LogSoftmax", if `node` ends one of these; None otherwise."""
    if node.op_type == "Exp":
        inner = graph.producer.get(_origin(graph, node.input[0]))
        if inner is None:
            return None
        logs = inner.input[0] if inner.op_type == "LogSoftmax" else _log_softmax(graph, inner)
        return None if logs is None else (logs, "Softmax")
    for numerator, denominator in _quotients(graph, node):
        power = _made_by(graph, numerator, "Exp")
        if power is not None and _summed_powers(graph, denominator) == power.output[0]:
            return _unshifted(graph, power.input[0]), "Softmax"
    logs = _log_softmax(graph, node)
    return None if logs is None else (logs, "LogSoftmax")


def axes_of(graph: Graph, node: Any) -> list[int] | None:
    """The axes of a reduction, an attribute or, in later opsets, an input; None where all or not constant."""
    given = len(node.input) > 1 and node.input[1]
    axes = graph.constant(node.input[1]) if given else attributes(node).get("axes")
    return None if axes is None or np.size(axes) == 0 else [int(axis) for axis in np.ravel(axes)]


def _log_softmax(graph: Graph, node: Any) -> str | None:
    """The logits z of z − log Σ exp z, however the logarithm of the sum is written."""
    for values, logs in _differences(graph, node):
        if values not in _whose_log_sum(graph, logs):
            continue
        return _unshifted(graph, values)
    return None


def _whose_log_sum(graph: Graph, logs: str) -> set[str]:
    """The tensors z of which `logs` may be log Σ exp z."""
    node = graph.producer.get(_origin(graph, logs))
    if node is None or node.op_type != "Add":
        return {name for name in [_log_sum(graph, logs)] if name is not None}
    # The maximum of the row was taken away before, and is added again: max + log Σ exp(z − max).
    shifted = {name for part in node.input if (name := _log_sum(graph, part)) is not None}
    return {plain for name in shifted if (plain := _unshifted(graph, name)) != name}


def _log_sum(graph: Graph, name: str) -> str | None:
    """The tensor z where another is log Σ exp z."""
    node = graph.producer.get(_origin(graph, name))
    if node is not None and node.op_type == "ReduceLogSumExp":
        return str(node.input[0])
    powers = None if node is None or node.op_type != "Log" else _summed_powers(graph, node.input[0])
    return None if powers is None else str(graph.producer[powers].input[0])


def _quotients(graph: Graph, node: Any) -> Iterator[tuple[str, str]]:
    """Numerators and denominators that a node may be read as."""
    if node.op_type == "Div":
        yield node.input[0], node.input[1]
    elif node.op_type == "Mul":
        for part, factor in (node.input, node.input[::-1]):
            if (inverse := _made_by(graph, factor, "Reciprocal")) is not None:
                yield part, inverse.input[0]
            elif (inverse := _made_by(graph, factor, "Div")) is not None:
                one = graph.constant(inverse.input[0])
                if one is not None and (one == 1).all():
                    yield part, inverse.input[1]


def _differences(graph: Graph, node: Any) -> Iterator[tuple[str, str]]:
    """Minuends and subtrahends that a node may be read as."""
    if node.op_type == "Sub":
        yield node.input[0], node.input[1]
    elif node.op_type == "Add":
        for part, other in (node.input, node.input[::-1]):
            if (negative := _made_by(graph, other, "Neg")) is not None:
                yield part, negative.input[0]


def _summed_powers(graph: Graph, name: str) -> str | None:
    """The output of the Exp whose sum over the classes a tensor is."""
    total = _made_by(graph, name, "ReduceSum")
    if total is None or (axes := axes_of(graph, total)) is None or 0 in axes:
        return None
    power = _made_by(graph, total.input[0], "Exp")
    return None if power is None else str(power.output[0])


def _unshifted(graph: Graph, name: str) -> str:
    """The logits z where a tensor is z − max z, which has the same softmax; else the tensor itself."""
    node = graph.producer.get(_origin(graph, name))
    if node is not None:
        for values, shift in _differences(graph, node):
            if _is_maximum(graph, shift, _origin(graph, values)):
                return values
    return name


def _is_maximum(graph: Graph, name: str, values: str) -> bool:
    """Whether a tensor is made, by guards alone, of the maximum of each row of `values`."""
    waiting, seen = [name], set()
    while waiting:
        part = waiting.pop()
        node = graph.producer.get(part)
        if node is None or part in seen:
            continue
        seen.add(part)
        if node.op_type == "ReduceMax":
            axes = axes_of(graph, node)
            if axes is not None and 0 not in axes and _origin(graph, node.input[0]) == values:
                return True
        elif node.op_type in GUARDS:
            waiting.extend(node.input)
    return False


def _made_by(graph: Graph, name: str, kind: str) -> Any | None:
    """The node of a kind that made a tensor, but for its shape; None where it was made otherwise."""
    node = graph.producer.get(_origin(graph, name))
    return node if node is not None and node.op_type == kind else None


def _origin(graph: Graph, name: str) -> str:
    """The tensor whose numbers these are, before changes of shape and type."""
    while (node := graph.producer.get(name)) is not None and node.op_type in SHAPES:
        name = node.input[0]
    return name
