"""NetworkAdapter: a trained network cut before its prediction layer, whatever framework it came from.

A framework's file makes the `Cut`; streaming, the proof of the cut and the checks of what comes out are here,
once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from infimum._checks import Array, check_finite
from infimum.data._data import Batch, count_rows
from infimum.data._images import ImageOptions
from infimum.data._iterables import batch_parts
from infimum.data._opening import open_data
from infimum.errors import InputError
from infimum.models._class_names import NetworkLabels
from infimum.models._cut import Cut, copy_batch, pad_batch
from infimum.models._endings import look_like_probabilities, warn_of_posteriors
from infimum.models._running import join, run
from infimum.outputs._outputs import Outputs


class NetworkAdapter:
    """A cut network: `.outputs(data)`, `.stream(batches)`, `.head`.

    The first batch proves the cut: head(features) must equal the network's logits, within `TOLERANCE` of their
    size (or the cut's own, where that is larger), or InputError says by how much they differ and what to pass.
    """

    TOLERANCE = 1e-3

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.head = cut.head
        self._proved, self._repeats = False, not cut.may_draw
        self._probabilities = cut.probabilities

    def __repr__(self) -> str:
        return f"NetworkAdapter({self.cut.framework}, cut before {self.cut.layer or 'nothing'})"

    def batch(self, inputs: Any, first_row: int = 0) -> tuple[Array, Array | None]:
        """What the network gives (n, K) and features (n, d) or None, checked; rows are numbered from `first_row`.

        These are logits, or probabilities if the cut says so; `stream` reads both.
        """
        size, fixed = count_rows(inputs), self.cut.fixed_batch
        if fixed is not None and size > fixed:
            raise InputError(f"the network takes batches of {fixed} inputs only; pass batch_size={fixed}")
        padded = inputs if fixed in (None, size) else pad_batch(inputs, fixed - size)
        again = None if self._repeats else copy_batch(padded)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is said below
                logits, features = self.cut.forward(padded)
        except MemoryError as error:
            raise InputError(
                f"out of memory with a batch of {size} inputs; pass a smaller one: batch_size={max(1, size // 2)} "
                f"(--network batch_size={max(1, size // 2)})"
            ) from error
        if padded is not inputs:
            logits, features = logits[:size], None if features is None else features[:size]
        if logits.ndim != 2 or len(logits) != size:
            raise InputError(
                f"the network gave outputs of shape {logits.shape} for {size} inputs; a classifier gives (n, K)"
            )
        check_finite(logits, "the network's outputs", first_row)
        if features is not None:
            check_finite(features, "the network's features", first_row)
            self._prove(logits, features)
        if again is not None:
            self._repeat(again, logits)
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

        >>> adapter = NetworkAdapter(Cut(lambda x: (x, None), None, "identity"))
        >>> adapter.outputs((np.eye(2), [0, 1])).accuracy
        1.0
        """
        opened = NetworkLabels(open_data(data, labels, images=images, skip_bad=skip_bad), self.cut)
        return join([made for _, made in run(self, opened, batch_size, preprocess)], opened)

    def stream(self, batches: Iterable[Any], first_row: int = 0) -> Iterator[Outputs]:
        """Outputs of each batch in turn; a batch is what `IterableData` takes, or a `Batch`. Memory: one batch's.

        Batches without rows (every input bad and skipped) give nothing. Errors number rows from `first_row`.
        """
        row = first_row
        for batch in batches:
            inputs, labels, ids = (
                (batch.inputs, batch.labels, batch.ids) if isinstance(batch, Batch) else batch_parts(batch)
            )
            if count_rows(inputs) == 0:
                continue
            logits, features = self.batch(inputs, row)
            if labels is not None:
                labels = class_indices(labels, self.cut.classes, row)
                check_range(labels, logits.shape[1], row, ids)
            row += len(logits)
            if self._probabilities is None:
                self._probabilities = look_like_probabilities(logits)
                if not self._probabilities:
                    warn_of_posteriors(logits, f"the {self.cut.framework} network")
            make = Outputs.from_probabilities if self._probabilities else Outputs
            source = getattr(batch, "id_source", None)
            yield make(
                logits,
                labels=labels,
                features=features,
                ids=ids,
                id_source=None if source is None else np.full(len(logits), source, dtype=np.uint64),
                input_hash=getattr(batch, "input_hash", None),
                name=f"{self.cut.framework} network",
            )

    def _repeat(self, inputs: Any, logits: Array) -> None:
        """The first batch run again gives the same: a network that draws at random has no one success level."""
        second = self.cut.forward(inputs)[0][: len(logits)]
        limit = max(self.TOLERANCE, self.cut.tolerance) * float(np.abs(logits).max())
        gap = np.inf if second.shape != logits.shape else float(np.abs(second - logits).max())
        if not gap <= limit:
            raise InputError(
                f"the network gives other outputs when the same batch is run again (they differ by up to {gap:.3g}): "
                "something in it draws at random, such as a dropout or noise that is not switched off outside training "
                "(F.dropout needs training=self.training); make it give one answer per input"
            )
        self._repeats = True

    def _prove(self, logits: Array, features: Array) -> None:
        """head(features) = logits, on the first batch, or on each if the head was fitted."""
        if self._proved or self.head is None:
            return
        expected = self.head.logits(features)
        if expected.shape != logits.shape:
            raise InputError(
                f"the cut is wrong: {self.cut.layer or 'the layer'} gives {expected.shape[1]} classes, "
                f"the network {logits.shape[1]}; name its prediction layer (head_layer, --network head_layer=NAME)"
            )
        difference = np.abs(expected - logits)
        size = max(1.0, float(np.abs(logits).max()))
        if float(difference.max()) > max(self.TOLERANCE, self.cut.tolerance) * size:
            then = (
                "so example did not show all that the features can be; pass more inputs as example, or pass head"
                if self.cut.fitted
                else f"so {self.cut.layer or 'the layer'} is not its prediction layer; name the layer (head_layer, "
                "--network head_layer=NAME)"
            )
            raise InputError(
                f"the cut is wrong: head(features) differs from the network's logits by up to "
                f"{difference.max():.3g} (they are up to {size:.3g}), {then}"
                + (
                    ", or, since the outputs look like probabilities, let the network return its logits: a softmax in "
                    "its own code is not seen (of a Keras model, make it functional)"
                    if look_like_probabilities(logits)
                    else ""
                )
            )
        self._proved = not self.cut.fitted


def class_indices(labels: Any, classes: tuple[Any, ...], first_row: int = 0) -> Array:
    """Labels (n,) as positions among `classes`; as they came where no classes are known.

    Raises InputError for a label that is not among them; rows are numbered from `first_row`.

    >>> class_indices(["cat", "dog", "cat"], ("cat", "dog")).tolist()
    [0, 1, 0]
    """
    given: Array = np.asarray(labels)
    if not classes or given.ndim != 1:
        return given
    place = {label: index for index, label in enumerate(classes)}
    indices: Array = np.array([place.get(label, -1) for label in given.tolist()], dtype=np.int64)
    if (indices < 0).any():
        row = int(np.flatnonzero(indices < 0)[0])
        known = ", ".join(repr(label) for label in classes[:10]) + (", ..." if len(classes) > 10 else "")
        raise InputError(
            f"labels: row {first_row + row} is {given.tolist()[row]!r}, but the model was trained with the classes "
            f"{known}"
        )
    return indices


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
