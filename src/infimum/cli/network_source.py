"""A network and its data as a source of outputs to score, here or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infimum.cli.network import Device, NetworkOptions
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.models import NetworkAdapter
    from infimum.outputs._outputs import Outputs

INPUTS = 4096
"""Inputs per part, about."""


@dataclass(frozen=True, eq=False)
class NetworkSource:
    """Outputs of a network on data; each process that opens it loads the network once.

    `here` is the device of this process alone, where others do the work and have what it lacks.
    """

    network: NetworkOptions
    data: Path
    here: Device | None = None
    loaded: list[tuple[NetworkAdapter, Callable[[Any], Any] | None]] = field(default_factory=list)

    def __reduce__(self) -> tuple[type[NetworkSource], tuple[NetworkOptions, Path]]:
        return NetworkSource, (self.network, self.data)

    def open(self) -> tuple[int, int]:
        """Inputs and classes; InputError for data of unknown length."""
        from infimum.data import open_data

        n = open_data(self.data, "none", images=self.network.images).n
        if n is None:
            raise InputError(
                f"{self.data}: how many inputs it has is not known; write the outputs with extract"
            )
        return n, next(self.outputs(0))[1].n_classes

    def rows_per_part(self, n_classes: int) -> int:
        """About 4,096, in whole batches: every input is in the same batch wherever a run begins."""
        size = self._batch_size()
        return size * max(1, round(INPUTS / size))

    def outputs(self, start: int) -> Iterator[tuple[int, Outputs]]:
        """Batch by batch."""
        from infimum.data import open_data
        from infimum.models._running import run

        adapter, preprocess = self._load()
        row = start
        data = open_data(self.data, "none", images=self.network.images)
        for stop, made in run(adapter, data, self._batch_size(), preprocess, start, start):
            if made is not None:
                yield row, made
            row = stop

    def settings(self) -> dict[str, str]:
        """The fingerprints of the network's files and of the data, and how they are read."""
        from infimum.data import open_data

        data = open_data(self.data, "none", images=self.network.images)
        return {
            "data": data.fingerprint(),
            "batch_size": str(self._batch_size()),
            "device": self.network.how.device,
            **self.network.settings(),
        }

    def _load(self) -> tuple[NetworkAdapter, Callable[[Any], Any] | None]:
        if not self.loaded:
            network = self.network
            if self.here is not None:
                network = replace(network, how=replace(network.how, device=self.here))
            self.loaded.append(network.load(self.data, "none"))
        return self.loaded[0]

    def _batch_size(self) -> int:
        from infimum.models._running import choose_batch_size

        return choose_batch_size(self._load()[0], self.network.how.batch_size)
