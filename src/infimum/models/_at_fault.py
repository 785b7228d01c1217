"""Who is to blame when code of others reads a file of others and fails: the file, in one line, never this program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infimum.errors import InputError

LONGEST = 200
"""Characters of somebody else's message that are repeated."""


@contextmanager
def at_fault(path: Path, what: str = "is damaged, or not what it seems") -> Iterator[None]:
    """Turn whatever is raised inside into an InputError that the file at `path` `what`; an InputError passes.

    >>> with at_fault(Path("net.onnx")):
    ...     [].pop()
    Traceback (most recent call last):
    infimum.errors.InputError: net.onnx is damaged, or not what it seems (IndexError: pop from empty list)
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        short = reason[:LONGEST] + ("…" if len(reason) > LONGEST else "")
        raise InputError(f"{path} {what} ({type(error).__name__}{': ' * bool(short)}{short})") from error
