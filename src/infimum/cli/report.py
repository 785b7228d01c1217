"""`infimum report`: the reports of an assessment, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o


def report(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where `infimum assess --out` wrote, or its assessment.json."),
    ],
    quiet: o.Quiet = False,
) -> None:
    """Write report.html and report.md beside an assessment.json.

    Example: infimum report results
    """
    from infimum.report import write_reports
    from infimum.results import Assessment

    assessment = Assessment.load(directory)
    place = directory if directory.is_dir() else directory.parent
    written = write_reports(assessment, place)
    if not quiet:
        typer.echo(f"written: {', '.join(map(str, written))}")
