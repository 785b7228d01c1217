"""An assessment as text for the terminal, as Markdown, and as one HTML page; its charts for papers in `plots`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infimum.results import Assessment


def write_reports(
    assessment: Assessment, directory: str | Path, thumbnails: Mapping[int, Any] | None = None
) -> tuple[Path, Path]:
    """Write `report.html` and `report.md` into a directory, each replaced in one move.

    `thumbnails` as in `infimum.report.html.to_html`. Returns the two paths.
    """
    from infimum.files import write_bytes
    from infimum.report.html import to_html
    from infimum.report.markdown import to_markdown

    pages = {"report.html": to_html(assessment, thumbnails), "report.md": to_markdown(assessment)}
    for name, text in pages.items():
        write_bytes(Path(directory) / name, text.encode())
    return Path(directory) / "report.html", Path(directory) / "report.md"
