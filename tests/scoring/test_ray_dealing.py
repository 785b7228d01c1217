"""Parts are dealt so that each comes once, whoever dies; what kills its workers is named. Without Ray itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infimum import InputError
from infimum.scoring.ray_dealing import MOST, TRIES, Dealer, Done
from infimum.scoring.writing import PartMade


class DiedError(Exception):
    """As Ray's own."""


class MemoryGoneError(Exception):
    """As Ray's own, which is no error of an actor."""


class Cluster:
    """Actors that do what they are told, one task after the other, when `step` is called; `dies` says who dies."""

    exceptions = SimpleNamespace(
        RayActorError=DiedError,
        OutOfMemoryError=MemoryGoneError,
        WorkerCrashedError=DiedError,
        NodeDiedError=DiedError,
    )

    def __init__(self, dies: Callable[[int], bool] = lambda start: False, problem: str = "") -> None:
        self.dies, self.problem = dies, problem
        self.actors: list[Actor] = []
        self.tasks: list[tuple[int, ...]] = []
        self.killed = 0

    def hire(self) -> Actor:
        self.actors.append(Actor(self))
        return self.actors[-1]

    def kill(self, actor: Actor) -> None:
        self.killed += 1


class Actor:
    """Tasks in order; all that it still had fail when it dies."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.dead = cluster, False
        self.queue: list[tuple[tuple[int, ...] | None, Future[Any]]] = []
        self.begin = SimpleNamespace(remote=lambda: self.sent(None))
        self.make = SimpleNamespace(remote=self.sent)

    def sent(self, starts: tuple[int, ...] | None) -> Any:
        future: Future[Any] = Future()
        self.queue.append((starts, future))
        return SimpleNamespace(future=lambda: future)

    def step(self) -> None:
        """The next task."""
        starts, future = self.queue.pop(0)
        if starts is None:
            future.set_result(self.cluster.problem)
            return
        self.cluster.tasks.append(starts)
        if any(self.cluster.dies(start) for start in starts):
            for _, lost in [(starts, future), *self.queue]:
                lost.set_exception(MemoryGoneError() if len(self.cluster.tasks) % 2 else DiedError())
            self.queue.clear()
            return
        future.set_result(Done([PartMade(start, 1.0, 1, 0) for start in starts], "", 0.001 * len(starts)))


def dealt(cluster: Cluster, n: int, workers: int, most: int = MOST) -> list[int]:
    """The parts as they come. Whenever nothing has ended yet, the actors go on in turn."""
    dealer = Dealer(cluster, cluster.hire, range(n), workers, most)
    waits = dealer.ended

    class Ended:
        put = staticmethod(waits.put)

        @staticmethod
        def get() -> Any:
            while waits.empty():
                next(actor for actor in cluster.actors if actor.queue).step()
                cluster.actors.append(cluster.actors.pop(0))
            return waits.get()

    dealer.ended = Ended  # type: ignore[assignment]
    try:
        return [made.start for made in dealer.parts()]
    finally:
        dealer.stop()


@settings(deadline=None, max_examples=50)
@given(
    st.integers(1, 300),
    st.integers(1, 7),
    st.sets(st.integers(0, 299), max_size=30),
    st.integers(1, TRIES - 1),
)
def test_each_part_comes_once_whoever_dies(n: int, workers: int, deadly: set[int], times: int) -> None:
    died: Counter[int] = Counter()

    def dies(start: int) -> bool:
        died[start] += start in deadly
        return start in deadly and died[start] <= times

    # A part alone in its task dies of itself only; together, the others' deaths count against it too.
    found = dealt(Cluster(dies), n, workers, most=1)
    assert sorted(found) == list(range(n))
    died.clear()
    if len(deadly) <= 1:
        assert sorted(dealt(Cluster(dies), n, workers)) == list(range(n))


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 200), st.integers(1, 5), st.data())
def test_the_part_that_kills_every_worker_is_named(n: int, workers: int, data: st.DataObject) -> None:
    deadly = data.draw(st.integers(0, n - 1))
    cluster = Cluster(lambda start: start == deadly)
    with pytest.raises(InputError, match=f"{TRIES} workers died over the part that begins at row {deadly} "):
        dealt(cluster, n, workers)
    assert sum(deadly in task for task in cluster.tasks) == TRIES


def test_many_parts_are_few_tasks_and_the_last_are_single() -> None:
    cluster = Cluster()
    found = dealt(cluster, 20_000, 4)
    assert sorted(found) == list(range(20_000))
    sizes = [len(task) for task in cluster.tasks]
    assert max(sizes) == MOST
    assert sizes[0] == sizes[-1] == 1
    assert len(sizes) < math.ceil(20_000 / MOST) + 100  # the shares of the last thousand grow smaller
    assert cluster.killed == 4


def test_no_more_workers_than_parts() -> None:
    cluster = Cluster()
    assert sorted(dealt(cluster, 3, 8)) == [0, 1, 2]
    assert cluster.killed == 3


def test_what_a_worker_finds_wrong_at_its_start_ends_the_run() -> None:
    with pytest.raises(InputError, match="does not see"):
        dealt(Cluster(problem="a worker on here does not see the folder"), 5, 2)
