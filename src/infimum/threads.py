"""Chunks of rows on two threads: numpy lets go of Python's lock, and no result depends on which came first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")

THREADS = min(2, os.cpu_count() or 1)
"""More would have each chunk wait for memory."""

WORTHWHILE = 4
"""With fewer chunks the threads cost more than they save."""


def for_each(work: Callable[[Item], None], items: Sequence[Item]) -> None:
    """Call `work` on every item; items must not write to the same place. The first error is raised, Ctrl-C too.

    >>> found = [0] * 6
    >>> for_each(lambda i: found.__setitem__(i, i * i), range(6))
    >>> found
    [0, 1, 4, 9, 16, 25]
    """
    if THREADS == 1 or len(items) < WORTHWHILE:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for _ in pool.map(work, items):
                pass
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items in the same order, each made on another thread while the one before is in use.

    One item is made more than is used where the consumer stops early.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    if THREADS == 1:
        yield from items
        return
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield cast(Item, item)
