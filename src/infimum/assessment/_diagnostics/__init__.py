"""What the charts and tables of a report are drawn from: a fixed number of figures, never a row per input."""

from infimum.assessment._diagnostics.collect import diagnose
from infimum.assessment._diagnostics.records import Diagnostics

__all__ = ["Diagnostics", "diagnose"]
