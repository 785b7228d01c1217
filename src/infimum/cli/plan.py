"""`infimum plan`: how many labels a claim costs, and which inputs to label next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infimum._text import printable
from infimum.cli import options as o
from infimum.cli.certify import calibration_from
from infimum.cli.console import json_file, note, say, say_json
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.outputs._outputs import Outputs

WRITTEN = ("plan.json", "plan.svg")


def plan(
    target: Annotated[
        float | None, typer.Option("--target", help="The reliability to show, in (0, 1).")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bound.")] = 0.95,
    expected: Annotated[
        float | None,
        typer.Option("--expected", help="What the reliability is believed to be. (default: the mean level)"),
    ] = None,
    operation: Annotated[
        Path | None,
        typer.Option("--operation", metavar="FILE", help="Outputs on unlabelled operation inputs."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="Labelled outputs, or what `infimum calibrate` wrote of them: they give each operation input a level.",
        ),
    ] = None,
    select: Annotated[
        int | None,
        typer.Option(
            "--select", metavar="N", min=1, help="Choose N operation inputs to label; --out names the table."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR|FILE",
            help="Where to write plan.json and plan.svg; with --select the .csv or .npz to fill in.",
        ),
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the plan here; - for stdout alone.")
    ] = None,
    ignore: o.Ignore = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
) -> None:
    """Tell how many labels each method needs to show a reliability, or choose which inputs to label.

    Examples: infimum plan --target 0.99 --expected 0.995 --out plan
    infimum plan --select 300 --out to_label.csv --operation ops.npz --calibration cal.npz
    """
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import together, write_bytes, write_files
    from infimum.outputs._outputs import Outputs

    if select is not None:
        from infimum.certification._selection import check_unlabelled

        if operation is None or calibration is None or out is None:
            raise InputError("--select needs --operation, --calibration and --out FILE.csv (or .npz)")
        if target is not None or expected is not None or json is not None:
            raise InputError(
                "--select chooses inputs; --target, --expected and --json belong to a plan without it"
            )
        if out.suffix not in (".csv", ".npz"):
            raise InputError(f"--out must end in .csv or .npz with --select, not {out.name!r}")
        check_places({"--out": out}, {"--operation": operation, "--calibration": calibration})
        check_unlabelled(out)
        _select(Outputs.load(operation, "operation"), calibration, select, out, seed, quiet)
        return
    if target is None:
        raise InputError(
            "--target is needed: the reliability to show (or --select N, to choose inputs to label)"
        )
    from infimum.certification._planning import plan as make_plan
    from infimum.report.power_curve import to_svg

    json_to, codes = json_file(json), o.codes_of(ignore)
    check_places(
        {"--out": None if out is None else Folder(out, WRITTEN), "--json": json_to},
        {"--operation": operation, "--calibration": calibration},
    )
    made = make_plan(
        target=target,
        confidence=confidence,
        expected=expected,
        operation=None if operation is None else Outputs.load(operation),
        calibration=None if calibration is None else calibration_from(calibration),
        seed=seed,
    )
    made = o.without(made, codes)
    text = made.to_json()
    with together():
        if out is not None:
            files = dict(zip(WRITTEN, (text.encode(), to_svg(made).encode()), strict=True))
            write_files(out, files)
        if json_to is not None:
            write_bytes(json_to, text.encode())
    if json == "-":
        say_json(text)
    elif not quiet:
        say(made.summary(), end="")
        if out is not None:
            note("written", ", ".join(str(out / name) for name in WRITTEN))


def _select(operation: Outputs, calibration: Path, n: int, out: Path, seed: int, quiet: bool) -> None:
    import numpy as np

    from infimum.certification._selection import select

    if n > len(operation):
        raise InputError(
            f"--select: N must be a whole number from 1 to {len(operation)} ({operation.name} has as many inputs), "
            f"not {n}"
        )
    drawn = select(operation, calibration_from(calibration), n, seed=seed)
    drawn.save(out)
    for text in drawn.warnings:
        note("warning", text, err=True)
    if not quiet:
        count = np.bincount(drawn.stratum)
        strata = "1 stratum" if len(count) == 1 else f"{len(count)} strata"
        note("written", f"{out}, {n} of {len(operation)} inputs from {strata} ({', '.join(map(str, count))})")
        say(
            "Fill in `label` (or `correct`) from the top; rows not labelled yet stay blank at the end. Then:\n"
            f"infimum certify --labels {printable(str(out))} --target …"
        )
