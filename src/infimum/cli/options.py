"""Options that several commands share, and what their words mean."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from infimum.cli.objects import METAVAR, PAIRS
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration, SuccessLevels
    from infimum.conformal import Score as Score_

OF_CALIBRATION = ("temperature", "randomize")
"""What `--levels` says of a calibration."""


class IdentityName(StrEnum):
    """What tells whether two rows are one input."""

    ids = "ids"
    hash = "hash"


R = TypeVar("R")

SCORING = "Score and calibration"

CalibrationFile = Annotated[
    Path,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Labelled outputs that training has not seen: npz, safetensors or Parquet with logits (or "
        "probabilities) and labels.",
    ),
]
TuningFile = Annotated[
    Path | None,
    typer.Option(
        "--tuning",
        metavar="FILE",
        help="Labelled outputs to choose k_reg and the temperature on.",
        rich_help_panel=SCORING,
    ),
]
Score = Annotated[
    str,
    typer.Option(
        "--score",
        metavar=METAVAR,
        help="Nonconformity score: {SCORES}. k_reg, auto: from --tuning, else from a fifth of the calibration. "
        "(default: raps, with --tuning raps:k_reg=auto)",
        rich_help_panel=SCORING,
    ),
]
Levels = Annotated[
    str,
    typer.Option(
        "--levels",
        metavar=PAIRS,
        help="How success levels are made: {LEVELS}. temperature divides the logits (fit: from --tuning, else from a "
        "fifth of the calibration); randomize draws one u per input; step is the paper's, between error levels; empty "
        "reads inputs that never get a one-label set (argmax, zero, nan).",
        rich_help_panel=SCORING,
    ),
]
LabelErrors = Annotated[
    str | None,
    typer.Option(
        "--label-errors",
        metavar="J|RATE",
        help="How many of the labels given may be wrong, as 5, or which share of labels is, as 0.02 or 2%: bounds are "
        "lowered by what that costs. (default: none)",
    ),
]
IdentityOption = Annotated[
    IdentityName,
    typer.Option(
        "--identity",
        help="What tells whether two rows are one input, which counts once: their ids, or, where you know that no two "
        "inputs share it, the hash of the raw input.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE",
        help="A finding that is not to be told, as not-alike (docs/findings.md lists all); may be repeated. No verdict "
        "changes by it, and the output says that it was found.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of every random draw.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def score_of(text: str, tuned: bool) -> Score_:
    """The score that a text asks for; with tuning rows, and nothing said of k_reg, that is tuned."""
    from infimum.conformal import RAPS
    from infimum.conformal._scores import SCORES

    score = SCORES.read(text)
    return RAPS(score.penalty, "auto") if tuned and isinstance(score, RAPS) and "k_reg" not in text else score


def levels_of(text: str, takes: tuple[str, ...] = (), what: str = "") -> SuccessLevels:
    """What `--levels` says; InputError for a parameter beside those that the command takes, if it names some."""
    from infimum._grammar import split
    from infimum.conformal._options import LEVELS

    levels = LEVELS.read(text)
    given = [part.partition("=")[0] for part in split(text) if part]
    beside = [name for name in given if takes and name not in takes]
    if beside:
        raise InputError(f"--levels: {beside[0]} has no effect on {what}, which takes {' and '.join(takes)}")
    return levels


def codes_of(ignore: list[str] | None) -> frozenset[str]:
    """The codes to ignore; InputError for one that there is not."""
    from infimum.report.findings import check_codes

    return check_codes(ignore or ())


def without(result: R, codes: frozenset[str]) -> R:
    """The result with findings of these codes marked as ignored."""
    from dataclasses import replace

    from infimum.io.findings import ignoring

    return replace(result, findings=ignoring(result.findings, codes)) if codes else result  # type: ignore[attr-defined,type-var]


def calibrated(
    calibration: Path, tuning: Path | None, score: str, levels: SuccessLevels, seed: int
) -> tuple[Calibration, list[str]]:
    """Calibrate on a file as the options say; and what to warn of."""
    from infimum.assessment._caveats import capped
    from infimum.conformal import calibrate
    from infimum.io.findings import those
    from infimum.outputs._findings import saturation
    from infimum.outputs._outputs import Outputs

    labelled = Outputs.load(calibration)
    tuned = None if tuning is None else Outputs.load(tuning)
    made = calibrate(
        labelled.logits,
        labelled.known_labels,
        score=score_of(score, tuning is not None),
        randomize=levels.randomize,
        temperature=levels.temperature,
        tuning=None if tuned is None else (tuned.logits, tuned.known_labels),
        seed=seed,
    )
    found = [
        capped(made),
        saturation("calibration", labelled.saturated, len(labelled)),
        None if tuned is None else saturation("tuning", tuned.saturated, len(tuned)),
    ]
    return made, [str(warning) for warning in those(found)]
