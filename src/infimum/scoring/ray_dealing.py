"""Who makes which parts: dealt to workers as they become free, and dealt again where a worker has died. Extra [ray].

The one process that deals must not become what a cluster waits for: it handles numbers of rows and sums, and Ray
calls it back for each task, so that its work does not grow with the number of workers.
"""

from __future__ import annotations

import queue
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from infimum.errors import InputError
from infimum.scoring.writing import PartMade

TRIES = 4
"""How often a part is begun at most; one that kills every worker would go round for ever."""

TASK_SECONDS = 2.0
"""About how long a worker is at what it is handed at a time; of parts that take longer, one."""

AHEAD = 2
"""Tasks that a worker has at a time: it need not wait for the next one."""

MOST = 64
"""Parts in a task: what is told of at once, and made again where a worker dies."""


class Done(NamedTuple):
    """What a task gives: the parts made, what was wrong (nothing: all went well), and its seconds."""

    made: list[PartMade]
    error: str
    seconds: float


@dataclass(eq=False)
class _Hired:
    """A worker and its tasks in order, by number; the first of them is what it is at."""

    actor: Any
    tasks: dict[int, tuple[int, ...]] = field(default_factory=dict)


class Dealer:
    """Deals the parts that begin at `starts` to at most `workers` actors, which `hire` makes.

    Actors for which the cluster has no room yet wait, and the others do the work.
    """

    def __init__(
        self,
        ray: Any,
        hire: Callable[[], Any],
        starts: Sequence[int],
        workers: int,
        most: int,
    ) -> None:
        self.ray, self.hire, self.most = ray, hire, most
        of = ray.exceptions  # out of memory, of an actor that Ray itself has ended for it
        self.lost = (of.RayActorError, of.OutOfMemoryError, of.WorkerCrashedError, of.NodeDiedError)
        self.waiting, self.again = deque(starts), deque[int]()
        self.left, self.workers = len(starts), min(workers, len(starts))
        self.hired: dict[int, _Hired] = {}
        self.deaths: Counter[int] = Counter()
        self.lost_at_start = self.made = self.tasks = 0
        self.seconds = 0.0
        self.ended: queue.SimpleQueue[tuple[int, int, Future[Any]]] = queue.SimpleQueue()

    def parts(self) -> Iterator[PartMade]:
        """Every part once, in the order in which they are ready."""
        for _ in range(self.workers):
            self._hire()
        while self.left:
            number, task, future = self.ended.get()
            worker = self.hired.get(number)
            if worker is None:  # it has died, and what it had was dealt again
                continue
            error = future.exception()
            if isinstance(error, self.lost):
                self._lost(number, error)
            elif error is not None:
                raise error
            elif worker.tasks.pop(task):
                yield from self._got(future.result())
                self._deal(number)
            elif problem := future.result():
                raise InputError(problem)
            else:  # it has begun
                self._deal(number)

    def stop(self) -> None:
        """Let all workers go, whatever they are at."""
        for worker in self.hired.values():
            with suppress(Exception):  # the cluster may be gone
                self.ray.kill(worker.actor)
        self.hired.clear()

    def _hire(self) -> None:
        worker = _Hired(self.hire())
        self.tasks += 1
        self.hired[self.tasks] = worker
        self._send(self.tasks, (), worker.actor.begin.remote())

    def _send(self, number: int, starts: tuple[int, ...], reference: Any) -> None:
        self.tasks += 1
        task = self.tasks
        self.hired[number].tasks[task] = starts
        reference.future().add_done_callback(lambda future: self.ended.put((number, task, future)))

    def _deal(self, number: int) -> None:
        """Give a worker what it lacks. Near the end none takes what another could begin at once."""
        worker = self.hired[number]
        while len(worker.tasks) < AHEAD and (self.again or self.waiting):
            if worker.tasks and len(self.waiting) < self.workers:
                return
            if self.again:  # alone: which part kills its workers is to be seen
                starts: tuple[int, ...] = (self.again.popleft(),)
            else:
                starts = tuple(self.waiting.popleft() for _ in range(self._parts_per_task()))
            self._send(number, starts, worker.actor.make.remote(starts))

    def _parts_per_task(self) -> int:
        """As many as take about TASK_SECONDS, fewer towards the end, so that all workers end together."""
        by_time = TASK_SECONDS * self.made / self.seconds if self.seconds else 1
        by_share = len(self.waiting) // (2 * AHEAD * self.workers)
        return int(max(1, min(self.most, by_time, by_share)))

    def _got(self, done: Done) -> Iterator[PartMade]:
        self.made += len(done.made)
        self.seconds += done.seconds
        self.left -= len(done.made)
        yield from done.made
        if done.error:
            raise InputError(done.error)

    def _lost(self, number: int, error: Exception) -> None:
        """Deal again what a worker had that died; only what it was at may have been the cause."""
        worker = self.hired.pop(number)
        with suppress(Exception):  # it may only be out of reach, and would go on
            self.ray.kill(worker.actor)
        tasks = list(worker.tasks.values())
        if not tasks[0]:
            self._check_start(error)
        for start in tasks[0]:
            self.deaths[start] += 1
            if self.deaths[start] == TRIES:
                raise InputError(
                    f"{TRIES} workers died over the part that begins at row {start} (of too little memory? try fewer "
                    "--workers or a smaller batch, --network batch_size=N); the parts that were made are kept: go on "
                    "with --resume"
                )
        self.again.extend(start for starts in tasks for start in starts)
        self._hire()
        for other in self.hired:  # those that have nothing to do
            if not self.hired[other].tasks:
                self._deal(other)

    def _check_start(self, error: Exception) -> None:
        """InputError in one line where workers cannot be made, at once if it is for a reason of Python's."""
        self.lost_at_start += 1
        if self.lost_at_start < TRIES and "creation task" not in str(error):
            return
        *_, last = filter(str.strip, str(error).splitlines())
        raise InputError(
            f"Ray's workers could not be started ({last.strip()}); all machines of the cluster need infimum and what "
            "the network needs, in the same versions"
        ) from error
