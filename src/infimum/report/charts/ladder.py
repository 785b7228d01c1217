"""The ladder: every figure on one axis, a strip each, so that its words can stand beside it."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from infimum._rounding import unrounded
from infimum.assessment._results import Assessment
from infimum.report.charts.scale import Scale, probability_axis, short
from infimum.report.charts.svg import percent, tag
from infimum.report.rungs import KINDS, Rung, rungs


class LadderStrips(NamedTuple):
    """Each figure with its strip, and the axis above them."""

    axis: Markup
    rows: tuple[tuple[Rung, str, Markup], ...]


def ladder_strips(a: Assessment) -> LadderStrips:
    """One strip for each figure, all on the same axis; the target is a line through them."""
    found = rungs(a)
    target = None if a.target is None else a.target.value
    scale = probability_axis([*(r.value for r in found), *(() if target is None else (target,))])
    rows = tuple((r, KINDS[r.kind], strip(r, scale, target)) for r in found)
    return LadderStrips(axis(scale, target), rows)


def axis(scale: Scale, target: float | None = None, about: int = 5) -> Markup:
    """The numbers of a strip's axis; the first and last are drawn inwards, not over the edge."""
    parts = []
    for value in scale.ticks(about):
        at = scale.at(value)
        anchor = "start" if at < 0.02 else "end" if at > 0.98 else "middle"
        parts.append(tag("text", short(value), x=percent(at), y="14", text_anchor=anchor))
    if target is not None:
        at = scale.at(target)
        anchor = "end" if at > 0.7 else "start" if at < 0.3 else "middle"
        label = f"target {unrounded(target)}"
        parts.append(tag("text", label, x=percent(at), y="30", text_anchor=anchor, class_="label s-target"))
    height = "20" if target is None else "34"
    return tag("svg", *parts, class_="strip", width="100%", height=height, aria_hidden="true")


def strip(rung: Rung, scale: Scale, target: float | None) -> Markup:
    """A figure's mark: a bound is an edge with all that may lie above it, others are dots with their interval.

    The strip is as high as its row, whatever the text beside it, and the mark in its middle.
    """
    x = percent(scale.at(rung.value))
    mark = [tag("title", f"{rung.label}: {rung.shown}")]
    if rung.kind in ("certified", "asymptotic"):
        width = percent(1 - scale.at(rung.value))
        mark.append(tag("rect", x=x, y="-6", width=width, height="12", class_="above"))
        mark.append(tag("line", x1=x, x2=x, y1="-12", y2="12", class_="edge"))
    else:
        if rung.interval is not None:
            low, high = (percent(scale.at(v)) for v in rung.interval)
            mark.append(tag("line", x1=low, x2=high, y1="0", y2="0", class_="whisker"))
        if rung.kind == "measured":
            diamond = tag("path", d="M0,-7L7,0L0,7L-7,0Z")
            mark.append(tag("svg", diamond, x=x, overflow="visible", width="1", height="1"))
        else:
            mark.append(tag("circle", cx=x, cy="0", r="5.5"))
    middle = tag(
        "svg",
        tag("g", *mark, class_=f"mark s-{rung.kind}"),
        y="50%",
        overflow="visible",
        width="100%",
        height="1",
    )
    return tag(
        "svg", *lines(scale, target), middle, class_="strip", width="100%", height="100%", aria_hidden="true"
    )


def lines(scale: Scale, target: float | None, about: int = 5) -> list[Markup]:
    """Grid lines of a strip, and the target's."""
    found = []
    for value in scale.ticks(about):
        x = percent(scale.at(value))
        found.append(tag("line", x1=x, x2=x, y1="0", y2="100%", class_="grid"))
    if target is not None:
        x = percent(scale.at(target))
        found.append(tag("line", x1=x, x2=x, y1="0", y2="100%", class_="rule s-target"))
    return found
