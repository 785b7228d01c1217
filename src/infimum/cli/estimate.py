"""`infimum estimate`: label-free estimates of the success probability, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o


def estimate(
    calibration: o.CalibrationFile,
    operation: Annotated[
        Path,
        typer.Option(
            "--operation",
            metavar="FILE",
            help="Outputs on operational inputs; labels are not needed, with them the error of each estimate is shown.",
        ),
    ],
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the JSON here; - for stdout alone.")
    ] = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
) -> None:
    """Estimate the success probability in every way that needs no labels of the operation. None is a guarantee.

    Example: infimum estimate --calibration cal.npz --operation ops.npz
    """
    from infimum.estimators import estimate as estimate_all
    from infimum.files import check_can_make, write_bytes
    from infimum.outputs import Outputs
    from infimum.report.estimates import to_text

    if json is not None and json != "-":
        check_can_make(Path(json), inputs=(calibration, operation))
    found = estimate_all(Outputs.load(calibration), Outputs.load(operation), seed=seed)
    if json == "-":
        sys.stdout.write(found.to_json())
    elif json is not None:
        write_bytes(json, found.to_json().encode())
    if json != "-" and not quiet:
        typer.echo(to_text(found), nl=False)
