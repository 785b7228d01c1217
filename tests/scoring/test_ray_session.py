"""The session of Ray: a Ctrl-C that Ray swallows is not lost."""

from __future__ import annotations

import contextlib
import signal

import pytest

from infimum.scoring.ray_session import interruptible


@pytest.mark.parametrize("at_once", [True, False])
def test_an_interruption_that_was_swallowed_is_raised_in_the_end(at_once: bool) -> None:
    before, swallowed = signal.getsignal(signal.SIGINT), []

    def starts() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            swallowed.append(False)
        swallowed.append(True)

    with pytest.raises(KeyboardInterrupt), interruptible(at_once):
        starts()
    assert swallowed == ([True] if at_once else [False, True])
    assert signal.getsignal(signal.SIGINT) is before


def test_without_one_nothing_is_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
