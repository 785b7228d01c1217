"""What a chart is: the drawing, what it says in words, its series, and its values as a table."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from infimum.assessment._diagnostics.records import Curves, Diagnostics


class Series(NamedTuple):
    """Marks of one kind that can be shown and hidden; `key` names their colour and shape in the style sheet."""

    key: str
    label: str


class Chart(NamedTuple):
    """A drawing with words: `says` reads it out, `table` (head, rows of text) holds the same values."""

    key: str
    title: str
    says: str
    svg: Markup
    series: tuple[Series, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    logarithmic: Markup | None = None


def on_calibration(d: Diagnostics | Curves) -> str:
    """What a title adds where a chart shows the calibration rows and not the operation."""
    return ", on the calibration rows" if isinstance(d, Curves) else ""


def thinned(n: int, most: int) -> list[int]:
    """At most `most` of the numbers 0..n−1, evenly spread, the first and the last among them.

    >>> thinned(5, 3), thinned(2, 9)
    ([0, 2, 4], [0, 1])
    """
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]
