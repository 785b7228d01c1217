"""The charts of a report as matplotlib figures, for papers: PNG, SVG or PDF. Needs `infimum[plots]`.

Each function takes an `Assessment` and gives a `matplotlib.figure.Figure` of its own, without pyplot and its
global state. Raises MissingExtraError without matplotlib, InputError where the assessment lacks the figures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from infimum._text import printable
from infimum.assessment._diagnostics.classes import badness
from infimum.assessment._diagnostics.records import Curves, Diagnostics
from infimum.assessment._results import Assessment
from infimum.errors import InputError, MissingExtraError
from infimum.report.charts.chart import on_calibration
from infimum.report.charts.levels import Bins, fidelity_levels
from infimum.report.charts.scale import probability_axis
from infimum.report.rungs import rungs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # matplotlib is optional: types checked at run time do not need it
    Axes = Figure = Any

BLUE, ORANGE, INK, GREY = "#0b5cad", "#a84b00", "#1b2027", "#8a949f"
COLOURS = {"certified": BLUE, "asymptotic": GREY, "estimate": ORANGE, "measured": INK}
MARKS = {"certified": ">", "asymptotic": ">", "estimate": "o", "measured": "D"}
CLASSES = 20
LONGEST = 30


def ladder(a: Assessment) -> Figure:
    """Every figure on one axis: certified bounds, λ and other estimates, λ*, and the target."""
    found = rungs(a)[::-1]
    figure, axes = _figure(6.0, 0.9 + 0.4 * len(found))
    for y, rung in enumerate(found):
        colour = COLOURS[rung.kind]
        if rung.kind in ("certified", "asymptotic"):
            axes.barh(y, 1 - rung.value, left=rung.value, height=0.35, color=colour, alpha=0.2)
        if rung.interval is not None:
            axes.plot(rung.interval, (y, y), color=colour)
        hollow = "none" if rung.kind == "estimate" else colour
        axes.plot(rung.value, y, MARKS[rung.kind], color=colour, markerfacecolor=hollow)
    if a.target is not None:
        axes.axvline(a.target.value, color=GREY, linestyle="--")
    axes.set_yticks(range(len(found)), [rung.label for rung in found])
    target = [] if a.target is None else [a.target.value]
    low = probability_axis([*(rung.value for rung in found), *target]).low
    room = 0.04 * (1 - low)  # for marks at the ends
    axes.set(xlabel="success probability", xlim=(low - room, 1 + room))
    return figure


def convergence(a: Assessment) -> Figure:
    """λ on samples with ± one sampling standard error; dashed, λ on the operation inputs."""
    history = a.lambda_.history
    if not history:
        raise InputError("nothing was sampled: there is no convergence to draw")
    figure, axes = _figure()
    n = [b.n for b in history]
    axes.fill_between(
        n,
        [b.value - b.standard_error for b in history],
        [b.value + b.standard_error for b in history],
        color=BLUE,
        alpha=0.2,
        label="± 1 sampling standard error",
    )
    axes.plot(n, [b.value for b in history], color=BLUE, label="λ on samples")
    axes.axhline(a.lambda_operation.value, color=GREY, linestyle="--", label="λ on operation inputs")
    axes.set(xlabel="samples", ylabel="λ")
    _legend(figure, 2)
    return figure


def success_levels(a: Assessment) -> Figure:
    """Distribution of λ(x), of correct and incorrect inputs where there are labels."""
    d = _diagnostics(a)
    groups = [("correct", BLUE, [b.correct for b in d.levels])]
    groups.append(("incorrect", ORANGE, [b.incorrect for b in d.levels]))
    groups = [g for g in groups if None not in g[2]] or [("all inputs", BLUE, [b.share for b in d.levels])]
    return _histogram([(b.low, b.high) for b in d.levels], groups)


def fidelity(a: Assessment) -> Figure:
    """Distribution of λ(x) on features held out and on the samples of a manifold fitted to others."""
    compared = fidelity_levels(a)
    if compared is None:
        raise InputError("nothing was sampled: there are no samples to set against real inputs")
    bins, (name, real), samples = compared
    return _histogram(bins, [(name, GREY, real), ("samples", BLUE, samples)])


def reliability_diagram(a: Assessment) -> Figure:
    """Accuracy in bins of λ(x) with 95 % Clopper–Pearson intervals; of the calibration rows without other labels."""
    curves = _curves(a)
    bins = curves.reliability
    figure, axes = _figure()
    accuracy = [b.accuracy for b in bins]
    below, above = [p.value - p.low for p in accuracy], [p.high - p.value for p in accuracy]
    level = [b.level for b in bins]
    axes.errorbar(level, [p.value for p in accuracy], (below, above), fmt="o", color=BLUE, label="accuracy")
    axes.plot((min(level), 1), (min(level), 1), color=GREY, linestyle="--", label="accuracy = λ(x)")
    axes.set(
        xlabel="mean success level λ(x) of the bin",
        ylabel=f"accuracy{on_calibration(curves)}",
        ylim=(-0.02, 1.02),
    )
    _legend(figure)
    return figure


def risk_coverage(a: Assessment) -> Figure:
    """Error among accepted inputs against the share accepted, with 95 % intervals at each point."""
    curves = _curves(a)
    points = curves.risk_coverage
    figure, axes = _figure()
    coverage = [p.coverage for p in points]
    risk = [1 - p.accuracy.value for p in points]
    low, high = [1 - p.accuracy.high for p in points], [1 - p.accuracy.low for p in points]
    axes.fill_between(coverage, low, high, color=BLUE, alpha=0.2, label="95 % interval at each point")
    axes.plot(coverage, risk, color=BLUE, label="error among accepted inputs")
    axes.set(
        xlabel="coverage: share of the inputs accepted",
        ylabel=f"risk: error among them{on_calibration(curves)}",
        xlim=(0, 1),
    )
    axes.set_ylim(0, 1.1 * max([*risk, high[-1]]))
    _legend(figure)
    return figure


def classes(a: Assessment) -> Figure:
    """The 20 classes that do worst: mean λ(x), precision and recall with 95 % intervals."""
    worst = sorted(_diagnostics(a).classes, key=badness)[:CLASSES][::-1]
    figure, axes = _figure(6.0, 1.0 + 0.3 * len(worst))
    for name, colour, shift in (("precision", ORANGE, 0.12), ("recall", BLUE, -0.12)):
        there = [(y, p) for y, c in enumerate(worst) if (p := getattr(c, name)) is not None]
        if there:
            values = [p.value for _, p in there]
            ends = ([p.value - p.low for _, p in there], [p.high - p.value for _, p in there])
            axes.errorbar(values, [y + shift for y, _ in there], xerr=ends, fmt=".", color=colour, label=name)
    known = [(c.level, y) for y, c in enumerate(worst) if c.level is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "|", color=INK, markersize=10, label="mean λ(x)")
    axes.set_yticks(range(len(worst)), [_brief(printable(c.name)) for c in worst])
    axes.set_xlabel("precision, recall and mean λ(x)")
    for label in axes.get_yticklabels():
        label.set_parse_math(False)  # "$" in a name is a dollar
    _legend(figure, 3)
    return figure


PLOTS: dict[str, Callable[[Assessment], Figure]] = {
    "ladder": ladder,
    "convergence": convergence,
    "success_levels": success_levels,
    "reliability_diagram": reliability_diagram,
    "risk_coverage": risk_coverage,
    "classes": classes,
    "fidelity": fidelity,
}


def save_plots(
    a: Assessment, directory: str | Path, kind: Literal["png", "svg", "pdf"] = "png"
) -> list[Path]:
    """Write every chart the assessment has the figures for, `ladder.png` and so on; returns their paths."""
    from infimum.io.replacing import make_directory, refuse_links, replace_file, together

    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"kind must be png, svg or pdf, not {kind!r}")
    written = []
    with together():
        make_directory(Path(directory))
        for name, draw in PLOTS.items():
            try:
                figure = draw(a)
            except MissingExtraError:
                raise
            except InputError:  # the assessment lacks the figures of this one
                continue
            path = Path(directory) / f"{name}.{kind}"
            refuse_links(Path(directory), path.name)
            replace_file(path, partial(figure.savefig, format=kind, dpi=200))
            written.append(path)
    return written


def _figure(width: float = 5.0, height: float = 3.5) -> tuple[Figure, Axes]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError("drawing with matplotlib", "plots") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _legend(figure: Figure, columns: int = 2) -> None:
    """Above the axes: nothing is covered."""
    figure.legend(loc="outside upper center", ncols=columns, frameon=False, fontsize="small")


def _brief(name: str) -> str:
    """A name that leaves room for the chart."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _histogram(bins: Bins, groups: list[tuple[str, str, Any]]) -> Figure:
    figure, axes = _figure()
    edges = [*(low for low, _ in bins), bins[-1][1]]
    for label, colour, values in groups:
        axes.stairs(values, edges, color=colour, fill=True, alpha=0.35, label=label)
        axes.stairs(values, edges, color=colour)
    start = min((low for i, (low, _) in enumerate(bins) if any(v[i] > 0 for _, _, v in groups)), default=0.0)
    axes.set(xlabel="success level λ(x)", ylabel="share of the group", xlim=(start - 0.02, 1.02))
    _legend(figure)
    return figure


def _diagnostics(a: Assessment) -> Diagnostics:
    if a.diagnostics is None or not a.diagnostics.levels:
        raise InputError("the assessment holds no figures for charts; run infimum assess again")
    return a.diagnostics


def _curves(a: Assessment) -> Diagnostics | Curves:
    if a.curves is None or not a.curves.reliability:
        raise InputError("the assessment holds no accuracy by success level; run infimum assess again")
    return a.curves
