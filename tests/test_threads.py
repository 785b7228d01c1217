"""Work on threads: order, errors and early ends are those of a plain loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from infimum._threads import read_ahead


def test_items_come_in_order_and_an_error_where_it_belongs() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("the fourth")

    coming = read_ahead(items(), most=1)
    assert [next(coming) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the fourth"):
        next(coming)


def test_an_early_end_makes_two_items_too_many_at_most_and_leaves_no_thread() -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    before = threading.active_count()
    coming = read_ahead(items(), most=1)
    for item in coming:
        if item == 4:
            break
    coming.close()  # type: ignore[attr-defined]
    assert made == list(range(len(made)))
    assert 5 <= len(made) <= 7  # one waits, one has just been made
    assert threading.active_count() == before
