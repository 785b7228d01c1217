"""Finding the prediction layer of a PyTorch network by running one batch and comparing values.

The network may be a module, a TorchScript graph or an exported program: each says what its linear layers are and
what went through them (`TorchNetwork`); the search and the cut are here, once for the three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infimum.checks import Array, check_finite
from infimum.errors import InputError
from infimum.head import HeadFunction
from infimum.models import torch_run as tr
from infimum.models.adapter import Cut
from infimum.models.link import Link, are_probabilities, find_link
from infimum.models.torch_run import Tensor

HEAD_TOLERANCE = 1e-3
"""W φ + b against the network's own arithmetic (fused, TF32), relative to the largest logit."""

HEAD_ROWS = 4096
"""Samples that go through a head function at a time."""

Calls = dict[str, tuple[Tensor, Tensor]]
"""What went into a layer and what came out, by the layer's name, in the order of their last calls."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer: `weight` (K, d), `bias` (K,); its channels are axis 1 (a 1x1 convolution) or the last one."""

    name: str
    weight: Tensor
    bias: Tensor | None
    channels_first: bool = False

    def positions(self, tensor: Tensor) -> Tensor:
        """What went in or came out as (n, positions, channels)."""
        if self.channels_first:
            return tensor.flatten(2).transpose(1, 2)
        return tensor.reshape(len(tensor), -1, tensor.shape[-1])

    def __str__(self) -> str:
        return f"{self.name} ({self.weight.shape[1]} -> {self.weight.shape[0]})"


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

    def run(self, inputs: Any, names: Sequence[str]) -> tuple[Any, Calls]:
        """What the network returns for a batch, and what went through the named layers."""

    def parts(self, name: str, end: str | None) -> Iterator[Callable[[Tensor], Tensor]]:
        """Functions from what goes into `name` to what may be the logits; `end` is the layer that gives them, if known.

        Raises InputError if there is no such layer.
        """


@dataclass(frozen=True, eq=False)
class Reading:
    """How logits and features are read from what went through `layer`.

    `pool` is "whole" (one vector per input), "mean" (averaged over positions) or "pick" (one position per input, as
    in networks that classify the last token). `path` leads to the logits in what the network returns.
    """

    layer: Layer
    pool: str
    link: Link
    path: tuple[Any, ...]

    def read(self, output: Any, calls: Calls) -> tuple[Array, Array]:
        """Logits (n, K) and features (n, d); InputError if the layer does not explain this batch."""
        y = _matrix(tr.take(output, self.path))
        features, values = _pooled(self.layer, *calls[self.layer.name], y, self.pool)
        return self.link.logits(_explained(self.link, values, tr.to_numpy(y), self.layer.name)), features


def cut_network(network: TorchNetwork, example: Any, head_layer: str | None) -> Cut:
    """The network cut before its prediction layer, found on the batch `example`, or named by `head_layer`.

    Raises InputError, with the candidates, where no layer's output is the network's output.
    """
    if example is None:
        raise InputError(
            "example is missing: the prediction layer is found by running the network on one batch of inputs; "
            "pass example=inputs[:32]"
        )
    readings = _find_readings(network, example)
    if head_layer is not None:
        named = [reading for reading in readings if reading.layer.name == head_layer]
        if not named:
            return _cut_named(network, example, head_layer, readings[0] if readings else None)
        readings = named
    if not readings:
        raise InputError(
            "no linear prediction layer found: no layer gives the network's output up to pooling, softmax, "
            f"log-softmax, sigmoid or a temperature. {candidates(network)}. If the prediction part is more than one "
            "layer, name where it begins (head_layer, --head-layer); if the network has none, pass a function that "
            "returns its logits instead of the network"
        )
    reading = readings[0]
    layer = reading.layer

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        return reading.read(*network.run(inputs, [layer.name]))

    bias = None if layer.bias is None else tr.to_numpy(layer.bias)
    head = reading.link.head(tr.to_numpy(layer.weight), bias, layer.name)
    tolerance = max(HEAD_TOLERANCE, reading.link.tolerance)
    return Cut(
        forward, head, network.framework, layer.name, fixed_batch=network.fixed_batch, tolerance=tolerance
    )


def candidates(network: TorchNetwork, most: int = 8) -> str:
    """The last linear layers of the network, for messages."""
    if not network.layers:
        return "It has no linear layers"
    shown = ", ".join(str(layer) for layer in network.layers[-most:])
    return f"Linear layers{f' (the last {most})' if len(network.layers) > most else ''}: {shown}"


def _find_readings(network: TorchNetwork, example: Any) -> list[Reading]:
    """Every way in which a linear layer gives the network's output, the last layers first."""
    # Run twice: once for the number of classes, then keeping only what goes through layers of that width.
    output, _ = network.run(example, [])
    options = {path: y for path, tensor in tr.find_logits(output) if (y := tr.as_matrix(tensor)) is not None}
    if not options:
        shapes = ", ".join(str(tuple(tensor.shape)) for _, tensor in tr.find_logits(output)) or "no numbers"
        raise InputError(
            f"the network returned {shapes} for one batch; a classifier gives (n, K), one row per input"
        )
    widths = {y.shape[1] for y in options.values()}
    output, calls = network.run(example, [x.name for x in network.layers if x.weight.shape[0] in widths])
    by_name = {layer.name: layer for layer in network.layers}
    found: list[tuple[Reading, Array]] = []
    outputs: list[tuple[tuple[Any, ...], Array]] = []
    for path in options:
        y = _matrix(tr.take(output, path))
        outputs.append((path, tr.to_numpy(y)))
        for name in reversed(calls):
            found += _explain(by_name[name], *calls[name], y, path)
    if not found:
        for _, y in outputs:
            check_finite(y, "the network's outputs")
    # A network that returns (features, logits): what another layer reads as features is not the logits.
    inner = [
        path
        for path, y in outputs
        if any(r.path != path and f.shape == y.shape and np.allclose(f, y) for r, f in found)
    ]
    return [reading for reading, _ in found if reading.path not in inner]


def _explain(
    layer: Layer, x: Tensor, out: Tensor, y: Tensor, path: tuple[Any, ...]
) -> list[tuple[Reading, Array]]:
    """The reading with which `layer` gives the output y (n, K), and the features it reads, if there is one."""
    if (
        out.ndim < 2
        or x.ndim < 2
        or len(out) != len(y)
        or len(x) != len(y)
        or layer.weight.shape[0] != y.shape[1]
    ):
        return []
    many = layer.positions(out).shape[1] > 1
    output, tolerance = tr.to_numpy(y), tr.tolerance_of(out, y)
    for pool in ("mean", "pick") if many else ("whole",):
        features, values = _pooled(layer, x, out, y, pool)
        link = find_link(values, output, tolerance)
        if link is None:
            continue
        bias = 0.0 if layer.bias is None else tr.to_numpy(layer.bias)
        linear = features.astype(np.float64) @ tr.to_numpy(layer.weight).T.astype(np.float64) + bias
        size = max(1.0, float(np.abs(values).max()))
        if float(np.abs(linear - values).max()) <= max(HEAD_TOLERANCE, tolerance) * size:
            return [(Reading(layer, pool, link, path), features)]
    return []


def _pooled(layer: Layer, x: Tensor, out: Tensor, y: Tensor, pool: str) -> tuple[Array, Array]:
    """Features (n, d) and values (n, K): one vector per input, from the positions of what went through a layer."""
    x, out = layer.positions(x), layer.positions(out)
    if pool == "mean":  # a linear layer and an average may change places
        return tr.to_numpy(x.mean(1)), tr.to_numpy(out.mean(1))
    if pool == "whole":
        return tr.to_numpy(x[:, 0]), tr.to_numpy(out[:, 0])
    nearest = (out - y[:, None]).abs().amax(2).argmin(1)[:, None, None]
    return tuple(  # type: ignore[return-value]
        tr.to_numpy(t.gather(1, nearest.expand(-1, 1, t.shape[2]))[:, 0]) for t in (x, out)
    )


def _cut_named(network: TorchNetwork, example: Any, name: str, linear: Reading | None) -> Cut:
    """The network cut before `name`, with everything from there on as a head function."""
    functions = network.parts(name, None if linear is None or linear.pool != "whole" else linear.layer.name)
    output, calls = network.run(example, [name, *([linear.layer.name] if linear else [])])
    if name not in calls:
        raise InputError(f"head_layer {name!r} does not run in this network. {candidates(network)}")
    x = calls[name][0]
    paths = (
        [linear.path]
        if linear
        else [path for path, t in tr.find_logits(output) if tr.as_matrix(t) is not None]
    )
    part = (
        _find_part(functions, x, tr.take(output, paths[0]))
        if len(x) == len(tr.take(output, paths[0]))
        else None
    )
    if part is None:
        raise InputError(
            f"head_layer {name!r}: what follows it does not give the network's output by itself. Name a module that "
            f"holds everything from the features to the logits. {candidates(network)}"
        )
    function, link = part
    path, shape = paths[0], tuple(x.shape[1:])
    inner: Tensor = None if linear is None else calls[linear.layer.name][0]
    if linear is not None and inner.shape == x.shape and x.ndim == 2 and bool((inner == x).all()):
        # The named module holds one linear layer and, say, dropout: a linear head says more than a function.
        return cut_network(network, example, linear.layer.name)

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        output, calls = network.run(inputs, [name])
        x = calls[name][0]
        values = _explained(link, tr.to_numpy(function(x)), tr.to_numpy(_matrix(tr.take(output, path))), name)
        return link.logits(values), tr.to_numpy(x.reshape(len(x), -1))

    def logits(features: Array) -> Array:
        blocks = np.split(features, range(HEAD_ROWS, len(features), HEAD_ROWS))
        tensors = [tr.to_tensor(block, x.device, x.dtype, "features").reshape(-1, *shape) for block in blocks]
        return np.concatenate([link.logits(tr.to_numpy(function(t))).astype(np.float64) for t in tensors])

    n_classes = link.logits(tr.to_numpy(function(x[:1]))).shape[1]
    head = HeadFunction(logits, int(np.prod(shape)), n_classes, name=name)
    tolerance = max(HEAD_TOLERANCE, link.tolerance)
    return Cut(forward, head, network.framework, name, fixed_batch=network.fixed_batch, tolerance=tolerance)


def _find_part(
    functions: Iterator[Callable[[Tensor], Tensor]], x: Tensor, output: Tensor
) -> tuple[Callable[[Tensor], Tensor], Link] | None:
    """The first function that leads from x to the network's logits, and how the output follows from those."""
    y = tr.to_numpy(_matrix(output))
    tolerance = 10 * tr.tolerance_of(x, output)  # more than one layer is computed anew
    for function in functions:
        matrix = tr.as_matrix(function(x))
        link = None if matrix is None else find_link(tr.to_numpy(matrix), y, tolerance)
        # Probabilities are not logits: one of the other functions ends before the softmax.
        if link is not None and not (
            link.kind == "same" and y.shape[1] > 1 and are_probabilities(y, tolerance)
        ):
            return _as_matrices(function), link
    return None


def _as_matrices(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: _matrix(function(x))


def _explained(link: Link, values: Array, output: Array, name: str) -> Array:
    """What layer `name` gave, NaN where the network's output is not finite; InputError where one is not the other's."""
    finite: Array = np.isfinite(output).all(axis=1)
    if not finite.all():  # the adapter, which knows where in the data this batch lies, names the row
        return np.where(finite[:, None], values, np.nan)
    if not link.fits(values, output):
        raise InputError(
            f"the network's output is not the {link.kind} output of {name} on this batch, as it was on the example "
            "batch; if something else decides (a clipping, a mask, an ensemble), name another head_layer"
        )
    return values


def _matrix(tensor: Tensor) -> Tensor:
    matrix = tr.as_matrix(tensor)
    if matrix is None:
        raise InputError(f"the network returned shape {tuple(tensor.shape)}; a classifier gives (n, K)")
    return matrix
