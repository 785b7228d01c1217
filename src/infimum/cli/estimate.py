"""`infimum estimate`: label-free estimates of the success probability, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o
from infimum.cli.console import json_file, say, say_json


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
    ignore: o.Ignore = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
) -> None:
    """Estimate the success probability in every way that needs no labels of the operation. None is a guarantee.

    Example: infimum estimate --calibration cal.npz --operation ops.npz
    """
    from infimum.estimators import estimate as estimate_all
    from infimum.io.places import check_places
    from infimum.io.replacing import write_bytes
    from infimum.outputs._outputs import Outputs

    json_to, codes = json_file(json), o.codes_of(ignore)
    check_places({"--json": json_to}, {"--calibration": calibration, "--operation": operation})
    found = o.without(estimate_all(Outputs.load(calibration), Outputs.load(operation), seed=seed), codes)
    if json_to is not None:
        write_bytes(json_to, found.to_json().encode())
    if json == "-":
        say_json(found.to_json())
    elif not quiet:
        say(found.summary(), end="")
