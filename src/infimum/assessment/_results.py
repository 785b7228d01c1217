"""What an assessment says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from infimum.assessment._diagnostics.records import Curves, Diagnostics
from infimum.bounds import Bound, Estimate
from infimum.bounds._bound import check_judge
from infimum.conformal._summary import StandardError
from infimum.errors import InputError
from infimum.io.faces import Saved
from infimum.io.findings import Finding
from infimum.io.ranges import Classes, Confidence, Count, Nonnegative, Positive, Probability, Signed, Size
from infimum.io.records import Document, Record
from infimum.manifold._fidelity import Fidelity
from infimum.manifold._manifold import ManifoldFit
from infimum.manifold._sampling import RunningLambda
from infimum.manifold._selection import ManifoldChoice
from infimum.shift import Exchangeability
from infimum.shift._measured import Measured


@dataclass(frozen=True)
class LambdaEstimate(Record):
    """λ: an estimate, not a guarantee. Mean success level of `n` samples ("manifold") or inputs ("operation").

    `stopping` is None and `history` empty on operation inputs, where nothing is sampled. `weighted`: the inputs do
    not all count alike, and `effective_n` is their effective sample size; `never_singleton` is the share that no
    error level gives one label.
    """

    value: Probability
    standard_error: StandardError
    source: Literal["manifold", "operation"]
    n: Count
    effective_n: Nonnegative
    never_singleton: Probability
    converged: bool = True
    stopping: dict[str, Any] | None = None
    history: tuple[RunningLambda, ...] = ()
    weighted: bool = False


@dataclass(frozen=True)
class Success(Record):
    """λ*: (weighted) accuracy on `n` labelled operation inputs, `correct` of which are classified correctly."""

    value: Probability
    n: Size
    correct: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correct > self.n:
            raise InputError(f"Success.correct is {self.correct}, of {self.n} inputs")


@dataclass(frozen=True)
class Target(Record):
    """Whether the certified bound `by` a method named beforehand reaches the target `value` at `confidence`."""

    value: Probability
    confidence: Confidence
    met: bool
    by: str


@dataclass(frozen=True)
class CalibrationFacts(Record):
    """The calibration an assessment rests on."""

    n: Size
    score: dict[str, Any]
    temperature: Positive
    randomize: bool
    seed: Count
    n_tuning: Count = 0


@dataclass(frozen=True)
class Assessment(Document, Saved):
    """Everything `assess` found. `lambda_` and `estimates` are estimates; only `certified` holds bounds.

    The first of `certified` is the one that the target is judged by, whatever the others say: each holds with
    its own confidence, and the largest of several, picked after the fact, does not.

    `correct`, `incorrect`: mean success level of correctly and incorrectly classified inputs; `pearson`: the
    correlation of λ(x) with the position of the true label (0 = predicted); None without labels. `on_calibration`:
    accuracy by λ(x) of the calibration rows, each scored by the others, where the operation has no labels;
    `fidelity`: how a manifold fitted to half of the features comes to the other half; `selection`: how the manifold was
    chosen, None where it was named or nothing was sampled. `measured`: the accuracy of operation inputs that are no
    labelled rows, where they have labels, against that of the labelled rows.
    """

    SCHEMA = "infimum/assessment/2"
    FILE = "assessment.json"
    WRITTEN = (FILE, "report.html", "report.md")
    KEYS = {"lambda_": "lambda"}  # noqa: RUF012 - a class variable of Record

    network: str
    n_classes: Classes
    calibration: CalibrationFacts
    lambda_: LambdaEstimate
    lambda_operation: LambdaEstimate
    certified: tuple[Bound, ...]
    estimates: tuple[Estimate, ...]
    success: Success | None = None
    correct: Probability | None = None
    incorrect: Probability | None = None
    pearson: Signed | None = None
    target: Target | None = None
    manifold: dict[str, Any] | None = None
    selection: ManifoldChoice | None = None
    exchangeability: Exchangeability | None = None
    step: str = "exact"
    empty: str = "argmax"
    findings: tuple[Finding, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    diagnostics: Diagnostics | None = None
    on_calibration: Curves | None = None
    fidelity: Fidelity | None = None
    measured: Measured | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge(self.certified, "certified")
        if self.manifold is not None:
            ManifoldFit.built(self.manifold, "manifold")

    @property
    def judge(self) -> Bound:
        """The bound that decides."""
        return self.certified[0]

    @property
    def curves(self) -> Diagnostics | Curves | None:
        """Accuracy by λ(x): of the operation where it has labels, else of the calibration rows; None without either."""
        labelled = self.diagnostics is not None and self.diagnostics.labelled
        return self.diagnostics if labelled else self.on_calibration

    @property
    def contradicted(self) -> bool:
        """Whether the data, or labels of the operation, contradict what every bound assumes: that the two are alike."""
        return any(test is not None and test.rejected for test in (self.exchangeability, self.measured))


def assessment_file(path: str | Path) -> Path:
    """The file itself, or the assessment.json of a directory."""
    path = Path(path)
    return path / Assessment.FILE if path.is_dir() else path
