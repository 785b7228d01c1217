"""What a comparison of networks says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from infimum.bounds import Bound
from infimum.documents import RECORD, read_json
from infimum.errors import InputError
from infimum.files import json_text
from infimum.replacing import write_files
from infimum.typed import check_types

SCHEMA = "infimum/comparison/1"

WRITTEN = ("comparison.json", "comparison.html", "comparison.md")
"""What a comparison is saved as."""

FigureName = Literal["accuracy", "certified", "lambda"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)


@dataclass(frozen=True)
class Network:
    """The figures of one network; None where what they need was not given.

    `accuracy` (λ*) is measured on `n_labelled` inputs. `certified` is its Clopper–Pearson bound, at a confidence
    so much higher that the bounds of all networks hold together: it may be quoted of the network that is picked.
    `lambda_` is an estimate, with the standard error `lambda_error`.
    """

    name: str
    accuracy: float | None = None
    n_labelled: int = 0
    certified: Bound | None = None
    lambda_: float | None = None
    lambda_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "certified": None if self.certified is None else self.certified.to_dict()}

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Network:
        """Inverse of `to_dict`."""
        bound = d["certified"]
        return Network(**{**d, "certified": None if bound is None else Bound.from_dict(bound)})

    def value(self, figure: FigureName) -> float | None:
        """One of its figures."""
        if figure == "certified":
            return None if self.certified is None else self.certified.value
        return self.accuracy if figure == "accuracy" else self.lambda_


@dataclass(frozen=True)
class Difference:
    """A figure of network `first` minus that of `second`, in [`low`, `high`].

    The intervals of all pairs hold together (Bonferroni). `p` is for "there is no difference", `p_adjusted` by
    Holm for all pairs. `settled`: `p_adjusted` is at most 1 − confidence. Holm settles a little more than
    Bonferroni's intervals exclude. `first_only`, `second_only`: labelled inputs that only one has right.
    """

    figure: FigureName
    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    p_adjusted: float
    settled: bool
    method: str
    first_only: int | None = None
    second_only: int | None = None


@dataclass(frozen=True)
class Place:
    """A network's place by one figure: `best` to `worst` are the ranks, from 1, that the settled pairs leave it."""

    name: str
    value: float
    best: int
    worst: int


@dataclass(frozen=True)
class Ranking:
    """Networks by one figure, the highest first; `settled` where no two of them could stand the other way."""

    figure: FigureName
    places: tuple[Place, ...]
    settled: bool


@dataclass(frozen=True)
class Comparison:
    """Networks side by side. `paired`: compared input by input; else from each network's figures alone.

    `tau` is Kendall's τ_b between λ and λ* over the networks (M2, METHOD §6): 1 where λ ranks them as their
    accuracies do; None where one of the two is missing or does not vary.
    """

    networks: tuple[Network, ...]
    differences: tuple[Difference, ...]
    rankings: tuple[Ranking, ...]
    tau: float | None
    paired: bool
    confidence: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is `infimum/comparison/1`."""
        return {
            "schema": SCHEMA,
            "networks": [network.to_dict() for network in self.networks],
            "differences": [asdict(difference) for difference in self.differences],
            "rankings": [asdict(ranking) for ranking in self.rankings],
            "tau": self.tau,
            "paired": self.paired,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "provenance": self.provenance,
        }

    def to_json(self) -> str:
        """The JSON document; finite numbers only."""
        return json_text(self.to_dict())

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Comparison:
        """Inverse of `to_dict`; raises InputError for another schema, a missing key or a wrong type."""
        if d.get("schema") != SCHEMA:
            raise InputError(f"schema is {d.get('schema')!r}, this version reads {SCHEMA!r}")
        try:
            made = Comparison(
                networks=tuple(Network.from_dict(n) for n in d["networks"]),
                differences=tuple(Difference(**x) for x in d["differences"]),
                rankings=tuple(
                    Ranking(r["figure"], tuple(Place(**p) for p in r["places"]), r["settled"])
                    for r in d["rankings"]
                ),
                notes=tuple(d["notes"]),
                warnings=tuple(d["warnings"]),
                **{key: d[key] for key in ("tau", "paired", "confidence", "provenance")},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a whole comparison ({error!r})") from error
        check_types(made, "comparison")
        return made

    def save(self, directory: str | Path) -> tuple[Path, ...]:
        """Write `comparison.json`, `comparison.html` and `comparison.md` into a directory: all of them, or none."""
        from infimum.report.comparison.html import to_html
        from infimum.report.comparison.markdown import to_markdown

        pages = (self.to_json(), to_html(self), to_markdown(self))
        written = {name: text.encode() for name, text in zip(WRITTEN, pages, strict=True)}
        return write_files(Path(directory), written)

    @staticmethod
    def load(path: str | Path) -> Comparison:
        """Read a comparison.json, or the directory that holds one."""
        path = Path(path)
        path = path / "comparison.json" if path.is_dir() else path
        return Comparison.from_dict(read_json(path, RECORD))

    def summary(self) -> str:
        """What a person should read: ranking, what is settled, figures and warnings."""
        from infimum.report.comparison.text import to_text

        return to_text(self)
