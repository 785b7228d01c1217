"""`infimum score`: the success level of every input, to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infimum.cli import options as o
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration

FIXED_BY_FILE = ("score", "penalty", "k_reg", "weight", "temperature", "randomize", "tuning", "seed")


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
    inputs: Annotated[Path, typer.Option("--input", metavar="FILE", help="Outputs of the inputs to score.")],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="Success levels: a .npz or .csv file, a row per input."),
    ],
    error: Annotated[
        str | None,
        typer.Option("--error", metavar="LEVEL", help="Also write prediction sets at this error level."),
    ] = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    score: o.ScoreOption = o.ScoreName.raps,
    penalty: o.Penalty = 0.01,
    k_reg: o.KReg = None,
    weight: o.Weight = 0.1,
    temperature: o.Temperature = "none",
    randomize: o.Randomize = True,
    tuning: o.TuningFile = None,
    step: o.StepOption = "exact",
    empty: o.EmptyOption = o.EmptyName.argmax,
) -> None:
    """Write the success level λ(x) of every input, an estimate that needs no label.

    Example: infimum score --calibration calibration.json --input ops.npz --out levels.csv
    """
    from infimum.caveats import saturation
    from infimum.conformal.files import holds_calibration, load_calibration
    from infimum.conformal.success import levels_of
    from infimum.files import check_can_make
    from infimum.outputs import Outputs

    if out.suffix not in (".npz", ".csv"):
        raise InputError(f"--out must end in .npz or .csv, not {out.name!r}")
    check_can_make(out, inputs=(calibration, inputs, tuning))
    made: Calibration
    warnings: list[str] = []
    if holds_calibration(calibration):
        given = [name for name in FIXED_BY_FILE if _was_given(context, name)]
        if given:
            flags = ", ".join("--" + name.replace("_", "-") for name in given)
            raise InputError(f"{flags}: {calibration} is already calibrated and fixes these")
        made = load_calibration(calibration)
    else:
        made, warnings = o.calibrated(
            calibration, tuning, score, penalty, k_reg, weight, temperature, randomize, seed
        )
    scored = Outputs.load(inputs)
    warnings += [w for w in (saturation("input", scored),) if w is not None]
    counts = made.top_two(scored.logits)
    table: dict[str, Any] = {} if scored.ids is None else {"ids": scored.ids}
    table["predicted"] = counts.predicted
    table["success_levels"] = levels_of(
        counts.count_top,
        counts.count_second,
        made.n,
        None if step == "exact" else step,
        empty.value,
    )
    table["p_top"] = counts.count_top / (made.n + 1)
    table["p_second"] = counts.count_second / (made.n + 1)
    if error is not None:
        table["prediction_sets"] = made.prediction_sets(scored.logits, error)
    _write(out, table)
    if not quiet:
        for note in made.notes:
            typer.echo(f"note: {note}")
        for warning in warnings:
            typer.echo(f"warning: {warning}")
        mean = float(table["success_levels"].mean())
        typer.echo(
            f"written: {out} ({len(scored)} inputs, mean success level {mean:.4f}: an estimate, no guarantee)"
        )


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _write(out: Path, table: dict[str, Any]) -> None:
    from infimum.files import replace_file, write_npz

    if out.suffix == ".npz":
        write_npz(out, table)
        return
    import csv

    import numpy as np

    sets = table.get("prediction_sets")
    columns = [name for name in table if name != "prediction_sets"]
    n = len(table["predicted"])

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow([*columns, *(() if sets is None else ("prediction_sets",))])
            for start in range(0, n, size := 10_000):
                block = [table[name][start : start + size].tolist() for name in columns]
                if sets is not None:
                    block.append(
                        [" ".join(map(str, np.flatnonzero(row))) for row in sets[start : start + size]]
                    )
                rows.writerows(zip(*block, strict=True))

    replace_file(out, write)
