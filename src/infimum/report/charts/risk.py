"""Risk–coverage curve: the error among accepted inputs when those of low λ(x) are turned away."""

from __future__ import annotations

from infimum._rounding import error_interval, floor4
from infimum.assessment._diagnostics.records import Curves, Diagnostics
from infimum.report.charts.chart import Chart, Series, on_calibration, thinned
from infimum.report.charts.scale import Scale, round_step, short
from infimum.report.charts.svg import Plot

POINTS = 100


def risk_chart(d: Diagnostics | Curves) -> Chart | None:
    """None without labels."""
    if not d.risk_coverage or d.aurc is None:
        return None
    title = f"Risk–coverage curve{on_calibration(d)}"
    points = [d.risk_coverage[i] for i in thinned(len(d.risk_coverage), POINTS)]
    overall = 1 - points[-1].accuracy.value
    half = min(points, key=lambda p: abs(p.coverage - 0.5))
    says = (
        f"Accepting every input, {overall:.2%} are wrong; accepting the {half.coverage:.0%} of highest λ(x), "
        f"{1 - half.accuracy.value:.2%} are. Area under the curve (AURC): {d.aurc:.5f}."
    )
    # Intervals of the first few inputs reach to 1 and would press the curve to the floor.
    highest = max(
        [1 - p.accuracy.value for p in points] + [1 - p.accuracy.low for p in points[-1:]] + [0.001]
    )
    step = round_step(highest / 4)
    plot = Plot(Scale(0.0, 1.0), Scale(0.0, -((-highest * 1.05) // step) * step))
    ticks = [(v, short(100 * v) + " %") for v in plot.y.ticks(5)]
    plot.grid("coverage: share of the inputs accepted", "risk: error among them", ticks)
    plot.area(
        [(p.coverage, 1 - p.accuracy.low) for p in points],
        [(p.coverage, 1 - p.accuracy.high) for p in points],
        "band",
    )
    plot.line([(p.coverage, 1 - p.accuracy.value) for p in points], "risk")
    for p in points:
        tip = (
            f"accept λ(x) ≥ {floor4(p.threshold)}: {p.coverage:.1%} of the inputs ({p.accuracy.n:,}), "
            f"error {1 - p.accuracy.value:.2%} {error_interval(p.accuracy.low, p.accuracy.high, 2)}"
        )
        if len(points) == 1:  # all inputs have one λ(x): neither the line nor the band would be seen
            ends = 1 - p.accuracy.high, 1 - p.accuracy.low
            plot.dot(p.coverage, 1 - p.accuracy.value, "risk", tip, ends)
        else:
            plot.hover(p.coverage, 1 - p.accuracy.value, "risk", tip)
    return Chart(
        key="risk",
        title=title,
        says=says,
        svg=plot.svg("risk", title, says),
        series=(Series("risk", "error among accepted inputs"), Series("band", "95 % interval at each point")),
        head=("accept λ(x) ≥", "coverage", "error", "95 % interval", "inputs"),
        rows=tuple(
            (
                floor4(p.threshold),
                f"{p.coverage:.2%}",
                f"{1 - p.accuracy.value:.3%}",
                error_interval(p.accuracy.low, p.accuracy.high, 3),
                f"{p.accuracy.n:,}",
            )
            for p in points
        ),
    )
