"""Distributions of the success level: correct against incorrect inputs, real inputs against samples."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from infimum.diagnostics.base import Diagnostics
from infimum.report.charts.base import Chart, Series
from infimum.report.charts.scale import Scale, round_step, short
from infimum.report.charts.svg import Plot

SMALLEST = 1e-4
"""Shares below this lie under the logarithmic axis."""

Columns = Sequence[tuple[Series, Sequence[float]]]


def levels_chart(d: Diagnostics) -> Chart | None:
    """λ(x) of all inputs, or where labels exist of the correct and the incorrect; None without inputs."""
    groups = [
        (Series("correct", "correct"), [b.correct for b in d.levels]),
        (Series("incorrect", "incorrect"), [b.incorrect for b in d.levels]),
    ]
    columns = [(series, [v for v in values if v is not None]) for series, values in groups]
    columns = [(series, values) for series, values in columns if values]
    if not columns:
        columns = [(Series("all", "all inputs"), [b.share for b in d.levels])]
    said = "; ".join(
        f"{_mass(d, values, 0.9):.1%} of {'all' if series.key == 'all' else f'the {series.label}'} inputs"
        for series, values in columns
    )
    says = f"Share with a success level of 0.9 or more: {said}."
    return _histogram("levels", "Distribution of success levels", says, d, columns)


def fidelity_chart(d: Diagnostics) -> Chart | None:
    """λ(x) of the real inputs against that of the samples of the manifold; None where nothing was sampled."""
    samples = [b.samples for b in d.levels if b.samples is not None]
    if not samples:
        return None
    real = [b.share for b in d.levels]
    columns = [(Series("real", "operation inputs"), real), (Series("samples", "samples"), samples)]
    says = (
        f"The two distributions differ by at most {distance(real, samples):.4f} in their shares below any of the "
        "bins' edges (0: alike, 1: apart)."
    )
    return _histogram("fidelity", "Success levels, real against sampled", says, d, columns)


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Largest difference of two cumulative distributions at the edges of their bins (Kolmogorov–Smirnov).

    >>> distance([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])
    0.5
    """
    largest = difference = 0.0
    for a, b in zip(one, other, strict=True):
        difference += a - b
        largest = max(largest, abs(difference))
    return largest


def _mass(d: Diagnostics, values: Sequence[float], start: float) -> float:
    return sum(v for b, v in zip(d.levels, values, strict=True) if b.low >= start - 1e-9)


def _histogram(key: str, title: str, says: str, d: Diagnostics, columns: Columns) -> Chart | None:
    if not d.levels:
        return None
    return Chart(
        key=key,
        title=title,
        says=says,
        svg=_draw(key, title, says, d, columns, logarithmic=False),
        logarithmic=_draw(f"{key}-log", title, says, d, columns, logarithmic=True),
        series=tuple(series for series, _ in columns),
        head=("λ(x) from", "below", *(f"share of {series.label}" for series, _ in columns)),
        rows=tuple(
            (f"{b.low:.2f}", f"{b.high:.2f}", *(f"{values[i]:.4f}" for _, values in columns))
            for i, b in enumerate(d.levels)
        ),
    )


def _draw(key: str, title: str, says: str, d: Diagnostics, columns: Columns, *, logarithmic: bool) -> Markup:
    highest = max(max(values) for _, values in columns)
    lowest = min((b.low for i, b in enumerate(d.levels) if any(v[i] > 0 for _, v in columns)), default=0.0)
    step = round_step(max(highest, 0.02) / 4)
    top = 1.0 if logarithmic else -((-highest) // step) * step
    start = max(0.0, (lowest * 10 // 1) / 10)
    plot = Plot(Scale(start, 1.0), Scale(SMALLEST if logarithmic else 0.0, top, logarithmic))
    ticks = [(v, short(100 * v) + " %") for v in plot.y.ticks(5)]
    plot.grid("success level λ(x)", "share of the group", ticks)
    width = len(columns)
    for place, (series, values) in enumerate(columns):
        for b, value in zip(d.levels, values, strict=True):
            if value > 0:
                part = (b.high - b.low) * 0.92 / width
                left = b.low + place * part + 0.04 * (b.high - b.low)
                tip = f"{series.label}: {value:.2%} with λ(x) from {b.low:.2f} to {b.high:.2f}"
                plot.bar(left, left + part, value, series.key, tip)
    return plot.svg(key, title, says)
