"""The one-line faces of results, `summary()` and `save()`: a record has them, and `report` says what they show.

So no record imports its report. `report/faces.py` registers what is shown of every kind of result; the package itself
has it imported when the first face is looked at.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

REPORTS: list[str] = []
"""Modules that register faces when they are imported."""


class Face(NamedTuple):
    """What is shown of a result: its text for the terminal, and the pages that are saved, by file name."""

    text: Callable[[Any], str]
    pages: Callable[[Any], dict[str, str]] | None = None


_FACES: dict[type, Face] = {}


def register(kind: type, face: Face) -> None:
    """From now on, results of this kind are shown so."""
    _FACES[kind] = face


def face_of(result: object) -> Face:
    """What is shown of this result."""
    if type(result) not in _FACES:
        _load()
    return _FACES[type(result)]


def _load() -> None:
    for name in REPORTS:
        importlib.import_module(name)


class Words(NamedTuple):
    """What is said of a finding."""

    said: Callable[[Any], str]


_WORDS: list[Words] = []


def register_words(words: Words) -> None:
    """From now on, findings are put into words so."""
    _WORDS[:] = [words]


def words() -> Words:
    """How findings are put into words."""
    if not _WORDS:
        _load()
    return _WORDS[0]


def codes_ignored(findings: Iterable[Any]) -> tuple[str, ...]:
    """Codes of those findings that were asked to be ignored, each once."""
    return tuple(dict.fromkeys(f.code for f in findings if f.ignored))


class Shown:
    """A result that a person can read; its `findings` are codes, `warnings` and `notes` are their sentences."""

    findings: tuple[Any, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be wrong, a sentence each; what was asked to be ignored is left out."""
        return self._said("warning")

    @property
    def notes(self) -> tuple[str, ...]:
        """How things were done, a sentence each; what was asked to be ignored is left out."""
        return self._said("note")

    @property
    def ignored(self) -> tuple[str, ...]:
        """Codes of what was found and asked to be ignored."""
        return codes_ignored(self.findings)

    def _said(self, level: str) -> tuple[str, ...]:
        return tuple(words().said(f) for f in self.findings if f.level == level and not f.ignored)

    def summary(self) -> str:
        """What a person should read, for the terminal: figures, what they are, and every warning."""
        return face_of(self).text(self)


class Saved(Shown):
    """A result that is saved with its pages: the files of `WRITTEN` in one directory, the first of them JSON."""

    WRITTEN: ClassVar[tuple[str, ...]]

    @abstractmethod
    def to_json(self) -> str:
        """The JSON document; a `Document` brings it."""

    def save(self, directory: str | Path) -> tuple[Path, ...]:
        """Write the files of `WRITTEN` into a directory: all of them, or none. Returns their paths."""
        from infimum.io.replacing import write_files

        pages = face_of(self).pages
        files = {self.WRITTEN[0]: self.to_json(), **(pages(self) if pages else {})}
        return write_files(Path(directory), {name: files[name].encode() for name in self.WRITTEN})
