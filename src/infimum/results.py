"""What an assessment says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from infimum.bounds import Bound, Estimate, Exchangeability
from infimum.conformal.summary import StandardError
from infimum.diagnostics.base import Curves, Diagnostics
from infimum.documents import RECORD, read_json
from infimum.errors import InputError
from infimum.files import json_text
from infimum.manifold.base import ManifoldFit
from infimum.manifold.fidelity import Fidelity
from infimum.manifold.selection import Selection
from infimum.measured import Measured
from infimum.sampling import Batch
from infimum.typed import check_ranges, check_types

SCHEMA = "infimum/assessment/1"

WRITTEN = ("assessment.json", "report.html", "report.md")
"""What an assessment is saved as."""


@dataclass(frozen=True)
class LambdaEstimate:
    """λ: an estimate, not a guarantee. Mean success level of `n` samples ("manifold") or inputs ("operation").

    `stopping` is None and `history` empty on operation inputs, where nothing is sampled. `effective_n` is the
    effective sample size of weighted inputs, `never_singleton` the share that no error level gives one label.
    """

    value: float
    standard_error: StandardError
    source: Literal["manifold", "operation"]
    n: int
    effective_n: float
    never_singleton: float
    converged: bool = True
    stopping: dict[str, Any] | None = None
    history: tuple[Batch, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "value": self.value,
            "standard_error": self.standard_error.to_dict(),
            "source": self.source,
            "n": self.n,
            "effective_n": self.effective_n,
            "converged": self.converged,
            "stopping": self.stopping,
            "history": [batch.to_dict() for batch in self.history],
            "never_singleton": self.never_singleton,
        }

    @staticmethod
    def from_dict(d: dict[str, Any]) -> LambdaEstimate:
        """Inverse of `to_dict`."""
        error = {k: v for k, v in d["standard_error"].items() if k != "total"}
        rest = {k: v for k, v in d.items() if k not in ("standard_error", "history")}
        history = tuple(Batch(**batch) for batch in d["history"])
        return LambdaEstimate(standard_error=StandardError(**error), history=history, **rest)


@dataclass(frozen=True)
class Success:
    """λ*: (weighted) accuracy on `n` labelled operation inputs."""

    value: float
    n: int


@dataclass(frozen=True)
class Target:
    """Whether the certified bound `by` a method named beforehand reaches the target `value` at `confidence`."""

    value: float
    confidence: float
    met: bool
    by: str


@dataclass(frozen=True)
class CalibrationFacts:
    """The calibration an assessment rests on."""

    n: int
    score: dict[str, Any]
    temperature: float
    randomize: bool
    seed: int
    n_tuning: int = 0


@dataclass(frozen=True)
class Assessment:
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

    network: str
    n_classes: int
    calibration: CalibrationFacts
    lambda_: LambdaEstimate
    lambda_operation: LambdaEstimate
    certified: tuple[Bound, ...]
    estimates: tuple[Estimate, ...]
    success: Success | None = None
    correct: float | None = None
    incorrect: float | None = None
    pearson: float | None = None
    target: Target | None = None
    manifold: dict[str, Any] | None = None
    selection: Selection | None = None
    exchangeability: Exchangeability | None = None
    step: str = "exact"
    empty: str = "argmax"
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    diagnostics: Diagnostics | None = None
    on_calibration: Curves | None = None
    fidelity: Fidelity | None = None
    measured: Measured | None = None

    @property
    def curves(self) -> Diagnostics | Curves | None:
        """Accuracy by λ(x): of the operation where it has labels, else of the calibration rows; None without either."""
        labelled = self.diagnostics is not None and self.diagnostics.labelled
        return self.diagnostics if labelled else self.on_calibration

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is `infimum/assessment/1`."""
        return {
            "schema": SCHEMA,
            "network": self.network,
            "n_classes": self.n_classes,
            "calibration": asdict(self.calibration),
            "step": self.step,
            "empty": self.empty,
            "lambda": self.lambda_.to_dict(),
            "lambda_operation": self.lambda_operation.to_dict(),
            "success": None if self.success is None else asdict(self.success),
            "correct": self.correct,
            "incorrect": self.incorrect,
            "pearson": self.pearson,
            "certified": [bound.to_dict() for bound in self.certified],
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "target": None if self.target is None else asdict(self.target),
            "manifold": self.manifold,
            "selection": None if self.selection is None else self.selection.to_dict(),
            "exchangeability": None if self.exchangeability is None else self.exchangeability.to_dict(),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "provenance": self.provenance,
            "interrupted": self.interrupted,
            "diagnostics": None if self.diagnostics is None else self.diagnostics.to_dict(),
            "fidelity": None if self.fidelity is None else self.fidelity.to_dict(),
            "measured": None if self.measured is None else asdict(self.measured),
            "on_calibration": None if self.on_calibration is None else self.on_calibration.to_dict(),
        }

    def to_json(self) -> str:
        """The JSON document; finite numbers only."""
        return json_text(self.to_dict())

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Assessment:
        """Inverse of `to_dict`; raises InputError for another schema or a missing key."""
        if d.get("schema") != SCHEMA:
            raise InputError(f"schema is {d.get('schema')!r}, this version reads {SCHEMA!r}")
        diagnostics = d.get("diagnostics")  # infimum 0.1.0 wrote none
        try:
            made = Assessment(
                calibration=CalibrationFacts(**d["calibration"]),
                lambda_=LambdaEstimate.from_dict(d["lambda"]),
                lambda_operation=LambdaEstimate.from_dict(d["lambda_operation"]),
                certified=tuple(Bound.from_dict(b) for b in d["certified"]),
                estimates=tuple(Estimate(**e) for e in d["estimates"]),
                success=None if d["success"] is None else Success(**d["success"]),
                target=None if d["target"] is None else Target(**d["target"]),
                # Files of before the test was there do not have it.
                exchangeability=None
                if d.get("exchangeability") is None
                else Exchangeability.from_dict(d["exchangeability"]),
                # Nor the choice of a manifold.
                selection=None if d.get("selection") is None else Selection.from_dict(d["selection"]),
                diagnostics=None if diagnostics is None else Diagnostics.from_dict(diagnostics),
                measured=None if d.get("measured") is None else Measured(**d["measured"]),
                fidelity=None if d.get("fidelity") is None else Fidelity.from_dict(d["fidelity"]),
                on_calibration=None
                if d.get("on_calibration") is None
                else Curves.from_dict(d["on_calibration"]),
                warnings=tuple(d["warnings"]),
                notes=tuple(d["notes"]),
                **{
                    key: d[key]
                    for key in (
                        *("network", "n_classes", "step", "empty", "correct", "incorrect", "pearson"),
                        *("manifold", "provenance", "interrupted"),
                    )
                },
            )
            check_types(made, "assessment")
            if made.manifold is not None:
                known = {
                    f.name: made.manifold[f.name] for f in fields(ManifoldFit) if f.name in made.manifold
                }
                check_types(ManifoldFit(**known), "assessment.manifold")
        except KeyError as error:
            raise InputError(f"not a whole assessment: {error} is missing") from error
        except (TypeError, AttributeError) as error:
            raise InputError(f"not a whole assessment ({error})") from error
        found = [made.lambda_.value, made.lambda_operation.value, *(b.value for b in made.lambda_.history)]
        found += [bound.value for bound in made.certified] + [e.value for e in made.estimates]
        if not all(0 <= value <= 1 for value in found):
            raise InputError("not an assessment: it holds a probability outside 0 to 1")
        check_ranges(made, "assessment")
        if not made.certified:
            raise InputError("not a whole assessment: certified is empty")
        return made

    def save(self, directory: str | Path) -> None:
        """Write `assessment.json`, `report.html` and `report.md` into a directory: all of them, or none."""
        from infimum.replacing import together, write_files
        from infimum.report import write_reports

        with together():
            write_files(Path(directory), {WRITTEN[0]: self.to_json().encode()})
            write_reports(self, directory)

    @staticmethod
    def load(path: str | Path) -> Assessment:
        """Read an assessment.json, or the directory that holds one."""
        path = assessment_file(path)
        document = read_json(path, RECORD)
        try:
            return Assessment.from_dict(document)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def summary(self) -> str:
        """What a person should read: figures, what they are, and every warning."""
        from infimum.report.text import to_text

        return to_text(self)


def assessment_file(path: str | Path) -> Path:
    """The file itself, or the assessment.json of a directory."""
    path = Path(path)
    return path / WRITTEN[0] if path.is_dir() else path
