"""Files replaced in one move: filled beside their place under another name, and renamed when whole; several together.

A failure, a full disk or an interruption leaves the old files as they were, and nothing else. Only a killed process
leaves what it was writing (`.NAME.12345678.part`); who writes there next sweeps it away.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from infimum.errors import InputError

logger = logging.getLogger("infimum")

LONGEST = 40
"""Letters of a file's name in that of its temporary file: the whole must not be longer than a name may be."""


@dataclass(frozen=True)
class _Filled:
    """A whole file that is still under its temporary name; `held` is the lock that says who writes it."""

    place: Path
    temporary: Path
    held: int | None


@dataclass
class _Group:
    """What is written together: files by their place, and the directories that were made for them."""

    files: dict[Path, _Filled] = field(default_factory=dict)
    directories: list[Path] = field(default_factory=list)


_GROUP: ContextVar[_Group | None] = ContextVar("infimum_group", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Files replaced inside are renamed at the end, all of them, or none where anything is raised before.

    Directories made inside are taken away again in that case. Inside another such block it is part of that one.
    """
    if _GROUP.get() is not None:
        yield
        return
    group = _Group()
    token = _GROUP.set(group)
    try:
        yield
        while group.files:
            _rename(group.files.pop(next(iter(group.files))))
        group.directories.clear()
    finally:
        _GROUP.reset(token)
        for filled in group.files.values():
            _drop(filled)
        for directory in reversed(group.directories):
            with suppress(OSError):
                directory.rmdir()


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it: the old file or the new one, never half.

    A file that is replaced keeps its mode, a new one gets what the umask leaves. Raises InputError.
    """
    # Through a symbolic link: the file it names is replaced, not the link.
    with together():
        place = Path(os.path.realpath(path))
        filled = _fill(place, write)
        group = _GROUP.get()
        assert group is not None  # noqa: S101 - this is such a block
        if (before := group.files.pop(place, None)) is not None:
            _drop(before)
        group.files[place] = filled


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file, replaced in one move."""
    replace_file(Path(path), lambda temporary: temporary.write_bytes(data))


def write_files(directory: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write files into a directory (made if missing): all of them, or none.

    Raises InputError where one of them is a link: what is written into a directory stays in it.
    """
    with together():
        make_directory(directory)
        for name in files:
            refuse_links(directory, name)
        for name, data in files.items():
            replace_file(directory / name, lambda temporary, data=data: temporary.write_bytes(data))  # type: ignore[misc]
    return tuple(directory / name for name in files)


def refuse_links(directory: Path, name: str) -> None:
    """InputError if anything on the way from `directory` (which may be a link itself) to `name` in it is a link."""
    place = directory
    for part in Path(name).parts:
        place = place / part
        if place.is_symlink():
            raise InputError(
                f"{place} is a link, which could lead out of {directory}; remove it, or write to another directory"
            )


def make_directory(directory: Path) -> None:
    """Make a directory and those above it; InputError if a file is in the way or it is not allowed."""
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    if (group := _GROUP.get()) is not None:
        group.directories += reversed(missing)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory} cannot be made: {error.strerror or error}") from error


def _fill(place: Path, write: Callable[[Path], object]) -> _Filled:
    if place.exists() and not place.is_file():
        raise InputError(f"{place} is not a regular file (a device, pipe or directory) and is not replaced")
    temporary = place.with_name(f".{place.name[:LONGEST]}.{secrets.token_hex(4)}.part")
    try:
        mode = stat.S_IMODE(place.stat().st_mode) & 0o777 if place.exists() else None
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}") from error
    held = _lock(file)
    if not held:  # Windows does not rename what is open
        os.close(file)
    filled = _Filled(place, temporary, file if held else None)
    try:
        write(temporary)
        if mode is not None:
            temporary.chmod(mode)
    except OSError as error:
        _drop(filled)
        raise InputError(f"{place} cannot be written: {error.strerror or error}") from error
    except BaseException:
        _drop(filled)
        raise
    return filled


def _rename(filled: _Filled) -> None:
    try:
        os.replace(filled.temporary, filled.place)
    except OSError as error:
        raise InputError(f"{filled.place} cannot be written: {error.strerror or error}") from error
    finally:
        _drop(filled)
    logger.info("wrote %r", str(filled.place))
    _sweep(filled.place)


def _drop(filled: _Filled) -> None:
    """Let go of the lock; what is still under the temporary name goes."""
    if filled.held is not None:
        os.close(filled.held)
    with suppress(OSError):
        filled.temporary.unlink(missing_ok=True)


def _sweep(place: Path) -> None:
    """Remove what killed processes left of this file: temporary files that nobody holds."""
    left = re.compile(rf"\.{re.escape(place.name[:LONGEST])}\.[0-9a-z_]{{8}}\.part")
    with suppress(OSError), os.scandir(place.parent) as entries:
        for entry in entries:
            if left.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    file = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                    try:
                        if _lock(file):
                            os.unlink(entry.path)
                    finally:
                        os.close(file)


def _lock(file: int) -> bool:
    """Hold a file until it is closed or the process ends, however it ends. False where another holds it.

    False too where the system or its disk has no such locks: there nothing is swept.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ModuleNotFoundError, OSError):
        return False
    return True
