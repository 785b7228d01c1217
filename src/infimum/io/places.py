"""Where a command writes, seen before any work is spent: no output is an input, and none is another output.

Two names are one file where they lead to the same place, or to the same file of the disk (hard links, disks on which
capitals do not count).
"""

from __future__ import annotations

import os
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from infimum.errors import InputError
from infimum.io.replacing import refuse_links


@dataclass(frozen=True)
class Folder:
    """A directory, made if missing, into which files of these names go; with none it is the command's own."""

    path: Path
    names: tuple[str, ...] = ()


class _Place(NamedTuple):
    """One file to be written, or a directory `owned`, by its resolved path; `shown` is how it was given."""

    flag: str
    shown: Path
    real: str
    owned: bool = False


def check_places(
    outputs: Mapping[str, Path | Folder | Sequence[Path | Folder] | None],
    inputs: Mapping[str, str | Path | Sequence[str | Path] | None],
) -> None:
    """Raise InputError unless every output can be made and is neither an input nor another output.

    Outputs and inputs are named by the options that give them; None where one is not given. An input that is a
    directory is read with all that is in it, so nothing may be written there. A directory with names in it may be
    shared. Below a directory that is written into, links are refused; it may be one itself. Nothing is left behind.
    """
    given = _each(outputs)
    for flag, place in given:
        _check_can_be_made(flag, place)
    written = [found for flag, place in given for found in _written(flag, place)]
    read = [(flag, Path(path)) for flag, path in _each(inputs)]
    for place in written:
        for flag, path in read:
            if _same(place.real, _real(path)):
                raise InputError(
                    f"{place.flag}: {place.shown} is an input too ({flag}) and would be lost; write to another place"
                )
            if path.is_dir() and _inside(place.real, _real(path)):
                raise InputError(
                    f"{place.flag}: {place.shown} lies in {path}, which is an input too ({flag}); write elsewhere"
                )
            if place.owned and _inside(_real(path), place.real):
                raise InputError(
                    f"{place.flag}: {path} ({flag}) is an input too and lies in {place.shown}, where the output goes; "
                    "write to another place"
                )
    for i, place in enumerate(written):
        for other in written[:i]:
            if _clash(place, other):
                raise InputError(
                    f"{place.flag} is {place.shown}, as {other.flag} is: one would be lost; name another file"
                )


def check_can_make(path: Path, *, directory: bool = False) -> None:
    """See, before work is spent, that a file (or directory) can be made at `path`; nothing is left behind."""
    if directory and path.suffix == ".parquet" and not _is_utf8(path):  # its parts are read again by pyarrow
        raise InputError(f"{path} has a name that is not UTF-8; choose another")
    if path.exists() and path.is_dir() != directory:
        wanted, there = ("directory", "file") if directory else ("file", "directory")
        raise InputError(f"{path} is a {there}; a {wanted} is to be written there")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"{path} is a device or pipe and is not written to; - stands for stdout where that is possible"
        )
    place = path.absolute() if directory else path.absolute().parent
    if not directory and not place.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {place}")
    while not place.is_dir():
        if place.exists():
            raise InputError(f"{path} cannot be made: {place} is a file")
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _each(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every path with its option; some options are given several times, some not at all."""
    found = []
    for flag, paths in given.items():
        several = paths if isinstance(paths, list | tuple) else [paths]
        found += [(flag, path) for path in several if path is not None]
    return found


def _check_can_be_made(flag: str, place: Path | Folder) -> None:
    if isinstance(place, Path):
        check_can_make(place)
        return
    check_can_make(place.path, directory=True)
    for name in place.names:
        refuse_links(place.path, name)
        file = place.path / name
        if file.exists() and not file.is_file():
            raise InputError(f"{flag}: {file} is to be a file, but it is a directory, device or pipe")


def _written(flag: str, place: Path | Folder) -> list[_Place]:
    if isinstance(place, Path):
        return [_Place(flag, place, _real(place))]
    if not place.names:
        return [_Place(flag, place.path, _real(place.path), owned=True)]
    files = [place.path / name for name in place.names]
    return [_Place(flag, file, _real(file)) for file in files]


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError as error:  # a NUL in it
        raise InputError(f"{str(path)!r} is no name of a file ({error})") from error


def _same(a: str, b: str) -> bool:
    """Whether two resolved paths are one file, or directory, of the disk."""
    if a == b:
        return True
    first, second = _identity(a), _identity(b)
    return first is not None and first == second


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode; None for what is not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return found.st_dev, found.st_ino


def _inside(path: str, directory: str) -> bool:
    """Whether a resolved path lies below a directory, at any depth."""
    return any(_same(str(above), directory) for above in Path(path).parents)


def _clash(a: _Place, b: _Place) -> bool:
    if _same(a.real, b.real):
        return True
    if (a.owned and _inside(b.real, a.real)) or (b.owned and _inside(a.real, b.real)):
        return True
    # Neither is there yet, perhaps, and on some disks they would be one: names that differ in capitals only.
    (one, name), (two, other) = os.path.split(a.real), os.path.split(b.real)
    return _folded(name) == _folded(other) and _same(one, two)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
