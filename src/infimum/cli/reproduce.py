"""`infimum reproduce`: the paper's study, from data to tables, pictures and a results page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import options as o
from infimum.cli.console import note, say
from infimum.cli.emit import end
from infimum.errors import ExitCode


def reproduce(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where everything is kept; a run there is continued.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="A folder per data set with train.npz and test.npz. (default: download the official files)",
        ),
    ] = None,
    datasets: Annotated[
        str,
        typer.Option(
            "--datasets",
            show_default=False,
            help="Which, with commas. (default: all: mnist, fashion_mnist, cifar10, ham10000)",
        ),
    ] = "mnist,fashion_mnist,cifar10,ham10000",
    levels: Annotated[
        str, typer.Option("--levels", help="Of training data: all, half, a tenth or less.")
    ] = "best,avg,worst",
    repetitions: Annotated[
        int, typer.Option("--repetitions", min=1, help="Of calibration, scoring and sampling.")
    ] = 5,
    seed: o.Seed = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="MNIST alone, a tenth of its images, in about two minutes.")
    ] = False,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train every network anew for each repetition.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Reproduce the paper's study: four data sets, twelve networks, metrics M1-M4, Table I and the figures.

    Needs PyTorch and matplotlib (the extra "study"). A run that was stopped goes on where it was.

    Example: infimum reproduce --data data --out study --datasets mnist,fashion_mnist
    """
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import refuse_links
    from infimum.study.study import reproduce as run

    tables = ("README.md", "table.json", "table.md", "table.tex")
    check_places(
        {"--out": [Folder(out, tables), Folder(out / "networks"), Folder(out / "figures")]}, {"--data": data}
    )
    for inside in ("networks", "figures"):
        refuse_links(out, inside)
    began = time.monotonic()

    def report(text: str) -> None:
        if not quiet:
            say(f"[{time.monotonic() - began:6.0f} s] {text}", err=True)

    def names(text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    try:
        study = run(data, out, names(datasets), names(levels), repetitions, seed, quick, retrain, report)
    except KeyboardInterrupt:
        note("interrupted", f"finished stages are kept in {out}; the same command goes on there", err=True)
        end(ExitCode.INTERRUPTED)
    say((study.folder / "table.md").read_text("utf-8"))
    note("written", f"{study.folder / tables[0]}, {', '.join(tables[1:])}, figures")
