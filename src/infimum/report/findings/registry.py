"""The codes of what can be found, each with its sentence and its meaning: one list for print, docs and --ignore."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from infimum._text import printable
from infimum.errors import InputError
from infimum.io.findings import Finding

Words = Callable[..., str]


@dataclass(frozen=True)
class Code:
    """What a code means, for the documentation, and the sentence that its data make."""

    meaning: str
    words: Words


CODES: dict[str, Code] = {}


def says(code: str, meaning: str) -> Callable[[Words], Words]:
    """Register a function from a finding's data to its sentence."""

    def register(words: Words) -> Words:
        if code in CODES:
            raise ValueError(f"the code {code} is there twice")
        CODES[code] = Code(meaning, words)
        return words

    return register


def constant(code: str, meaning: str, sentence: str) -> None:
    """Register a code whose sentence is always the same."""
    says(code, meaning)(lambda: sentence)


def said(finding: Finding) -> str:
    """The sentence of a finding; of one that this version does not know (a file of another), code and data."""
    known = CODES.get(finding.code)
    if known is None:
        return printable(f"{finding.code}: {finding.data}")
    try:
        return known.words(**finding.data)
    except (TypeError, ValueError, KeyError, AttributeError):  # a file may hold any data
        return printable(f"{finding.code}: {finding.data}")


def ignored(codes: Iterable[str]) -> list[str]:
    """One line, that findings of these codes were made and are not told because the user asked so; none without any.

    >>> ignored(["capped", "not-alike"]), ignored([])
    (['ignored as asked: capped, not-alike'], [])
    """
    known = ", ".join(map(printable, codes))
    return [f"ignored as asked: {known}"] if known else []


VERDICTS = ("alike-gate", "baseline-gate", "bound-withheld", "rejected-by-test", "target-gate")
"""Codes of what a gate, a table of bounds or their assumptions consist of: without these there is no result to read."""


def check_codes(codes: Iterable[str]) -> frozenset[str]:
    """These codes; InputError for one that there is not, naming the nearest, and for what is part of a verdict."""
    for code in codes:
        if code in VERDICTS:
            raise InputError(f"{code} is part of the verdict itself and cannot be ignored; leave it out")
        if code not in CODES:
            near = difflib.get_close_matches(code[:60], CODES, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise InputError(
                f"there is no finding {printable(code)!r} to ignore; {meant}All of them: docs/findings.md"
            )
    return frozenset(codes)
