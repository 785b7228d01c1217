"""Classes on one axis: mean success level against precision and recall, a strip each."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from infimum._rounding import floor4, interval
from infimum.assessment._diagnostics.records import ClassFigures, Proportion
from infimum.report.charts.ladder import axis, lines
from infimum.report.charts.scale import Scale, probability_axis
from infimum.report.charts.svg import percent, tag

TICKS = 4
"""About so many numbers on the axis: the column is narrow."""


class ClassStrips(NamedTuple):
    """The axis, and a strip for each class in the order given."""

    axis: Markup
    strips: tuple[Markup, ...]


def class_strips(classes: list[ClassFigures]) -> ClassStrips:
    """Draw the classes in the order given, on an axis that holds all of them and their intervals."""
    values = [
        v
        for c in classes
        for v in (c.level, *(p.low for p in (c.precision, c.recall) if p is not None))
        if v is not None
    ]
    scale = probability_axis(values)
    return ClassStrips(axis(scale, about=TICKS), tuple(_strip(c, scale) for c in classes))


def _strip(c: ClassFigures, scale: Scale) -> Markup:
    parts = lines(scale, None, TICKS)
    for kind, y, proportion in (("precision", 9, c.precision), ("recall", 19, c.recall)):
        if proportion is not None:
            parts.append(_interval(kind, y, proportion, scale))
    if c.level is not None:
        x = percent(scale.at(c.level))
        title = tag("title", f"mean λ(x) {floor4(c.level)}")
        line = tag("line", x1=x, x2=x, y1="3", y2="25", class_="edge")
        parts.append(tag("g", title, line, class_="mark s-level"))
    return tag("svg", *parts, class_="strip", width="100%", height="28", aria_hidden="true")


def _interval(kind: str, y: int, p: Proportion, scale: Scale) -> Markup:
    low, high, at = (percent(scale.at(v)) for v in (p.low, p.high, p.value))
    return tag(
        "g",
        tag("title", f"{kind} {p.value:.4f} {interval(p.low, p.high)}, {p.n:,} inputs"),
        tag("line", x1=low, x2=high, y1=str(y), y2=str(y), class_="whisker"),
        tag("circle", cx=at, cy=str(y), r="4"),
        class_=f"mark s-{kind}",
    )
