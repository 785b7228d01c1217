"""Parts of a scoring on a Ray cluster, or on the processes of one machine. Extra [ray].

Ray Data hands each part's first row to one of several actors, and a part that was lost with its worker to another
one. What a part holds depends on its rows only, so neither the number of workers nor a death changes a bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.scoring import PartScorer, Table, packed, unpacked


class _Worker:
    """One actor: it opens the source, or loads the network, once for all its parts."""

    def __init__(self, scorer: PartScorer) -> None:
        self.scorer = scorer

    def __call__(self, batch: dict[str, Array]) -> dict[str, Any]:
        """Parts that begin at the rows in `start`; each comes back as one value, so that Ray cannot split it."""
        made = [self.scorer.part(int(start)) for start in batch["start"]]
        tables = np.empty(len(made), dtype=object)
        tables[:] = [packed(table) for table, _ in made]
        return {
            "start": batch["start"],
            "table": tables,
            "saturated": np.array([saturated for _, saturated in made]),
        }


@dataclass(frozen=True)
class RayEngine:
    """An engine of `score_to_file`: `workers` actors, each with a CPU, or with a GPU of its own if `gpu`.

    Ray is started on this machine unless it runs already, or the environment variable RAY_ADDRESS names a cluster.
    All machines must see the inputs under the same paths; what they find is written by this process.
    """

    workers: int = 2
    gpu: bool = False

    def __call__(self, scorer: PartScorer, starts: Sequence[int]) -> Iterator[tuple[int, Table, int]]:
        """Every part once, in the order in which they are ready."""
        try:
            import ray
            import ray.data
        except ModuleNotFoundError as error:
            raise MissingExtraError("--engine ray", "ray") from error
        if not starts:
            return
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        rows = ray.data.from_items([{"start": start} for start in starts], override_num_blocks=len(starts))
        parts = rows.map_batches(
            _Worker,
            fn_constructor_args=(scorer,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(self.workers, len(starts))),
            num_cpus=None if self.gpu else 1,
            num_gpus=1 if self.gpu else None,
        )
        seen: set[int] = set()
        for row in parts.iter_rows():
            start = int(row["start"])
            if start in seen:
                raise InputError(f"the part from row {start} came twice from Ray")
            seen.add(start)
            yield start, unpacked(row["table"]), int(row["saturated"])
        if seen != set(starts):
            raise InputError(f"Ray gave {len(seen)} of {len(starts)} parts; go on with --resume")
