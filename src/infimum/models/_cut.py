"""A network cut before its prediction layer: what a framework's file makes, and what runs it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infimum._checks import Array
from infimum.head import AnyHead
from infimum.outputs._outputs import Outputs

Forward = Callable[[Any], tuple[Array, Array | None]]
"""A batch of inputs -> logits (n, K) and, where the network could be cut, features (n, d); numpy arrays.

A batch is an array, or a mapping of arrays for a network with several inputs.
"""


@dataclass(frozen=True, eq=False)
class Cut:
    """A network cut before its prediction layer.

    `forward` runs one batch. `head` is None where no prediction layer is known, and `why_no_head` then says
    why. `fixed_batch` is the only batch size the network takes, if there is one. `layer` names what was cut.
    `probabilities` says that `forward` gives probabilities, not logits; None: not known, the first batch tells.
    `tolerance` is for networks in half precision, which round more than NetworkAdapter.TOLERANCE.
    `classes` are the labels that the network was trained with, in the order of its outputs, where it knows them;
    `class_names` only what these are called: labels are then indices, unless they are names. `input_names` are the
    columns that the network was trained on, in their order. `may_draw`: nothing rules out that the network draws at
    random, so the first batch is run twice to see. `fitted`: the head was fitted on an example, so that a feature
    which did not vary there may have a wrong weight: it is proved on every batch, not only on the first.
    """

    forward: Forward
    head: AnyHead | None
    framework: str
    layer: str = ""
    why_no_head: str = ""
    fixed_batch: int | None = None
    probabilities: bool | None = False
    tolerance: float = 0.0
    classes: tuple[Any, ...] = ()
    class_names: tuple[str, ...] = ()
    input_names: tuple[str, ...] = ()
    may_draw: bool = False
    fitted: bool = False


def pad_batch(inputs: Any, more: int) -> Any:
    """A batch with its last row repeated `more` times."""
    if isinstance(inputs, Mapping):
        return {key: pad_batch(value, more) for key, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(pad_batch(value, more) for value in inputs)
    return np.concatenate([inputs, np.repeat(inputs[-1:], more, axis=0)])


def copy_batch(inputs: Any) -> Any:
    """A batch that a network may change without changing the one given."""
    if isinstance(inputs, Mapping):
        return {key: copy_batch(value) for key, value in inputs.items()}
    if isinstance(inputs, tuple | list):
        return type(inputs)(copy_batch(value) for value in inputs)
    if hasattr(inputs, "detach"):
        return inputs.detach().clone()
    return inputs.copy() if isinstance(inputs, np.ndarray) else inputs


@runtime_checkable
class CutNetwork(Protocol):
    """A cut that runs: `NetworkAdapter` is one."""

    cut: Cut

    def stream(self, batches: Iterable[Any], first_row: int = 0) -> Iterator[Outputs]:
        """Outputs of each batch in turn; rows are numbered from `first_row`."""
