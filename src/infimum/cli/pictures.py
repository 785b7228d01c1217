"""Pictures of the inputs that a report names: where the command line says, or where the network read its images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infimum.cli.console import note
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.assessment._results import Assessment

Images = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="DIR|FILE|none",
        help="The operation's inputs as images (a folder, Parquet, npy or npz): report.html then shows those of lowest "
        "λ(x). (default: --operation-data, where it holds images)",
    ),
]


def check_images(images: str | None, out: Path | None) -> None:
    """InputError where --images names no images, or there is no report to put them in: before a long run, not after."""
    if images is None:
        return
    if out is None:
        raise InputError("--images is for the report: say where to write it, --out")
    if images != "none":
        from infimum.data._pictures import check_pictures

        check_pictures(images)


def add_pictures(
    a: Assessment, directory: Path, images: str | None, at_hand: Path | None, quiet: bool
) -> None:
    """Write the reports again with pictures, where there are any: the assessment is safe on disk before."""
    from infimum.report import write_reports

    found = pictures_for(a, images, at_hand, quiet)
    if found:
        write_reports(a, directory, found)


def pictures_for(
    a: Assessment, images: str | None, at_hand: Path | None, quiet: bool
) -> dict[int, Any] | None:
    """Pictures by row from `images`, or from data `at_hand`, where their absence is a note and no error."""
    lowest = () if a.diagnostics is None else a.diagnostics.lowest
    source = at_hand if images is None else images
    if source is None or images == "none" or not lowest:
        return None
    from infimum.data._pictures import holds_pictures, pictures

    if images is None and not holds_pictures(source):
        return None
    try:
        return pictures(source, [(x.row, x.id) for x in lowest], a.lambda_operation.n)
    except InputError as error:
        if images is not None:
            raise
        if not quiet:
            note("note", f"no pictures in the report: {error}", err=True)
        return None
