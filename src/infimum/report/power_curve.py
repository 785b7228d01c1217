"""The curve of a plan as one SVG: labels on a logarithmic axis, probability of success on the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from infimum._checks import Real
from infimum._rounding import floored, unrounded
from infimum.certification._planning import Plan, PlannedMethod
from infimum.report.wording import named

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 220, 40, 50

Scale = Callable[[Real], float]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, told apart by colour-blind readers too."""


def to_svg(p: Plan) -> str:
    """Curves of every method with a band of ± 2 standard errors of the simulation, and lines at the goals."""
    low = min(m.n[0] for m in p.methods)
    high = max(m.n[-1] for m in p.methods)
    span = math.log(max(high / low, 2.0))

    def x(n: Real) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(n / low) / span

    def y(power: Real) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - min(1.0, max(0.0, power)))

    title = (
        f"Probability of showing {unrounded(p.target)} at confidence {unrounded(p.confidence)}, "
        f"if the truth is {floored(p.expected, 6).rstrip('0')}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{escape(title)}</text>',
    ]
    for power in (0.0, 0.5, *(need.success for need in p.methods[0].needs), 1.0):
        parts.append(_line([(LEFT, y(power)), (WIDTH - RIGHT, y(power))], "#dddddd"))
        parts.append(
            f'<text x="{LEFT - 6}" y="{y(power) + 4:.1f}" text-anchor="end">{unrounded(power)}</text>'
        )
    for n in _ticks(low, high):
        parts.append(_line([(x(n), TOP), (x(n), HEIGHT - BOTTOM)], "#eeeeee"))
        parts.append(f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{n}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 12}">labels</text>')
    for i, m in enumerate(p.methods):
        colour = COLOURS[i % len(COLOURS)]
        if not m.exact:
            parts.append(_band(m, x, y, colour))
        parts.append(_line([(x(n), y(v)) for n, v in zip(m.n, m.power, strict=True)], colour, 1.8))
        at = TOP + 12 + 20 * i
        parts.append(_line([(WIDTH - RIGHT + 12, at), (WIDTH - RIGHT + 32, at)], colour, 3))
        parts.append(f'<text x="{WIDTH - RIGHT + 38}" y="{at + 4}">{escape(named(m.method))}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _line(points: list[tuple[Real, Real]], colour: str, width: Real = 1.0) -> str:
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _band(m: PlannedMethod, x: Scale, y: Scale, colour: str) -> str:
    rows = list(zip(m.n, m.power, m.standard_error, strict=True))
    around = [(x(n), y(v + 2 * e)) for n, v, e in rows] + [(x(n), y(v - 2 * e)) for n, v, e in reversed(rows)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in around)
    return f'<polygon points="{path}" fill="{colour}" opacity="0.12"/>'


def _ticks(low: int, high: int) -> list[int]:
    """1, 2, 5, 10, 20, … within the range."""
    found = [
        k * 10**e for e in range(int(math.log10(max(low, 1))), int(math.log10(high)) + 1) for k in (1, 2, 5)
    ]
    return [n for n in found if low <= n <= high]
