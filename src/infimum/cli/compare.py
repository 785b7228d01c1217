"""`infimum compare`: networks side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infimum.cli import options as o
from infimum.cli.console import json_file, note, say, say_json
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.comparison import Comparison

PAIRED = "Input by input"


def compare(
    assessments: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="ASSESSMENT",
            help="What `infimum assess --out` wrote, one per network: only their figures are compared. "
            "For tests input by input, give --operation instead.",
        ),
    ] = None,
    operation: Annotated[
        list[Path] | None,
        typer.Option(
            "--operation",
            metavar="FILE",
            help="Outputs of a network on the common inputs; once per network. With labels they measure accuracy.",
            rich_help_panel=PAIRED,
        ),
    ] = None,
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="Its labelled outputs that training has not seen, for λ; once per network, in the same order.",
            rich_help_panel=PAIRED,
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            help="Of a network; once per network, in the same order. (default: that of the assessment or file)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write comparison.json, comparison.html and comparison.md."
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", help="Of all bounds together, and of all differences of a figure."),
    ] = 0.95,
    allow_different_inputs: Annotated[
        bool,
        typer.Option(
            "--allow-different-inputs",
            help="Compare figures alone where the networks were not run on the same inputs.",
        ),
    ] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the JSON here; - for stdout alone.")
    ] = None,
    ignore: o.Ignore = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    score: o.Score = "raps",
    levels: o.Levels = "",
) -> None:
    """Rank networks, with tests of which differences are settled.

    Example: infimum compare --operation a.npz --operation b.npz --calibration ca.npz --calibration cb.npz --out both

    Example: infimum compare results/a results/b --out both
    """
    from infimum.assessment._results import assessment_file
    from infimum.comparison import Comparison
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import together, write_bytes

    json_to, codes = json_file(json), o.codes_of(ignore)
    check_places(
        {"--out": None if out is None else Folder(out, Comparison.WRITTEN), "--json": json_to},
        {
            "ASSESSMENT": [assessment_file(path) for path in assessments or ()],
            "--operation": operation,
            "--calibration": calibration,
        },
    )
    if assessments and (operation or calibration):
        raise InputError(
            "give assessments, or --operation and --calibration, not both: name one network once"
        )
    if not assessments and not operation:
        raise InputError("nothing to compare; give two assessments or more, or --operation twice or more")
    result: Comparison
    if operation:
        from infimum.comparison import compare as compare_outputs
        from infimum.outputs._outputs import Outputs

        result = compare_outputs(
            [Outputs.load(path) for path in operation],
            [Outputs.load(path) for path in calibration] if calibration else None,
            names=name or None,
            score=o.score_of(score, tuned=False),
            randomize=o.levels_of(levels, ("randomize",), "a comparison").randomize,
            seed=seed,
            confidence=confidence,
            allow_different_inputs=allow_different_inputs,
        )
    else:
        from infimum.assessment._results import Assessment
        from infimum.comparison import compare_assessments

        result = compare_assessments(
            [Assessment.load(path) for path in assessments or ()],
            names=name or None,
            confidence=confidence,
            allow_different_inputs=allow_different_inputs,
        )
    result = o.without(result, codes)
    with together():
        written = () if out is None else result.save(out)
        if json_to is not None:
            write_bytes(json_to, result.to_json().encode())
    if json == "-":
        say_json(result.to_json())
    elif not quiet:
        say(result.summary())
        if written:
            note("written", ", ".join(map(str, written)))
