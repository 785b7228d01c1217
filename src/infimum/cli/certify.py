"""`infimum certify`: labelled rows in; whether they show a target reliability, and every bound beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infimum.cli import options as o
from infimum.cli.console import json_file, say, say_json
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration
    from infimum.outputs._outputs import Outputs


def certify(
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Labelled inputs that neither training nor --calibration has seen: logits and labels, a filled table "
            "of `infimum plan --select` (.csv, .npz), or a table with `correct`.",
        ),
    ],
    target: Annotated[float, typer.Option("--target", help="The reliability to show, in (0, 1).")],
    confidence: Annotated[float, typer.Option("--confidence", help="Of each bound.")] = 0.95,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME|auto",
            help="The bound that decides; name it before you look. auto: the largest, its choice paid for. (default: "
            "clopper_pearson; for rows drawn in strata stratified_chernoff; with --profile class_profile)",
        ),
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
            help="Other labelled outputs, or what `infimum calibrate` wrote of them: they make the level of each "
            "input. Rows that are in --labels too are refused where they can be told: not with a finished calibration.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="P0,P1,…|FILE",
            help="Class probabilities of operation, if the labelled inputs have other class shares.",
        ),
    ] = None,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="Also a bound for every class, all together.")
    ] = False,
    label_errors: o.LabelErrors = None,
    sequential: Annotated[
        Path | None,
        typer.Option(
            "--sequential",
            metavar="STATE",
            help="Add the rows to this state (.json, made if missing) and give the bound that holds at every time. "
            "Rows need ids; each is added once.",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Of the network.")] = "network",
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the JSON here; - for stdout alone.")
    ] = None,
    identity: o.IdentityOption = o.IdentityName.ids,
    ignore: o.Ignore = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
) -> None:
    """Judge whether labelled inputs show a target reliability. Exit 0: met, 1: not met, 2: bad input.

    Examples: infimum certify --labels labelled.npz --target 0.99
    infimum certify --labels batch7.npz --target 0.99 --sequential state.json
    """
    from infimum.certification._certify import certify as certify_rows
    from infimum.certification._labelled import Labelled
    from infimum.certification._sequence_file import add_to_state
    from infimum.io.places import check_places
    from infimum.io.replacing import write_bytes
    from infimum.outputs._outputs import Outputs

    json_to, codes = json_file(json), o.codes_of(ignore)
    check_places(
        {"--sequential": sequential, "--json": json_to},
        {
            "--labels": labels,
            "--operation": operation,
            "--calibration": calibration,
            "--profile": profile if profile is not None and Path(profile).is_file() else None,
        },
    )
    if sequential is not None:
        others = {
            "--operation": operation,
            "--calibration": calibration,
            "--profile": profile,
            "--method": method,
        }
        given = [flag for flag, value in others.items() if value is not None] + ["--per-class"] * per_class
        if given:
            raise InputError(
                f"{given[0]} does not go with --sequential: only its own bound holds when labels are added until "
                "somebody stops"
            )
        made = add_to_state(
            sequential,
            Labelled.load(labels, identity.value),
            target=target,
            confidence=confidence,
            name=name,
            label_errors=label_errors,
        )
    else:
        made = certify_rows(
            Labelled.load(labels, identity.value),
            target=target,
            confidence=confidence,
            method=method,
            operation=None if operation is None else Outputs.load(operation),
            calibration=None if calibration is None else calibration_from(calibration),
            profile=None if profile is None else _probabilities(profile),
            per_class=per_class,
            label_errors=label_errors,
            identity=identity.value,
            seed=seed,
            name=name,
        )
    made = o.without(made, codes)
    if json_to is not None:
        write_bytes(json_to, made.to_json().encode())
    if json == "-":
        say_json(made.to_json())
    elif not quiet:
        say(made.summary(), end="")
    if not made.target.met:
        raise typer.Exit(1)


def calibration_from(path: Path) -> Outputs | Calibration:
    """Labelled outputs, or a finished calibration, told apart by content."""
    from infimum.conformal import Calibration
    from infimum.conformal._files import holds_calibration
    from infimum.outputs._outputs import Outputs

    return Calibration.load(path) if holds_calibration(path) else Outputs.load(path)


def _probabilities(text: str) -> Any:
    """Numbers separated by commas or spaces, or a text file of them."""
    import numpy as np

    from infimum.io.regular import MEBIBYTE, read_whole

    path = Path(text)
    words = text
    if os.path.isfile(path):  # also of what is too long for a path
        words = read_whole(path, MEBIBYTE).decode("utf-8", "replace")
    try:
        return np.array([float(word) for word in words.replace(",", " ").split()])
    except ValueError as error:
        raise InputError(
            f"--profile must be numbers separated by commas, or a file of them, not {text!r}"
        ) from error
