"""How the logits and features are read from what went into a linear layer of a PyTorch network and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.models._link import Link, are_sigmoids, find_link
from infimum.models._torch import outputs as to
from infimum.models._torch import run as tr
from infimum.models._torch.run import Tensor

HEAD_TOLERANCE = 1e-3
"""W φ + b against the network's own arithmetic (fused, TF32), relative to the largest logit."""

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


@dataclass(frozen=True, eq=False)
class Reading:
    """How logits and features are read from what went through `layer`.

    `pool` is "whole" (one vector per input), "mean" (averaged over positions) or "pick" (one position per input, as
    in networks that classify the last token). `path` leads to the logits in what the network returns.
    """

    layer: Layer
    pool: str
    link: Link
    path: to.Path

    def read(self, output: Any, calls: Calls) -> tuple[Array, Array]:
        """Logits (n, K) and features (n, d); InputError if the layer does not explain this batch."""
        name = self.layer.name
        x, out = through(calls, name)
        y = to.matrix_at(output, self.path, len(x))
        features, values = _pooled(self.layer, x, out, y, self.pool)
        return logits_by(self.link, values, tr.to_numpy(y), name), features


def explain(layer: Layer, x: Tensor, out: Tensor, y: Tensor, path: to.Path) -> list[tuple[Reading, Array]]:
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


def gives_sigmoids(layer: Layer, x: Tensor, out: Tensor, y: Tensor) -> bool:
    """Whether the output y (n, K > 1) is the sigmoids of what the layer gave, one by one."""
    if out.ndim < 2 or len(out) != len(y) or layer.weight.shape[0] != y.shape[1]:
        return False
    _, values = _pooled(layer, x, out, y, "mean")
    return are_sigmoids(values, tr.to_numpy(y), tr.tolerance_of(out, y))


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


def through(calls: Calls, name: str) -> tuple[Tensor, Tensor]:
    """What went into a layer and came out; InputError where it did not run, or read a single input."""
    if name not in calls:
        raise InputError(f"{name} did not run on this batch, as it did on the example batch")
    x, out = calls[name]
    if x.ndim < 2:
        raise InputError(
            f"{name} read a vector of shape {tuple(x.shape)}: the batch has no axis of inputs; a batch has one row "
            "per input, (n, ...), also for a single input"
        )
    return x, out


def logits_by(link: Link, values: Array, output: Array, name: str) -> Array:
    """The logits by what layer `name` gave; InputError if that does not explain the network's output.

    Where they are the network's own output, they are taken from it: half precision may have rounded since.
    """
    if not np.isfinite(
        output
    ).all():  # the adapter, which knows where in the data this batch lies, names the row
        return output
    if not link.fits(values, output):
        then = (
            "if most of the example's outputs were 0 or 1, a temperature could not be measured on them: pass another "
            "example, of which the network is less sure"
            if link.kind in ("softmax", "sigmoid")
            else "if something else decides (a clipping, a mask, an ensemble), name another head_layer"
        )
        raise InputError(
            f"the network's output is not the {link.kind} output of {name} on this batch, as it was on the example "
            f"batch; {then}"
        )
    return Link(link.kind).logits(output) if link.kind == "same" else link.logits(values)
