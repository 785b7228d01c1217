"""Chunks of rows on two threads, and reading ahead: numpy lets go of Python's lock, and no result depends on timing."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

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


def read_ahead(items: Iterator[Item], most: int = 2) -> Iterator[Item]:
    """The same items, made by a thread that is at most `most` of them ahead; its error is raised where it stood.

    >>> list(read_ahead(iter(range(4))))
    [0, 1, 2, 3]
    """
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(most)
    stop = threading.Event()

    def put(entry: tuple[bool, Any]) -> bool:
        while not stop.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            more, item = waiting.get()
            if more:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        stop.set()
        thread.join()
