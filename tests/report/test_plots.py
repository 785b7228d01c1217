"""Charts for papers: files of the kind asked for, and which charts an assessment has the figures for."""

from __future__ import annotations

from pathlib import Path

import pytest
from reports import toy_assessment

from infimum import InputError
from infimum.report import plots
from infimum.report.rungs import rungs

pytest.importorskip("matplotlib", reason="the plots are drawn with matplotlib")


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_every_chart_is_written(tmp_path: Path, kind: str, start: bytes) -> None:
    names = ["$a_b$", *"bcdefghij"]
    written = plots.save_plots(toy_assessment(n=300, manifold=True, target=0.9, names=names), tmp_path, kind)
    assert [path.name for path in written] == [f"{name}.{kind}" for name in plots.PLOTS]
    assert all(path.read_bytes().startswith(start) for path in written)


def test_charts_without_figures_are_left_out(tmp_path: Path) -> None:
    a = toy_assessment(n=300, labelled=False)
    written = plots.save_plots(a, tmp_path)
    assert [path.stem for path in written] == [
        *("ladder", "success_levels", "reliability_diagram", "risk_coverage", "classes")
    ]
    assert "calibration rows" in plots.risk_coverage(a).axes[0].get_ylabel()
    for draw in (plots.convergence, plots.fidelity):
        with pytest.raises(InputError):
            draw(a)


def test_every_figure_of_the_ladder_is_inside_the_axes() -> None:
    a = toy_assessment(n=300, manifold=True, target=0.4)
    axes = plots.ladder(a).axes[0]
    low, high = axes.get_xlim()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "Recalibrated λ" in labels
    assert len(labels) == len(rungs(a))
    assert low < min([0.4, *(rung.value for rung in rungs(a))])
    assert high > 1


def test_long_names_leave_room_for_the_chart() -> None:
    a = toy_assessment(n=300, names=["long " * 40, *"bcdefghij"])
    figure = plots.classes(a)
    figure.canvas.draw()  # a warning, here an error, where the axes have no room
    assert max(len(label.get_text()) for label in figure.axes[0].get_yticklabels()) == 30


def test_the_marks_stand_at_the_figures() -> None:
    a = toy_assessment(n=300)
    axes = plots.reliability_diagram(a).axes[0]
    drawn = axes.containers[0].lines[0].get_xydata().tolist()
    assert drawn == [[b.level, b.accuracy.value] for b in a.diagnostics.reliability]
