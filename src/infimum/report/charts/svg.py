"""SVG that keeps its text and marks at one size at every width.

Places are percentages of an `<svg>` that fills its box, so that letters and dots do not scale with it; lines
and areas, which need numbers, are drawn in a stretched inner `<svg>` with strokes that do not scale.
No style attribute is used: the page's content security policy refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from infimum._text import printable
from infimum.report.charts.scale import Scale, short

INNER = 1000
"""Width and height of the stretched part, in its own units."""


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element; text is cleaned and escaped, Markup is not. `class_` is class, `stroke_width` is stroke-width.

    >>> tag("text", "a<b", class_="x", x="5%")
    Markup('<text class="x" x="5%">a&lt;b</text>')
    """
    inside = Markup("").join(c if isinstance(c, Markup) else printable(c) for c in children)
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, given, inside)


def percent(fraction: float) -> str:
    """A place as a percentage.

    >>> percent(0.12345)
    '12.35%'
    """
    return f"{100 * fraction:.2f}%"


class Plot:
    """Marks on two axes; `svg` puts them together."""

    def __init__(self, x: Scale, y: Scale) -> None:
        self.x, self.y = x, y
        self._behind: list[Markup] = []
        self._stretched: list[Markup] = []
        self._marks: list[Markup] = []

    def grid(self, x_label: str, y_label: str, y_ticks: Sequence[tuple[float, str]] | None = None) -> None:
        """Grid lines, tick labels and the names of the axes."""
        for value in self.x.ticks():
            x = percent(self.x.at(value))
            self._behind += [
                tag("line", x1=x, x2=x, y1="0%", y2="100%", class_="grid"),
                tag("text", short(value), x=x, y="100%", dy="16", text_anchor="middle"),
            ]
        for value, label in y_ticks or [(v, short(v)) for v in self.y.ticks(5)]:
            y = percent(1 - self.y.at(value))
            self._behind += [
                tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="grid"),
                tag("text", label, x="0%", y=y, dx="-6", dy="4", text_anchor="end"),
            ]
        self._behind += [
            tag("text", x_label, x="50%", y="100%", dy="34", text_anchor="middle", class_="axis"),
            tag("text", y_label, x="0%", y="0%", dx="-44", dy="-12", class_="axis"),
        ]

    def _inner(self, x: float, y: float) -> str:
        return f"{INNER * self.x.at(x):.1f},{INNER * (1 - self.y.at(y)):.1f}"

    def line(self, points: Iterable[tuple[float, float]], series: str) -> None:
        """A line through points."""
        path = "M" + "L".join(self._inner(x, y) for x, y in points)
        self._stretched.append(tag("path", d=path, class_=f"line s-{series}"))

    def area(
        self, upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], series: str
    ) -> None:
        """The band between two lines over the same places."""
        path = "M" + "L".join(self._inner(x, y) for x, y in [*upper, *reversed(lower)]) + "Z"
        self._stretched.append(tag("path", d=path, class_=f"area s-{series}"))

    def bar(self, left: float, right: float, height: float, series: str, tip: str) -> None:
        """A bar from the axis up."""
        x, top = self.x.at(left), self.y.at(height)
        self._marks.append(
            tag(
                "rect",
                tag("title", tip),
                x=percent(x),
                y=percent(1 - top),
                width=percent(self.x.at(right) - x),
                height=percent(top),
                class_=f"mark bar s-{series}",
            )
        )

    def dot(
        self, x: float, y: float, series: str, tip: str, interval: tuple[float, float] | None = None
    ) -> None:
        """A dot, with its interval as a vertical line."""
        px = percent(self.x.at(x))
        parts = [tag("title", tip)]
        if interval is not None:
            low, high = (percent(1 - self.y.at(v)) for v in interval)
            parts.append(tag("line", x1=px, x2=px, y1=low, y2=high, class_="whisker"))
        parts.append(tag("circle", cx=px, cy=percent(1 - self.y.at(y)), r="4"))
        self._marks.append(tag("g", *parts, class_=f"mark s-{series}"))

    def hover(self, x: float, y: float, series: str, tip: str) -> None:
        """A point of a line that shows only when it is pointed at."""
        self._marks.append(
            tag(
                "circle",
                tag("title", tip),
                cx=percent(self.x.at(x)),
                cy=percent(1 - self.y.at(y)),
                r="6",
                class_=f"mark spot s-{series}",
            )
        )

    def upright(self, x: float, label: str, series: str) -> None:
        """A vertical line with its name at the top, on the side where there is room."""
        at = self.x.at(x)
        px = percent(at)
        dx, anchor = ("-5", "end") if at > 0.5 else ("5", "start")
        self._marks.append(
            tag(
                "g",
                tag("line", x1=px, x2=px, y1="0%", y2="100%", class_="rule"),
                tag("text", label, x=px, y="0%", dx=dx, dy="12", text_anchor=anchor, class_="label"),
                class_=f"s-{series}",
            )
        )

    def level(self, y: float, series: str) -> None:
        """A horizontal line."""
        py = percent(1 - self.y.at(y))
        self._marks.append(tag("line", x1="0%", x2="100%", y1=py, y2=py, class_=f"rule s-{series}"))

    def svg(self, key: str, title: str, says: str) -> Markup:
        """The drawing, named and described for those who cannot see it."""
        inner = tag(
            "svg",
            *self._stretched,
            viewBox=f"0 0 {INNER} {INNER}",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        )
        return tag(
            "svg",
            tag("title", title, id=f"{key}-title"),
            tag("desc", says, id=f"{key}-desc"),
            *self._behind,
            inner,
            *self._marks,
            class_="chart",
            width="100%",
            height="100%",
            role="img",
            tabindex="0",
            aria_labelledby=f"{key}-title",
            aria_describedby=f"{key}-desc",
        )
