"""Pictures of the inputs that a report names: where the command line says, or where the network read its images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infimum.cli.console import note
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.assessment._results import Assessment

Pictures = Annotated[
    str | None,
    typer.Option(
        "--pictures",
        metavar="DIR|FILE|none",
        help="The operation's inputs as images (a folder, Parquet, npy or npz): report.html then shows those of lowest "
        "λ(x). (default: those that a network ran on)",
    ),
]


def check_pictures_in(pictures_in: str | None, out: Path | None) -> None:
    """InputError where --pictures names no images, or there is no report for them: before a long run, not after."""
    if pictures_in is None:
        return
    if out is None:
        raise InputError("--pictures is for the report: say where to write it, --out")
    if pictures_in != "none":
        from infimum.data._pictures import check_pictures

        check_pictures(pictures_in)


def add_pictures(
    a: Assessment, directory: Path, pictures_in: str | None, at_hand: Path | None, quiet: bool
) -> None:
    """Write the reports again with pictures, where there are any: the assessment is safe on disk before."""
    from infimum.report import write_reports

    found = pictures_for(a, pictures_in, at_hand, quiet)
    if found:
        write_reports(a, directory, found)


def pictures_for(
    a: Assessment, pictures_in: str | None, at_hand: Path | None, quiet: bool
) -> dict[int, Any] | None:
    """Pictures by row from `pictures_in`, or from data `at_hand`, where their absence is a note and no error."""
    lowest = () if a.diagnostics is None else a.diagnostics.lowest
    source = at_hand if pictures_in is None else pictures_in
    if source is None or pictures_in == "none" or not lowest:
        return None
    from infimum.data._pictures import holds_pictures, pictures

    if pictures_in is None and not holds_pictures(source):
        return None
    try:
        return pictures(source, [(x.row, x.id) for x in lowest], a.lambda_operation.n)
    except InputError as error:
        if pictures_in is not None:
            raise
        if not quiet:
            note("note", f"no pictures in the report: {error}", err=True)
        return None
