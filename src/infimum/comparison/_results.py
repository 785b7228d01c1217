"""What a comparison of networks says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from infimum.bounds import Bound
from infimum.io.faces import Saved
from infimum.io.findings import Finding
from infimum.io.ranges import Confidence, Count, Probability, Signed, Size
from infimum.io.records import Document, Record

FigureName = Literal["accuracy", "certified", "lambda"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)


@dataclass(frozen=True)
class Network(Record):
    """The figures of one network; None where what they need was not given.

    `accuracy` (λ*) is measured on `n_labelled` inputs. `certified` is its Clopper–Pearson bound, at a confidence
    so much higher that the bounds of all networks hold together: it may be quoted of the network that is picked.
    `lambda_` is an estimate, with the standard error `lambda_error`.
    """

    name: str
    accuracy: Probability | None = None
    n_labelled: Count = 0
    certified: Bound | None = None
    lambda_: Probability | None = None
    lambda_error: Probability | None = None

    def value(self, figure: FigureName) -> float | None:
        """One of its figures."""
        if figure == "certified":
            return None if self.certified is None else self.certified.value
        return self.accuracy if figure == "accuracy" else self.lambda_


@dataclass(frozen=True)
class Difference(Record):
    """A figure of network `first` minus that of `second`, in [`low`, `high`].

    The intervals of all pairs hold together (Bonferroni). `p` is for "there is no difference", `p_adjusted` by
    Holm for all pairs. `settled`: `p_adjusted` is at most 1 − confidence. Holm settles a little more than
    Bonferroni's intervals exclude. `first_only`, `second_only`: labelled inputs that only one has right.
    """

    figure: FigureName
    first: str
    second: str
    value: Signed
    low: float
    high: float
    p: Probability
    p_adjusted: Probability
    settled: bool
    method: str
    first_only: Count | None = None
    second_only: Count | None = None


@dataclass(frozen=True)
class Place(Record):
    """A network's place by one figure: `best` to `worst` are the ranks, from 1, that the settled pairs leave it."""

    name: str
    value: Probability
    best: Size
    worst: Size


@dataclass(frozen=True)
class Ranking(Record):
    """Networks by one figure, the highest first; `settled` where no two of them could stand the other way."""

    figure: FigureName
    places: tuple[Place, ...]
    settled: bool


@dataclass(frozen=True)
class Comparison(Document, Saved):
    """Networks side by side. `paired`: compared input by input; else from each network's figures alone.

    `tau` is Kendall's τ_b between λ and λ* over the networks (M2, docs/method.md §6): 1 where λ ranks them as their
    accuracies do; None where one of the two is missing or does not vary.
    """

    SCHEMA = "infimum/comparison/2"
    FILE = "comparison.json"
    WRITTEN = (FILE, "comparison.html", "comparison.md")

    networks: tuple[Network, ...]
    differences: tuple[Difference, ...]
    rankings: tuple[Ranking, ...]
    tau: Signed | None
    paired: bool
    confidence: Confidence
    findings: tuple[Finding, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
