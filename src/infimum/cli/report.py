"""`infimum report`: the reports of an assessment, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o
from infimum.cli.console import note
from infimum.cli.pictures import pictures_for


def report(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where `infimum assess --out` wrote, or its assessment.json."),
    ],
    pictures: Annotated[
        str | None,
        typer.Option(
            "--pictures",
            metavar="DIR|FILE|none",
            help="The operation's inputs as images (a folder, Parquet, npy or npz), in their order: report.html then "
            "shows those of lowest λ(x). (default: none)",
        ),
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Write report.html and report.md beside an assessment.json.

    Examples: infimum report results
    infimum report results --pictures images/operation
    """
    from infimum.assessment._results import Assessment, assessment_file
    from infimum.cli.network import unless_none
    from infimum.io.places import Folder, check_places
    from infimum.report import write_reports

    read = assessment_file(directory)
    place = directory if directory.is_dir() else directory.parent
    check_places(
        {"DIR": Folder(place, Assessment.WRITTEN[1:])}, {"DIR": read, "--pictures": unless_none(pictures)}
    )
    assessment = Assessment.load(read)
    written = write_reports(assessment, place, pictures_for(assessment, pictures, None, quiet))
    if not quiet:
        note("written", ", ".join(map(str, written)))
