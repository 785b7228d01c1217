"""The pages of an assessment, HTML and Markdown, as texts and as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infimum.assessment import Assessment
from infimum.io.replacing import write_files
from infimum.report.html import to_html
from infimum.report.markdown import to_markdown


def of_assessment(a: Assessment, thumbnails: Mapping[int, Any] | None = None) -> dict[str, str]:
    """`report.html` and `report.md` by their names."""
    return {"report.html": to_html(a, thumbnails), "report.md": to_markdown(a)}


def write_reports(
    assessment: Assessment, directory: str | Path, thumbnails: Mapping[int, Any] | None = None
) -> tuple[Path, ...]:
    """Write `report.html` and `report.md` into a directory: both, or none.

    `thumbnails` as in `infimum.report.html.to_html`. Returns the two paths.
    """
    texts = of_assessment(assessment, thumbnails)
    return write_files(Path(directory), {name: text.encode() for name, text in texts.items()})
