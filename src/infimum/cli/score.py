"""`infimum score`: the success level of every input, to a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infimum._rounding import floor4
from infimum.cli import network_options as n
from infimum.cli import options as o
from infimum.cli.console import note, say
from infimum.cli.emit import end
from infimum.errors import ExitCode, InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration
    from infimum.scoring.writing import Engine

FIXED_BY_FILE = ("score", "tuning", "seed")


class EngineName(StrEnum):
    """What makes the parts."""

    local = "local"
    ray = "ray"


def score(
    context: typer.Context,
    calibration: Annotated[
        Path,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="Labelled outputs, or what `infimum calibrate` wrote.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Success levels, a row per input: a .npz or .csv file, a .parquet folder, or (no ending) one of npz.",
        ),
    ],
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="FILE|DIR",
            help="Outputs of the inputs to score: a file, or a folder of Parquet or npz parts, of any size.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="In place of --input, with --model: the inputs themselves.",
            rich_help_panel=n.NETWORK,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Make only the parts that an interrupted run left out.")
    ] = False,
    engine: Annotated[
        EngineName,
        typer.Option("--engine", help="local: this process. ray: a Ray cluster, or several processes here."),
    ] = EngineName.local,
    workers: Annotated[int, typer.Option("--workers", min=1, help="ray: workers at a time.")] = 2,
    error: Annotated[
        str | None,
        typer.Option("--error", metavar="LEVEL", help="Also write prediction sets at this error level."),
    ] = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    score: o.Score = "raps",
    levels: o.Levels = "",
    tuning: o.TuningFile = None,
    model: n.Model = None,
    network: n.Network = "",
    trust: n.Trust = False,
    images: n.Images = "",
) -> None:
    """Write the success level λ(x) of every input, an estimate that needs no label.

    Examples: infimum score --calibration calibration.json --input ops.npz --out levels.csv
    infimum score --calibration calibration.json --model net.onnx --data images --out levels.parquet --engine ray

    Inputs are read and scored part by part, in memory that does not grow with them.
    """
    from infimum.cli.network import Device, NetworkOptions
    from infimum.cli.network_source import NetworkSource
    from infimum.cli.progress import extraction_progress
    from infimum.conformal import Calibration
    from infimum.conformal._files import holds_calibration
    from infimum.data._data import path_fingerprint
    from infimum.io.parquet import need_pyarrow
    from infimum.io.places import check_places
    from infimum.outputs._findings import saturation
    from infimum.scoring.parts import FileSource, Source
    from infimum.scoring.scoring import ENDINGS, score_to_file, written_for

    if out.suffix not in ENDINGS:
        raise InputError(
            f"--out must end in .npz, .csv or .parquet, or have no ending (a folder of npz), not {out.name!r}"
        )
    if out.suffix == ".parquet":
        need_pyarrow()
    ran = NetworkOptions.of(model, network, trust, images)
    asked = o.levels_of(levels)
    check_places(
        {"--out": written_for(out)},
        {
            "--calibration": calibration,
            "--input": inputs,
            "--data": data,
            "--tuning": tuning,
            **ran.files,
        },
    )
    if (inputs is None) == (data is None):
        raise InputError("give either --input (outputs) or --data with --model (a network and its inputs)")
    if ran.given != (data is not None):
        raise InputError("--model and --data belong together: the network and the inputs it runs on")
    # Ray's workers run the network; this process only looks at its first outputs, and need not have a GPU.
    here: Device | None = None if engine is EngineName.local else "cpu"
    source: Source = FileSource(inputs) if inputs is not None else NetworkSource(ran, data or Path(), here)
    made: Calibration
    warnings: list[str] = []
    if holds_calibration(calibration):
        given = [f"--{name}" for name in FIXED_BY_FILE if _was_given(context, name)]
        given += [f"{name} of --levels" for name in o.OF_CALIBRATION if name in levels]
        if given:
            flags = ", ".join(given)
            raise InputError(f"{flags}: {calibration} is already calibrated and fixes these")
        made = Calibration.load(calibration)
    else:
        made, warnings = o.calibrated(calibration, tuning, score, asked, seed)
    with extraction_progress(quiet, "scoring") as progress:
        try:
            scored = score_to_file(
                source,
                made,
                out,
                step=asked.step,
                empty=asked.empty,
                error=error,
                resume=resume,
                settings={"calibration": path_fingerprint(calibration), "scored": str(made)},
                engine=_engine(engine, workers, ran.how.device),
                progress=progress,
            )
        except KeyboardInterrupt:
            note("interrupted", "go on with --resume", err=True)
            end(ExitCode.INTERRUPTED)
    if (lost := saturation("input", scored.saturated, scored.n)) is not None:
        warnings.append(str(lost))
    if not quiet:
        for text in made.notes:
            note("note", text)
        for warning in warnings:
            note("warning", warning)
        if scored.resumed:
            say(f"{scored.resumed} parts were there already")
        level = (
            "no input has a success level"
            if scored.mean is None
            else f"mean success level {floor4(scored.mean)}"
        )
        note("written", f"{out} ({scored.n} inputs, {level}: an estimate, no guarantee)")


def _engine(name: EngineName, workers: int, device: str) -> Engine | None:
    if name is EngineName.local:
        return None
    from infimum.scoring.ray_engine import RayEngine

    return RayEngine(workers, gpu=device == "cuda")


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
