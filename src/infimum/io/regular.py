"""Opening files that others name: regular files only, so that nothing waits for ever, and no larger than expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from infimum.errors import InputError

MEBIBYTE = 2**20

LARGEST = 2**31
"""Bytes that are read at once where nothing tighter is known: 2 GiB."""


def check_regular(path: Path, at_most: int | None = None) -> int:
    """The size of a regular file, for readers that open files themselves.

    Raises InputError for what is missing, a directory, or neither: a pipe would be waited for, a device has no end;
    and for a file of more than `at_most` bytes.

    >>> check_regular(Path("/dev/null"))
    Traceback (most recent call last):
    infimum.errors.InputError: /dev/null is a pipe, socket or device; save its content to a file, and give that
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL, or half a letter
        raise InputError(f"{str(path)!r} cannot be the name of a file ({error})") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a directory; a file was expected")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is a pipe, socket or device; save its content to a file, and give that")
    if at_most is not None and status.st_size > at_most:
        raise InputError(
            f"{path} has {status.st_size:,} bytes, more than the {at_most:,} that such a file may have"
        )
    return status.st_size


def open_regular(path: Path, at_most: int | None = None) -> IO[bytes]:
    """A regular file, opened to be read; InputError for anything else, see `check_regular`."""
    check_regular(path, at_most)
    try:
        # Not to wait, should a pipe have taken its place since.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def read_whole(path: Path, at_most: int = LARGEST) -> bytes:
    """The bytes of a regular file of at most `at_most`; InputError if it is larger, or grows while it is read."""
    size = check_regular(path, at_most)
    with open_regular(path) as file:
        try:
            data = file.read(size + 1)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > size:
        raise InputError(f"{path} has more bytes than its size says: was it changed meanwhile?")
    return data
