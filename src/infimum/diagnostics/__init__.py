"""What the charts and tables of a report are drawn from: a fixed number of figures, never a row per input."""

from infimum.diagnostics.base import Diagnostics
from infimum.diagnostics.collect import diagnose

__all__ = ["Diagnostics", "diagnose"]
