"""Functions that an ONNX file defines itself, written out where they are called, once it is known what that makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError

MOST_NODES = 1_000_000
"""Nodes of a network with its functions written out, at most. Thirty functions that call each other twice make 2^30."""


def without_functions(model: Any, path: Path) -> Any:
    """The model with its own functions written out; InputError where these call themselves, or make too many nodes."""
    if not len(model.functions):
        return model
    from onnx.inliner import inline_local_functions

    functions = {(f.domain, f.name): f for f in model.functions}
    sizes: dict[tuple[str, str], int] = {}
    # From the functions that call none upwards: no call stack that a file could make deep.
    waiting = dict(functions)
    while waiting:
        ready = [
            key
            for key, function in waiting.items()
            if all(call in sizes or call not in functions for call in _calls(function.node))
        ]
        if not ready:
            raise InputError(
                f"{path} holds functions that call themselves, as {next(iter(waiting))[1][:40]!r}"
            )
        for key in ready:
            sizes[key] = _size(waiting.pop(key).node, sizes)
    if (size := _size(model.graph.node, sizes)) > MOST_NODES:
        raise InputError(
            f"{path} would have {min(size, 10**18):,} nodes with its functions written out, more than {MOST_NODES:,}"
        )
    return inline_local_functions(model)


def _size(nodes: Any, sizes: dict[tuple[str, str], int]) -> int:
    return sum(sizes.get(call, 1) for call in _calls(nodes))


def _calls(nodes: Any) -> Iterator[tuple[str, str]]:
    """Domain and operator of these nodes, and of those in the subgraphs of If, Loop and Scan."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                waiting.extend(graph.node)
