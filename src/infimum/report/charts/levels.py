"""Distributions of the success level: correct against incorrect inputs, real inputs against samples."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from infimum.assessment._diagnostics.records import Diagnostics
from infimum.assessment._results import Assessment
from infimum.report.charts.chart import Chart, Series
from infimum.report.charts.scale import Scale, round_step, short
from infimum.report.charts.svg import Plot

SMALLEST = 1e-4
"""Shares below this lie under the logarithmic axis."""

Columns = Sequence[tuple[Series, Sequence[float]]]
Bins = Sequence[tuple[float, float]]


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
    return _histogram("levels", "Distribution of success levels", says, _bins(d), columns)


def fidelity_chart(a: Assessment) -> Chart | None:
    """λ(x) of features held out against that of samples of the manifold that was fitted to others.

    In an assessment without them the operation inputs stand for the features. None where nothing was sampled.
    """
    compared = fidelity_levels(a)
    if compared is None:
        return None
    bins, (name, real), samples = compared
    columns = [(Series("real", name), real), (Series("samples", "samples"), samples)]
    says = (
        f"The two distributions differ by at most {distance(real, samples):.4f} in their shares below any of the "
        "bins' edges (0: alike, 1: apart)."
    )
    return _histogram("fidelity", "Success levels, real against sampled", says, bins, columns)


def fidelity_levels(a: Assessment) -> tuple[Bins, tuple[str, Sequence[float]], Sequence[float]] | None:
    """Bins of λ(x), what is real and its shares, and the shares of the samples; None where nothing was sampled."""
    if a.fidelity is not None:
        n = len(a.fidelity.levels_real)
        bins = [(k / n, (k + 1) / n) for k in range(n)]
        return bins, ("features held out", a.fidelity.levels_real), a.fidelity.levels_samples
    levels = () if a.diagnostics is None else a.diagnostics.levels
    samples = [b.samples for b in levels if b.samples is not None]
    if a.diagnostics is None or not samples:
        return None
    return _bins(a.diagnostics), ("operation inputs", [b.share for b in levels]), samples


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


def _bins(d: Diagnostics) -> Bins:
    return [(b.low, b.high) for b in d.levels]


def _mass(d: Diagnostics, values: Sequence[float], start: float) -> float:
    return sum(v for b, v in zip(d.levels, values, strict=True) if b.low >= start - 1e-9)


def _histogram(key: str, title: str, says: str, bins: Bins, columns: Columns) -> Chart | None:
    if not bins:
        return None
    return Chart(
        key=key,
        title=title,
        says=says,
        svg=_draw(key, title, says, bins, columns, logarithmic=False),
        logarithmic=_draw(f"{key}-log", title, says, bins, columns, logarithmic=True),
        series=tuple(series for series, _ in columns),
        head=("λ(x) from", "below", *(f"share of {series.label}" for series, _ in columns)),
        rows=tuple(
            (f"{low:.2f}", f"{high:.2f}", *(f"{values[i]:.4f}" for _, values in columns))
            for i, (low, high) in enumerate(bins)
        ),
    )


def _draw(key: str, title: str, says: str, bins: Bins, columns: Columns, *, logarithmic: bool) -> Markup:
    highest = max(max(values) for _, values in columns)
    lowest = min((low for i, (low, _) in enumerate(bins) if any(v[i] > 0 for _, v in columns)), default=0.0)
    step = round_step(max(highest, 0.02) / 4)
    top = 1.0 if logarithmic else -((-highest) // step) * step
    start = max(0.0, (lowest * 10 // 1) / 10)
    plot = Plot(Scale(start, 1.0), Scale(SMALLEST if logarithmic else 0.0, top, logarithmic))
    ticks = [(v, short(100 * v) + " %") for v in plot.y.ticks(5)]
    plot.grid("success level λ(x)", "share of the group", ticks)
    width = len(columns)
    for place, (series, values) in enumerate(columns):
        for (low, high), value in zip(bins, values, strict=True):
            if value > 0:
                part = (high - low) * 0.92 / width
                left = low + place * part + 0.04 * (high - low)
                tip = f"{series.label}: {value:.2%} with λ(x) from {low:.2f} to {high:.2f}"
                plot.bar(left, left + part, value, series.key, tip)
    return plot.svg(key, title, says)
