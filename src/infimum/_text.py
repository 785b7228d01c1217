"""Text from outside, made harmless and short: one place for everything that is printed."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 480
"""Characters of a message: with the program's name before it, a line has at most 500."""

NAMES = 10
"""Names that a message lists; the rest is counted."""


def printable(text: str) -> str:
    r"""Text from outside in one line, what cannot be shown (control characters, halves of letters) replaced.

    The joiners that Persian, Indic scripts and emoji need stay; marks that turn the direction of text do not.

    >>> printable("a\x1b[2J\nb")
    'a�[2J b'
    """
    return "".join(
        c if c.isprintable() or c in "\u200c\u200d" else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def in_brief(text: str, most: int = MOST) -> str:
    """A message in one printable line of at most `most` characters: its middle goes, where it begins and ends stays.

    What was wrong stands at the beginning, what to do at the end; in between lies what came from outside.

    >>> in_brief("ids.csv: the name " + "x" * 1000 + " is taken; choose another", most=52)
    'ids.csv: the name xxxxxxxxxxxx…taken; choose another'
    """
    if len(text) > most:  # cut first: a name can have millions of letters
        begin = (most - 1) * 3 // 5
        text = f"{text[:begin]}…{text[begin + 1 - most :]}"
    return printable(text)


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first ten of many.

    >>> listed(["a", "b"]), listed([]), listed([str(i) for i in range(12)])
    ('a, b', 'nothing', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    known = [in_brief(name, 40) for name in names]
    more = f" and {len(known) - NAMES:,} more" if len(known) > NAMES else ""
    return (", ".join(known[:NAMES]) or "nothing") + more
