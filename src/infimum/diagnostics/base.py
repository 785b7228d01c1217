"""The figures behind a report's charts, as frozen data of bounded size that goes to JSON and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from infimum.errors import InputError

MOST = {"levels": 100, "reliability": 100, "risk_coverage": 200, "wanted": 20}
MOST |= {"classes": 1000, "slices": 20, "lowest": 20}
"""The most entries of each part: a report's size does not depend on the number of inputs."""


@dataclass(frozen=True)
class LevelBin:
    """The share of the inputs whose success level lies in [low, high), and of each group of them; sums of 1.

    `correct`, `incorrect` are shares of those groups (None without labels, or of an empty group), `samples` of
    the samples of the manifold.
    """

    low: float
    high: float
    share: float
    correct: float | None = None
    incorrect: float | None = None
    samples: float | None = None


@dataclass(frozen=True)
class Proportion:
    """An accuracy among `n` labelled inputs with its two-sided 95 % Clopper–Pearson interval [low, high]."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class ReliabilityBin:
    """Inputs with λ(x) in [low, high): their mean level against their accuracy."""

    low: float
    high: float
    level: float
    accuracy: Proportion


@dataclass(frozen=True)
class RiskPoint:
    """Accepting the inputs with λ(x) ≥ `threshold`: the share accepted, and the accuracy among them."""

    threshold: float
    coverage: float
    accuracy: Proportion


@dataclass(frozen=True)
class Wanted:
    """The lowest threshold whose accepted inputs reach a `wanted` accuracy; None where no threshold does.

    Chosen and measured on the same inputs: not a guarantee.
    """

    wanted: float
    reached: RiskPoint | None


@dataclass(frozen=True)
class ClassFigures:
    """One class: the inputs `predicted` as it, with their mean success level, and the accuracies.

    `precision` is the accuracy among the inputs predicted as the class, `recall` among those labelled as it.
    """

    index: int
    name: str
    predicted: int
    level: float | None
    precision: Proportion | None = None
    recall: Proportion | None = None


@dataclass(frozen=True)
class Slice:
    """Inputs predicted as one class with another as runner-up, which needs no label."""

    predicted: str
    runner_up: str
    n: int
    level: float
    accuracy: Proportion | None = None


@dataclass(frozen=True)
class LowInput:
    """An input of low success level: its row in the operation data (from 0), id and classes."""

    row: int
    id: str | None
    level: float
    predicted: str
    label: str | None = None


@dataclass(frozen=True)
class Curves:
    """Accuracy by success level of `n` labelled rows, `undefined` of which have no level (empty="nan")."""

    n: int
    undefined: int
    reliability: tuple[ReliabilityBin, ...]
    risk_coverage: tuple[RiskPoint, ...]
    aurc: float | None
    wanted: tuple[Wanted, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return _plain(self)

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Curves:
        """Inverse of `to_dict`, as of `Diagnostics`."""
        _check_lengths(d, ("reliability", "risk_coverage", "wanted"))
        return Curves(n=d["n"], undefined=d["undefined"], **_curves(d))


@dataclass(frozen=True)
class Diagnostics:
    """Success levels of `n` operation inputs, counted; `undefined` of them have none (empty="nan").

    `aurc` is the area under the risk–coverage curve. Parts that need labels are empty without them. With
    weights every share is weighted, and the intervals take Kish's effective number of inputs (`weighted`).
    """

    n: int
    undefined: int
    weighted: bool
    labelled: bool
    levels: tuple[LevelBin, ...]
    reliability: tuple[ReliabilityBin, ...]
    risk_coverage: tuple[RiskPoint, ...]
    aurc: float | None
    wanted: tuple[Wanted, ...]
    classes: tuple[ClassFigures, ...]
    slices: tuple[Slice, ...]
    lowest: tuple[LowInput, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return _plain(self)

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Diagnostics:
        """Inverse of `to_dict`; TypeError or KeyError for a missing part, InputError for one too long."""
        _check_lengths(d, MOST)
        made = {field.name: d[field.name] for field in fields(Diagnostics)} | _curves(d)
        made["levels"] = tuple(LevelBin(**b) for b in d["levels"])
        for group in ("correct", "incorrect", "samples"):
            if len({getattr(b, group) is None for b in made["levels"]}) > 1:
                raise InputError(f"diagnostics: levels have {group} in some bins and not in others")
        made["classes"] = tuple(
            ClassFigures(**{**c, **{key: _proportion(c[key]) for key in ("precision", "recall")}})
            for c in d["classes"]
        )
        made["slices"] = tuple(Slice(**{**s, "accuracy": _proportion(s["accuracy"])}) for s in d["slices"])
        made["lowest"] = tuple(LowInput(**x) for x in d["lowest"])
        return Diagnostics(**made)


def _plain(made: Diagnostics | Curves) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(made).items()}


def _check_lengths(d: dict[str, Any], parts: Iterable[str]) -> None:
    for part in parts:
        if len(d[part]) > MOST[part]:
            raise InputError(
                f"diagnostics: {part} has {len(d[part])} entries, at most {MOST[part]} are expected"
            )


def _curves(d: dict[str, Any]) -> dict[str, Any]:
    return {
        "reliability": tuple(
            ReliabilityBin(**{**b, "accuracy": Proportion(**b["accuracy"])}) for b in d["reliability"]
        ),
        "risk_coverage": tuple(_risk_point(p) for p in d["risk_coverage"]),
        "aurc": d["aurc"],
        "wanted": tuple(
            Wanted(w["wanted"], None if w["reached"] is None else _risk_point(w["reached"]))
            for w in d["wanted"]
        ),
    }


def _proportion(plain: dict[str, Any] | None) -> Proportion | None:
    return None if plain is None else Proportion(**plain)


def _risk_point(plain: dict[str, Any]) -> RiskPoint:
    return RiskPoint(plain["threshold"], plain["coverage"], Proportion(**plain["accuracy"]))
