"""Finding the prediction layer of a PyTorch network by running one batch and comparing values.

The network may be a module, a TorchScript graph or an exported program: each says what its linear layers are and
what went through them (`TorchNetwork`); the search and the cut are here, once for the three.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infimum._checks import Array, check_finite
from infimum.data._data import count_rows
from infimum.errors import InputError
from infimum.head import HeadFunction
from infimum.models._cut import Cut
from infimum.models._endings import several_sigmoids
from infimum.models._link import Link, are_probabilities, find_link
from infimum.models._torch import outputs as to
from infimum.models._torch import run as tr
from infimum.models._torch.reading import (
    HEAD_TOLERANCE,
    Calls,
    Layer,
    Reading,
    explain,
    gives_sigmoids,
    logits_by,
    through,
)
from infimum.models._torch.run import Tensor

HEAD_ROWS = 4096
"""Samples that go through a head function at a time."""


@runtime_checkable
class TorchNetwork(Protocol):
    """A network that can be run on a batch and looked into."""

    @property
    def framework(self) -> str:
        """Its name in messages."""

    @property
    def layers(self) -> Sequence[Layer]:
        """The linear layers, in the network's order."""

    @property
    def fixed_batch(self) -> int | None:
        """The only batch size that the network takes, if there is one."""

    @property
    def repeated(self) -> Collection[str]:
        """Layers that ran more than once in a batch, of which `run` keeps the last run."""

    def run(self, inputs: Any, names: Sequence[str]) -> tuple[Any, Calls]:
        """What the network returns for a batch, and what went through the named layers."""

    def parts(self, name: str, end: str | None) -> Iterator[Callable[[Tensor], Tensor]]:
        """Functions from what goes into `name` to what may be the logits; `end` is the layer that gives them, if known.

        Raises InputError if there is no such layer.
        """


@dataclass(frozen=True, eq=False)
class Search:
    """What one batch tells: the outputs that may hold the classes, by path, and the layers that give them."""

    outputs: dict[to.Path, Array]
    readings: list[Reading]

    def reading_of(self, path: to.Path) -> Reading | None:
        """How the output at a path is read: from the last layer that gives it."""
        return next((reading for reading in self.readings if reading.path == path), None)

    def one_answer(self, readings: Sequence[Reading | None]) -> bool:
        """Whether all are readings of the same logits, say as they are and after their softmax."""
        answers = {None if r is None else (r.layer.name, r.pool, r.link.scale) for r in readings}
        return len(answers) == 1 and None not in answers

    def several(self, network: TorchNetwork, then: str) -> InputError:
        """The refusal to choose among outputs."""
        shown = ", ".join(f"{to.path_name(path)} {y.shape}" for path, y in self.outputs.items())
        return InputError(
            f"the network returns several outputs that may hold the classes: {shown}. {then}, or pass a network that "
            f"returns the logits only. {candidates(network)}"
        )


def cut_network(network: TorchNetwork, example: Any, head_layer: str | None) -> Cut:
    """The network cut before its prediction layer, found on the batch `example`, or named by `head_layer`.

    Raises InputError, with the candidates, where no layer's output is the network's output, and where several outputs
    may hold the classes and no layer is named.
    """
    if example is None:
        raise InputError(
            "example is missing: the prediction layer is found by running the network on one batch of inputs; "
            "pass example=inputs[:32]"
        )
    if count_rows(example) == 0:
        raise InputError("example is empty: pass some inputs, as example=inputs[:32]")
    found = _search(network, example)
    readings: Sequence[Reading | None] = [found.reading_of(path) for path in found.outputs]
    if head_layer is not None:
        readings = [reading for reading in found.readings if reading.layer.name == head_layer]
        if not readings:
            return _cut_named(network, example, head_layer, found)
        if len(found.outputs) > 1 and head_layer in network.repeated:
            raise found.several(
                network, f"head_layer {head_layer!r} runs more than once, so it does not tell which"
            )
    elif not found.readings:
        raise InputError(
            "no linear prediction layer found: no layer gives the network's output up to pooling, softmax, "
            f"log-softmax, sigmoid or a temperature. {candidates(network)}. If the prediction part is more than one "
            "layer, name where it begins (head_layer, --network head_layer=NAME); if the network has none, pass a "
            "function that returns its logits instead of the network"
        )
    if not found.one_answer(readings):
        raise found.several(
            network, "Name the prediction layer of the right one (head_layer, --network head_layer=NAME)"
        )
    reading = next(reading for reading in readings if reading is not None)
    layer = reading.layer

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        return reading.read(*network.run(inputs, [layer.name]))

    bias = None if layer.bias is None else tr.to_numpy(layer.bias)
    head = reading.link.head(tr.to_numpy(layer.weight), bias, layer.name)
    tolerance = max(HEAD_TOLERANCE, reading.link.tolerance)
    return Cut(
        forward,
        head,
        network.framework,
        layer.name,
        fixed_batch=network.fixed_batch,
        tolerance=tolerance,
        may_draw=True,
    )


def candidates(network: TorchNetwork, most: int = 8) -> str:
    """The last linear layers of the network, for messages."""
    if not network.layers:
        return "It has no linear layers"
    shown = ", ".join(str(layer) for layer in network.layers[-most:])
    return f"Linear layers{f' (the last {most})' if len(network.layers) > most else ''}: {shown}"


def _search(network: TorchNetwork, example: Any) -> Search:
    """Every way in which a linear layer gives an output of the network, the last layers first."""
    # Run twice: once for the number of classes, then keeping only what goes through layers of that width.
    rows = count_rows(example)
    output, _ = network.run(example, [])
    widths = {y.shape[1] for y in to.matrices(output, rows).values()}
    output, calls = network.run(example, [x.name for x in network.layers if x.weight.shape[0] in widths])
    by_name = {layer.name: layer for layer in network.layers}
    tensors = to.matrices(output, rows)
    outputs = {path: tr.to_numpy(y) for path, y in tensors.items()}
    found: list[tuple[Reading, Array]] = []
    for path, y in tensors.items():
        for name in reversed(calls):
            found += explain(by_name[name], *calls[name], y, path)
    if not found:
        for path, y in tensors.items():
            check_finite(outputs[path], "the network's outputs")
            if any(gives_sigmoids(by_name[name], *calls[name], y) for name in calls):
                raise several_sigmoids("the network", y.shape[1])
    # A network that returns (features, logits): what the layer of another output reads is not the logits.
    inner = {
        path
        for path, y in outputs.items()
        if any(r.path != path and f.shape == y.shape and np.allclose(f, y) for r, f in found)
    }
    return Search(
        {path: y for path, y in outputs.items() if path not in inner},
        [reading for reading, _ in found if reading.path not in inner],
    )


def _cut_named(network: TorchNetwork, example: Any, name: str, found: Search) -> Cut:
    """The network cut before `name`, with everything from there on as a head function."""
    lasts = {path: found.reading_of(path) for path in found.outputs}
    ends = {path: r.layer.name for path, r in lasts.items() if r is not None and r.pool == "whole"}
    parts = {path: network.parts(name, ends.get(path)) for path in found.outputs}
    output, calls = network.run(example, [name, *ends.values()])
    if name not in calls:
        raise InputError(f"head_layer {name!r} does not run in this network. {candidates(network)}")
    x = calls[name][0]
    whole = len(x) == count_rows(example)
    leads = {
        path: part
        for path in (found.outputs if whole else ())
        if (part := _find_part(parts[path], x, to.matrix_at(output, path, len(x)))) is not None
    }
    if not leads:
        raise InputError(
            f"head_layer {name!r}: what follows it does not give the network's output by itself. Name a module that "
            f"holds everything from the features to the logits. {candidates(network)}"
        )
    if len(leads) > 1 and not found.one_answer([lasts[path] for path in leads]):
        raise found.several(network, f"head_layer {name!r} leads to more than one of them: name another")
    path, (function, link) = next(iter(leads.items()))
    shape = tuple(x.shape[1:])
    if path in ends:
        inner = calls[ends[path]][0]
        if inner.shape == x.shape and x.ndim == 2 and bool((inner == x).all()):
            # The named module holds one linear layer and, say, dropout: a linear head says more than a function.
            return cut_network(network, example, ends[path])

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        output, calls = network.run(inputs, [name])
        x, _ = through(calls, name)
        y = tr.to_numpy(to.matrix_at(output, path, len(x)))
        return logits_by(link, tr.to_numpy(function(x)), y, name), tr.to_numpy(x.reshape(len(x), -1))

    def logits(features: Array) -> Array:
        blocks = np.split(features, range(HEAD_ROWS, len(features), HEAD_ROWS))
        tensors = [tr.to_tensor(block, x.device, x.dtype, "features").reshape(-1, *shape) for block in blocks]
        return np.concatenate([link.logits(tr.to_numpy(function(t))).astype(np.float64) for t in tensors])

    n_classes = link.logits(tr.to_numpy(function(x[:1]))).shape[1]
    head = HeadFunction(logits, int(np.prod(shape)), n_classes, name=name)
    tolerance = max(HEAD_TOLERANCE, link.tolerance)
    return Cut(
        forward,
        head,
        network.framework,
        name,
        fixed_batch=network.fixed_batch,
        tolerance=tolerance,
        may_draw=True,
    )


def _find_part(
    functions: Iterator[Callable[[Tensor], Tensor]], x: Tensor, output: Tensor
) -> tuple[Callable[[Tensor], Tensor], Link] | None:
    """The first function that leads from x to the network's logits, and how the output follows from those."""
    y = tr.to_numpy(output)
    tolerance = 10 * tr.tolerance_of(x, output)  # more than one layer is computed anew
    for function in functions:
        matrix = to.as_matrix(function(x), len(x))
        link = None if matrix is None else find_link(tr.to_numpy(matrix), y, tolerance)
        # Probabilities are not logits: one of the other functions ends before the softmax.
        if link is not None and not (
            link.kind == "same" and y.shape[1] > 1 and are_probabilities(y, tolerance)
        ):
            return _as_matrices(function), link
    return None


def _as_matrices(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: to.matrix_at(function(x), (), len(x))
