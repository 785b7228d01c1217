"""The figures behind a report's charts, as frozen data of bounded size that goes to JSON and back."""

from __future__ import annotations

from dataclasses import dataclass

from infimum.errors import InputError
from infimum.io.ranges import Count, Probability
from infimum.io.records import Record

MOST = {"levels": 100, "reliability": 100, "risk_coverage": 200, "wanted": 20}
MOST |= {"classes": 1000, "slices": 20, "lowest": 20}
"""The most entries of each part: a report's size does not depend on the number of inputs."""


@dataclass(frozen=True)
class LevelBin(Record):
    """The share of the inputs whose success level lies in [low, high), and of each group of them; sums of 1.

    `correct`, `incorrect` are shares of those groups (None without labels, or of an empty group), `samples` of
    the samples of the manifold.
    """

    low: Probability
    high: Probability
    share: Probability
    correct: Probability | None = None
    incorrect: Probability | None = None
    samples: Probability | None = None


@dataclass(frozen=True)
class Proportion(Record):
    """An accuracy among `n` labelled inputs with its two-sided 95 % Clopper–Pearson interval [low, high]."""

    value: Probability
    low: Probability
    high: Probability
    n: Count


@dataclass(frozen=True)
class ReliabilityBin(Record):
    """Inputs with λ(x) in [low, high): their mean level against their accuracy."""

    low: Probability
    high: Probability
    level: Probability
    accuracy: Proportion


@dataclass(frozen=True)
class RiskPoint(Record):
    """Accepting the inputs with λ(x) ≥ `threshold`: the share accepted, and the accuracy among them."""

    threshold: Probability
    coverage: Probability
    accuracy: Proportion


@dataclass(frozen=True)
class Wanted(Record):
    """The lowest threshold whose accepted inputs reach a `wanted` accuracy; None where no threshold does.

    Chosen and measured on the same inputs: not a guarantee.
    """

    wanted: Probability
    reached: RiskPoint | None


@dataclass(frozen=True)
class ClassFigures(Record):
    """One class: the inputs `predicted` as it, with their mean success level, and the accuracies.

    `precision` is the accuracy among the inputs predicted as the class, `recall` among those labelled as it.
    """

    index: Count
    name: str
    predicted: Count
    level: Probability | None
    precision: Proportion | None = None
    recall: Proportion | None = None


@dataclass(frozen=True)
class Slice(Record):
    """Inputs predicted as one class with another as runner-up, which needs no label."""

    predicted: str
    runner_up: str
    n: Count
    level: Probability
    accuracy: Proportion | None = None


@dataclass(frozen=True)
class LowInput(Record):
    """An input of low success level: its row in the operation data (from 0), id and classes."""

    row: Count
    id: str | None
    level: Probability
    predicted: str
    label: str | None = None


@dataclass(frozen=True)
class Curves(Record):
    """Accuracy by success level of `n` labelled rows, `undefined` of which have no level (empty="nan")."""

    n: Count
    undefined: Count
    reliability: tuple[ReliabilityBin, ...]
    risk_coverage: tuple[RiskPoint, ...]
    aurc: Probability | None
    wanted: tuple[Wanted, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_lengths(self)


@dataclass(frozen=True)
class Diagnostics(Record):
    """Success levels of `n` operation inputs, counted; `undefined` of them have none (empty="nan").

    `aurc` is the area under the risk–coverage curve. Parts that need labels are empty without them. With
    weights every share is weighted, and the intervals take Kish's effective number of inputs (`weighted`).
    """

    n: Count
    undefined: Count
    weighted: bool
    labelled: bool
    levels: tuple[LevelBin, ...]
    reliability: tuple[ReliabilityBin, ...]
    risk_coverage: tuple[RiskPoint, ...]
    aurc: Probability | None
    wanted: tuple[Wanted, ...]
    classes: tuple[ClassFigures, ...]
    slices: tuple[Slice, ...]
    lowest: tuple[LowInput, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_lengths(self)
        for group in ("correct", "incorrect", "samples"):
            if len({getattr(b, group) is None for b in self.levels}) > 1:
                raise InputError(f"levels have {group} in some bins and not in others")


def check_lengths(made: Curves | Diagnostics) -> None:
    """Raise InputError for a part with more entries than a report shows."""
    for part, most in MOST.items():
        if (n := len(getattr(made, part, ()))) > most:
            raise InputError(f"{part} has {n} entries, at most {most} are expected")
