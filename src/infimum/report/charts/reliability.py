"""Reliability diagram: the accuracy of inputs against the success level they were given."""

from __future__ import annotations

from infimum._rounding import floor4, interval
from infimum.assessment._diagnostics.records import Curves, Diagnostics
from infimum.report.charts.chart import Chart, Series, on_calibration
from infimum.report.charts.scale import probability_axis
from infimum.report.charts.svg import Plot


def reliability_chart(d: Diagnostics | Curves) -> Chart | None:
    """None without labels."""
    if not d.reliability:
        return None
    title = f"Success level against accuracy{on_calibration(d)}"
    above = [b for b in d.reliability if b.accuracy.high < b.level]
    says = (
        f"In {len(above)} of {len(d.reliability)} bins the accuracy is below the mean success level by more than "
        "its 95 % interval allows: there λ(x) promises too much. On the diagonal it would be just right."
    )
    lowest = min(min(b.level, b.accuracy.low) for b in d.reliability)
    axis = probability_axis([b.level for b in d.reliability]), probability_axis([lowest])
    plot = Plot(*axis)
    plot.grid("mean success level λ(x) of the bin", "accuracy")
    start = max(axis[0].low, axis[1].low)
    plot.line([(start, start), (1.0, 1.0)], "diagonal")
    for b in d.reliability:
        acc = b.accuracy
        tip = (
            f"λ(x) from {b.low:.2f} to {b.high:.2f}: accuracy {acc.value:.4f} "
            f"{interval(acc.low, acc.high)}, mean level {floor4(b.level)}, {acc.n:,} inputs"
        )
        plot.dot(b.level, acc.value, "accuracy", tip, (acc.low, acc.high))
    return Chart(
        key="reliability",
        title=title,
        says=says,
        svg=plot.svg("reliability", title, says),
        series=(
            Series("accuracy", "accuracy, 95 % interval"),
            Series("diagonal", "accuracy = λ(x)"),
        ),
        head=("λ(x) from", "below", "mean λ(x)", "accuracy", "95 % interval", "inputs"),
        rows=tuple(
            (
                f"{b.low:.2f}",
                f"{b.high:.2f}",
                floor4(b.level),
                f"{b.accuracy.value:.4f}",
                interval(b.accuracy.low, b.accuracy.high),
                f"{b.accuracy.n:,}",
            )
            for b in d.reliability
        ),
    )
