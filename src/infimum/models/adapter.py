"""NetworkAdapter: a trained network cut before its prediction layer, whatever framework it came from.

A framework's file makes the `Cut`; streaming, the proof of the cut and the checks of what comes out are here,
once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum.checks import Array, check_finite
from infimum.errors import InputError
from infimum.head import AnyHead
from infimum.outputs import Outputs

Forward = Callable[[Any], tuple[Array, Array | None]]
"""A batch of inputs -> logits (n, K) and, where the network could be cut, features (n, d); numpy arrays."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A network cut before its prediction layer.

    `forward` runs one batch. `head` is None where no prediction layer is known, and `why_no_head` then says
    why. `fixed_batch` is the only batch size the network takes, if there is one. `layer` names what was cut.
    `tolerance` is for networks in half precision, which round more than NetworkAdapter.TOLERANCE.
    """

    forward: Forward
    head: AnyHead | None
    framework: str
    layer: str = ""
    why_no_head: str = ""
    fixed_batch: int | None = None
    tolerance: float = 0.0


def count_rows(inputs: Any) -> int:
    """Inputs in a batch: of an array its length, of several arrays (a tuple, or a mapping by name) the first's.

    >>> count_rows({"ids": np.zeros((3, 8)), "mask": np.zeros((3, 8))})
    3
    """
    if isinstance(inputs, Mapping):
        return len(next(iter(inputs.values())))
    if isinstance(inputs, tuple):
        return len(inputs[0])
    return len(inputs)


def pad_batch(inputs: Any, more: int) -> Any:
    """A batch with its last row repeated `more` times."""
    if isinstance(inputs, Mapping):
        return {key: pad_batch(value, more) for key, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(pad_batch(value, more) for value in inputs)
    return np.concatenate([inputs, np.repeat(inputs[-1:], more, axis=0)])


class NetworkAdapter:
    """A cut network: `.outputs(data)`, `.stream(batches)`, `.head`.

    The first batch proves the cut: head(features) must equal the network's logits, within `TOLERANCE` of their
    size, or InputError says by how much they differ and what to pass.
    """

    TOLERANCE = 1e-3

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.head = cut.head
        self._proved = False

    def __repr__(self) -> str:
        return f"NetworkAdapter({self.cut.framework}, cut before {self.cut.layer or 'nothing'})"

    def batch(self, inputs: Any, first_row: int = 0) -> tuple[Array, Array | None]:
        """Logits (n, K) and features (n, d) or None of one batch, checked; rows are numbered from `first_row`."""
        size, fixed = count_rows(inputs), self.cut.fixed_batch
        if fixed is None or size == fixed:
            logits, features = self.cut.forward(inputs)
        elif size < fixed:
            logits, features = self.cut.forward(pad_batch(inputs, fixed - size))
            logits, features = logits[:size], None if features is None else features[:size]
        else:
            raise InputError(f"the network takes batches of {fixed} inputs only; pass batch_size={fixed}")
        if logits.ndim != 2 or len(logits) != size:
            raise InputError(
                f"the network gave outputs of shape {logits.shape} for {size} inputs; a classifier gives (n, K)"
            )
        check_finite(logits, "the network's outputs", first_row)
        if features is not None:
            check_finite(features, "the network's features", first_row)
            self._prove(logits, features)
        return logits, features

    def stream(self, batches: Iterable[Any]) -> Iterator[Outputs]:
        """Outputs of each batch in turn; a batch is inputs, or (inputs, labels). Memory is that of one batch."""
        row = 0
        for batch in batches:
            inputs, labels = batch if isinstance(batch, tuple | list) and len(batch) == 2 else (batch, None)
            logits, features = self.batch(inputs, row)
            row += len(logits)
            yield Outputs(
                logits=logits,
                labels=None if labels is None else np.asarray(labels),
                features=features,
                name=f"{self.cut.framework} network",
            )

    def _prove(self, logits: Array, features: Array) -> None:
        """head(features) = logits, on the first batch."""
        if self._proved or self.head is None:
            return
        difference = np.abs(self.head.logits(features) - logits)
        size = max(1.0, float(np.abs(logits).max()))
        if float(difference.max()) > max(self.TOLERANCE, self.cut.tolerance) * size:
            raise InputError(
                f"the cut is wrong: head(features) differs from the network's logits by up to "
                f"{difference.max():.3g} (they are up to {size:.3g}), so {self.cut.layer or 'the layer'} is not "
                "its prediction layer; name the layer (head_layer, --head-layer)"
            )
        self._proved = True
