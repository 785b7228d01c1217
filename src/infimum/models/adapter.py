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
from infimum.data.base import Batch, count_rows
from infimum.data.images import ImageOptions
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
    """

    forward: Forward
    head: AnyHead | None
    framework: str
    layer: str = ""
    why_no_head: str = ""
    fixed_batch: int | None = None


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
            logits, features = self.cut.forward(_padded(inputs, fixed))
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

    def outputs(
        self,
        data: Any,
        *,
        labels: Any = None,
        batch_size: int | None = None,
        preprocess: Callable[[Any], Any] | None = None,
        images: ImageOptions | None = None,
        skip_bad: bool = False,
    ) -> Outputs:
        """Outputs on a whole data set, in memory. `data`, `labels`, `images`, `skip_bad`: see `open_data`.

        `preprocess` turns a batch as read into the array the network takes. Where memory is short, `extract`
        writes to a file instead. Raises InputError for data that cannot be read or do not fit the network.
        """
        from infimum.data.opening import open_data
        from infimum.models.running import join, run

        opened = open_data(data, labels, images=images, skip_bad=skip_bad)
        return join([made for _, made in run(self, opened, batch_size, preprocess)], opened)

    def stream(self, batches: Iterable[Any], first_row: int = 0) -> Iterator[Outputs]:
        """Outputs of each batch in turn; a batch is inputs, (inputs, labels), or a `Batch`. Memory: one batch's.

        Batches without rows (every input bad and skipped) give nothing. Errors number rows from `first_row`.
        """
        row = first_row
        for batch in batches:
            if isinstance(batch, Batch):
                inputs, labels, ids = batch.inputs, batch.labels, batch.ids
            else:
                ids = None
                inputs, labels = (
                    batch if isinstance(batch, tuple | list) and len(batch) == 2 else (batch, None)
                )
            if count_rows(inputs) == 0:
                continue
            logits, features = self.batch(inputs, row)
            if labels is not None:
                labels = np.asarray(labels)
                check_range(labels, logits.shape[1], row, ids)
            row += len(logits)
            yield Outputs(
                logits=logits,
                labels=labels,
                features=features,
                ids=ids,
                name=f"{self.cut.framework} network",
            )

    def _prove(self, logits: Array, features: Array) -> None:
        """head(features) = logits, on the first batch."""
        if self._proved or self.head is None:
            return
        difference = np.abs(self.head.logits(features) - logits)
        size = max(1.0, float(np.abs(logits).max()))
        if float(difference.max()) > self.TOLERANCE * size:
            raise InputError(
                f"the cut is wrong: head(features) differs from the network's logits by up to "
                f"{difference.max():.3g} (they are up to {size:.3g}), so {self.cut.layer or 'the layer'} is not "
                "its prediction layer; name the layer (head_layer, --head-layer)"
            )
        self._proved = True


def check_range(labels: Array, n_classes: int, first_row: int, ids: Array | None) -> None:
    """Labels of a batch must be classes of the network; InputError names the row among all, and its id."""
    if labels.ndim == 1 and labels.dtype.kind in "iuf":
        outside = np.flatnonzero(~((labels >= 0) & (labels < n_classes)))
        if len(outside):
            at = int(outside[0])
            which = f"row {first_row + at}" + ("" if ids is None else f" ({ids[at]})")
            raise InputError(
                f"labels: {which} is {labels[at]}, outside 0..{n_classes - 1}: the network has {n_classes} classes"
            )


def _padded(inputs: Any, size: int) -> Any:
    """The batch filled up to `size` rows with its last one."""
    if isinstance(inputs, Mapping):
        return {name: _padded(values, size) for name, values in inputs.items()}
    array = np.asarray(inputs)
    return np.concatenate([array, np.repeat(array[-1:], size - len(array), axis=0)])
