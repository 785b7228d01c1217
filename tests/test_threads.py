"""Work on threads: order, errors and early ends are those of a plain loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from infimum import threads
from infimum.threads import ahead


@pytest.fixture(params=[1, 2])
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "THREADS", request.param)


@pytest.mark.usefixtures("_threads")
def test_items_come_in_order_and_an_error_where_it_belongs() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("the fourth")

    coming = ahead(items())
    assert [next(coming) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the fourth"):
        next(coming)


@pytest.mark.usefixtures("_threads")
def test_an_early_end_makes_one_item_too_many_at_most_and_leaves_no_thread() -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    before = threading.active_count()
    coming = ahead(items())
    for item in coming:
        if item == 4:
            break
    coming.close()  # type: ignore[attr-defined]
    assert made in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])
    assert threading.active_count() == before
