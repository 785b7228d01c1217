"""`infimum calibrate`: labelled outputs in, one calibration file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o
from infimum.cli.console import note


def calibrate(
    calibration: o.CalibrationFile,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The calibration: a .json or .safetensors file.")
    ],
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    score: o.Score = "raps",
    levels: o.Levels = "",
    tuning: o.TuningFile = None,
) -> None:
    """Calibrate once, to score inputs later.

    Example: infimum calibrate --calibration cal.npz --out calibration.json
    """
    from infimum.io.places import check_places

    check_places({"--out": out}, {"--calibration": calibration, "--tuning": tuning})
    made, warnings = o.calibrated(
        calibration, tuning, score, o.levels_of(levels, o.OF_CALIBRATION, "a calibration"), seed
    )
    made.save(out)
    if not quiet:
        for text in made.notes:
            note("note", text)
        for warning in warnings:
            note("warning", warning)
        note("written", f"{out} ({made.n} scores of {made.n_classes} classes, {made.score})")
