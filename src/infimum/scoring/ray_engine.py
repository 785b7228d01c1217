"""Parts of a scoring on a Ray cluster, or on the processes of one machine. Extra [ray].

Ray Data hands each part's first row to one of several actors, and a part that was lost with its worker to another
one. What a part holds depends on its rows only, so neither the number of workers nor a death changes a bit.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.scoring.ray_session import ray_session
from infimum.scoring.scoring import PartScorer, Table, packed, unpacked

TRIES = 4
"""How often a part is begun at most; one that kills every worker would go round for ever."""


class _Attempts:
    """One actor that lives with the run: it counts how often each part was begun, whoever died over it."""

    def __init__(self) -> None:
        self.begun: Counter[int] = Counter()

    def begin(self, start: int) -> int:
        self.begun[start] += 1
        return self.begun[start]


class _Worker:
    """One actor: it opens the source, or loads the network, once for all its parts, in the folder of the caller."""

    def __init__(self, scorer: PartScorer, attempts: Any, folder: str) -> None:
        self.scorer, self.attempts, self.folder = scorer, attempts, folder

    def __call__(self, batch: dict[str, Array]) -> dict[str, Any]:
        """The part that begins at the row in `start`, as one value, so that Ray cannot split it.

        Bad input comes back as a line of text: Ray would hide it in a traceback of many pages.
        """
        table, saturated, error = b"", 0, ""
        try:
            made, saturated = self._part(int(batch["start"][0]))
            table = packed(made)
        except (InputError, OSError) as bad:
            error = str(bad)
        tables = np.empty(1, dtype=object)
        tables[0] = table
        return {
            "start": batch["start"],
            "table": tables,
            "saturated": np.array([saturated]),
            "error": np.array([error]),
        }

    def _part(self, start: int) -> tuple[Table, int]:
        import ray

        if ray.get(self.attempts.begin.remote(start)) > TRIES:
            raise InputError(
                f"{TRIES} workers died over the part that begins at row {start} (of too little memory? try fewer "
                "--workers or a smaller batch, --network batch_size=N); the parts that were made are kept: go on with "
                "--resume"
            )
        os.chdir(self.folder)
        return self.scorer.part(start)


@dataclass(frozen=True)
class RayEngine:
    """An engine of `score_to_file`: `workers` actors, each with a CPU, or with a GPU of its own if `gpu`.

    The environment variable RAY_ADDRESS names a cluster; without it Ray is started on this machine, and stopped
    in the end, unless the process has started it already. All machines must see the inputs under the same paths;
    what they find is written by this process. Ray's usage statistics are off unless RAY_USAGE_STATS_ENABLED is 1.
    """

    workers: int = 2
    gpu: bool = False

    def __call__(self, scorer: PartScorer, starts: Sequence[int]) -> Iterator[tuple[int, Table, int]]:
        """Every part once, in the order in which they are ready.

        Raises InputError for bad input that a worker met, for a part that no worker survives, and without a GPU.
        """
        if not starts:
            return
        with ray_session(self.workers) as ray:
            if self.gpu and ray.cluster_resources().get("GPU", 0) < 1:
                raise InputError(
                    "--network device=cuda with --engine ray takes a GPU for each worker, and Ray sees none on "
                    f"{os.environ.get('RAY_ADDRESS', 'this machine')}; use --network device=cpu, or name a cluster "
                    "that has GPUs by the environment variable RAY_ADDRESS"
                )
            yield from self._parts(ray, scorer, starts)

    def _parts(self, ray: Any, scorer: PartScorer, starts: Sequence[int]) -> Iterator[tuple[int, Table, int]]:
        attempts = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Attempts).remote()
        rows = ray.data.from_items([{"start": start} for start in starts], override_num_blocks=len(starts))
        parts = rows.map_batches(
            _Worker,
            fn_constructor_args=(scorer, attempts, os.getcwd()),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(self.workers, len(starts))),
            num_cpus=None if self.gpu else 1,
            num_gpus=1 if self.gpu else None,
        )
        seen: set[int] = set()
        for row in _rows(ray, parts):
            start = int(row["start"])
            if row["error"]:
                raise InputError(row["error"])
            if start in seen:
                raise InputError(f"the part from row {start} came twice from Ray")
            seen.add(start)
            yield start, unpacked(row["table"]), int(row["saturated"])
        if seen != set(starts):
            raise InputError(f"Ray gave {len(seen)} of {len(starts)} parts; go on with --resume")


def _rows(ray: Any, parts: Any) -> Iterator[dict[str, Any]]:
    """The rows of a data set; InputError in one line where no worker could be started."""
    try:
        yield from parts.iter_rows()
    except ray.exceptions.RayActorError as error:
        *_, last = filter(str.strip, str(error).splitlines())
        raise InputError(
            f"Ray's workers could not be started ({last.strip()}); all machines of the cluster need infimum and what "
            "the network needs, in the same versions"
        ) from error
