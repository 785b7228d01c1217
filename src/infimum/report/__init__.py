"""An assessment as text for the terminal, as Markdown, and as one HTML page; its charts for papers in `plots`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infimum.results import Assessment


def write_reports(
    assessment: Assessment, directory: str | Path, thumbnails: Mapping[int, Any] | None = None
) -> tuple[Path, Path]:
    """Write `report.html` and `report.md` into a directory: both, or none.

    `thumbnails` as in `infimum.report.html.to_html`. Returns the two paths.
    """
    from infimum.replacing import write_files
    from infimum.report.html import to_html
    from infimum.report.markdown import to_markdown

    pages = {"report.html": to_html(assessment, thumbnails), "report.md": to_markdown(assessment)}
    html, markdown = write_files(Path(directory), {name: text.encode() for name, text in pages.items()})
    return html, markdown
