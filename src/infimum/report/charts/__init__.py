"""The charts of the HTML report as inline SVG, one a file; each also says its figures in words and as a table."""

from infimum.report.charts.chart import Chart, Series
from infimum.report.charts.convergence import convergence_chart
from infimum.report.charts.ladder import LadderStrips, ladder_strips
from infimum.report.charts.levels import fidelity_chart, levels_chart
from infimum.report.charts.reliability import reliability_chart
from infimum.report.charts.risk import risk_chart
from infimum.report.charts.strips import ClassStrips, class_strips

__all__ = [
    "Chart",
    "ClassStrips",
    "LadderStrips",
    "Series",
    "class_strips",
    "convergence_chart",
    "fidelity_chart",
    "ladder_strips",
    "levels_chart",
    "reliability_chart",
    "risk_chart",
]
