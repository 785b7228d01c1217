"""Options that several commands share, and what their words mean."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.conformal import Calibration, Score


class ScoreName(StrEnum):
    """Nonconformity scores."""

    lac = "lac"
    aps = "aps"
    raps = "raps"
    saps = "saps"
    topk = "topk"
    margin = "margin"


class EmptyName(StrEnum):
    """Readings of inputs that never get a one-label set."""

    argmax = "argmax"
    zero = "zero"
    nan = "nan"


class IdentityName(StrEnum):
    """What tells whether two rows are one input."""

    ids = "ids"
    hash = "hash"


SCORING = "Score and calibration"
LEVELS = "Success levels"

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
ScoreOption = Annotated[
    ScoreName, typer.Option("--score", help="Nonconformity score.", rich_help_panel=SCORING)
]
Penalty = Annotated[
    float, typer.Option("--penalty", help="RAPS: penalty per rank beyond k_reg.", rich_help_panel=SCORING)
]
KReg = Annotated[
    str | None,
    typer.Option(
        "--k-reg",
        metavar="N|auto",
        help="RAPS: ranks without penalty. auto: from --tuning, else from a fifth of the calibration. "
        "(default: auto with --tuning, else 1)",
        rich_help_panel=SCORING,
    ),
]
Weight = Annotated[float, typer.Option("--weight", help="SAPS: weight of a rank.", rich_help_panel=SCORING)]
Temperature = Annotated[
    str,
    typer.Option(
        "--temperature",
        metavar="fit|none|VALUE",
        help="Divides the logits. fit: from --tuning, else from a fifth of the calibration.",
        rich_help_panel=SCORING,
    ),
]
Randomize = Annotated[
    bool,
    typer.Option(
        "--randomize/--no-randomize",
        help="Draw one u per input, or use the deterministic score.",
        rich_help_panel=SCORING,
    ),
]
StepOption = Annotated[
    str,
    typer.Option(
        "--step",
        metavar="VALUE|exact",
        help="The paper's step between error levels, as 0.01.",
        rich_help_panel=LEVELS,
    ),
]
EmptyOption = Annotated[
    EmptyName,
    typer.Option(
        "--empty",
        help="Inputs that never get a one-label set: keep the top label, score 0, or leave out.",
        rich_help_panel=LEVELS,
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
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of every random draw.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def score_from(name: ScoreName, penalty: float, k_reg: str | None, weight: float, tuned: bool) -> Score:
    """The score that the options name; raises InputError for a k_reg that is neither a number nor auto."""
    from infimum.conformal import RAPS, SAPS, score_named

    if name is ScoreName.raps:
        word = ("auto" if tuned else "1") if k_reg is None else k_reg
        if word != "auto" and not word.isdecimal():
            raise InputError(f"--k-reg must be a whole number, 0 or more, or auto, not {word!r}")
        return RAPS(penalty, "auto" if word == "auto" else int(word))
    return SAPS(weight) if name is ScoreName.saps else score_named(name.value)


def temperature_from(word: str) -> float | Literal["fit"]:
    """A number, 1 for none, or "fit"."""
    if word == "fit":
        return "fit"
    try:
        return 1.0 if word == "none" else float(word)
    except ValueError as error:
        raise InputError(f"--temperature must be fit, none or a number, not {word!r}") from error


def bandwidth_from(word: str) -> float | Literal["auto"]:
    """A number, or "auto"."""
    if word == "auto":
        return "auto"
    try:
        return float(word)
    except ValueError as error:
        raise InputError(f"--bandwidth must be auto or a number, not {word!r}") from error


def calibrated(
    calibration: Path,
    tuning: Path | None,
    score: ScoreName,
    penalty: float,
    k_reg: str | None,
    weight: float,
    temperature: str,
    randomize: bool,
    seed: int,
) -> tuple[Calibration, list[str]]:
    """Calibrate on a file as the options say; and what to warn of."""
    from infimum.assessment._caveats import cap, saturation
    from infimum.conformal import calibrate
    from infimum.outputs._outputs import Outputs

    labelled = Outputs.load(calibration)
    tuned = None if tuning is None else Outputs.load(tuning)
    made = calibrate(
        labelled.logits,
        labelled.known_labels,
        score=score_from(score, penalty, k_reg, weight, tuning is not None),
        randomize=randomize,
        temperature=temperature_from(temperature),
        tuning=None if tuned is None else (tuned.logits, tuned.known_labels),
        seed=seed,
    )
    found = [
        cap(made),
        saturation("calibration", labelled.saturated, len(labelled)),
        None if tuned is None else saturation("tuning", tuned.saturated, len(tuned)),
    ]
    return made, [warning for warning in found if warning is not None]


IdentityOption = Annotated[
    IdentityName,
    typer.Option(
        "--identity",
        help="What tells whether two rows are one input, which counts once: their ids, or, where you know that no two "
        "inputs share it, the hash of the raw input.",
    ),
]
