"""What people read: an assessment as text, as Markdown and as one HTML page; its charts for papers in `plots`."""

from infimum.report.pages import write_reports

__all__ = ["write_reports"]
