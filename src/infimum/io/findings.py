"""What logic finds and a reader must be told: a code and its data. The sentence is made in `report/findings`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from infimum.io.faces import words
from infimum.io.records import Record

Level = Literal["warning", "note"]


@dataclass(frozen=True)
class Finding(Record):
    """One thing found: its `code`, which does not change from release to release, and the figures that belong to it.

    A warning says that something may be wrong; a note says how things were done. `ignored`: the user asked not to be
    told (`--ignore`). `str(finding)` is the sentence.

    >>> str(Finding("few-operation-inputs", "warning", {"n": 12}))
    'only 12 operation inputs'
    """

    code: str
    level: Level
    data: dict[str, Any] = field(default_factory=dict, hash=False)
    ignored: bool = False

    def __str__(self) -> str:
        """The sentence that report/findings makes of it."""
        return words().said(self)


def warning(code: str, **data: Any) -> Finding:
    """A finding that something may be wrong."""
    return Finding(code, "warning", data)


def note(code: str, **data: Any) -> Finding:
    """A finding of how things were done."""
    return Finding(code, "note", data)


def those(found: Iterable[Finding | None]) -> tuple[Finding, ...]:
    """What was found, without the places where nothing was."""
    return tuple(finding for finding in found if finding is not None)


def ignoring(found: Iterable[Finding], codes: Collection[str]) -> tuple[Finding, ...]:
    """The same findings, those of these codes marked as ignored.

    >>> [finding.ignored for finding in ignoring([warning("not-alike"), note("capped")], {"capped"})]
    [False, True]
    """
    return tuple(replace(f, ignored=True) if f.code in codes else f for f in found)
