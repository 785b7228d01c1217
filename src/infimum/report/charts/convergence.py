"""λ against the number of samples, with its sampling error and where sampling stopped."""

from __future__ import annotations

from infimum._rounding import floor4, floored
from infimum.assessment._results import Assessment
from infimum.report.charts.chart import Chart, Series, thinned
from infimum.report.charts.scale import Scale, round_step
from infimum.report.charts.svg import Plot

POINTS = 120


def convergence_chart(a: Assessment) -> Chart | None:
    """None where nothing was sampled."""
    history = [a.lambda_.history[i] for i in thinned(len(a.lambda_.history), POINTS)]
    if not history or a.lambda_.stopping is None:
        return None
    title = "Convergence of λ"
    real = a.lambda_operation.value
    ends = [b.value + sign * b.standard_error for b in history for sign in (-1, 1)]
    low, high = min([*ends, real]), max([*ends, real])
    step = round_step(max(high - low, 1e-4) / 4)
    low, high = (low // step) * step, -((-high) // step) * step
    last = history[-1]
    plot = Plot(Scale(0.0, last.n * 1.04), Scale(low, high if high > low else low + step))
    plot.grid("samples", "λ")
    band = [[(float(b.n), b.value + sign * b.standard_error) for b in history] for sign in (1, -1)]
    plot.area(band[0], band[1], "band")
    plot.level(real, "real")
    plot.line([(float(b.n), b.value) for b in history], "lambda")
    rule = str(a.lambda_.stopping.get("rule", ""))
    ended = "rule held" if a.lambda_.converged else "rule did not hold"
    plot.upright(float(last.n), f"stopped: {ended}", "stop")
    for b in history:
        plot.hover(
            float(b.n),
            b.value,
            "lambda",
            f"{b.n:,} samples: λ = {floored(b.value, 5)} ± {b.standard_error:.5f}",
        )
    says = (
        f"λ on samples ends at {floor4(last.value)} after {last.n:,} samples, with a sampling standard error of "
        f"{last.standard_error:.5f}; the stopping rule ({rule}) {'held' if a.lambda_.converged else 'did not hold'}. "
        f"λ on the real operation inputs is {floor4(real)}."
    )
    return Chart(
        key="convergence",
        title=title,
        says=says,
        svg=plot.svg("convergence", title, says),
        series=(
            Series("lambda", "λ on samples"),
            Series("band", "± 1 sampling standard error"),
            Series("real", "λ on operation inputs"),
        ),
        head=("samples", "λ", "sampling standard error"),
        rows=tuple((f"{b.n:,}", f"{floored(b.value, 5)}", f"{b.standard_error:.5f}") for b in history),
    )
