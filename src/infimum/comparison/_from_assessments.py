"""compare_assessments(): networks by what their assessments say, without their outputs."""

from __future__ import annotations

from collections.abc import Sequence

from infimum._checks import Real, check_kind
from infimum.assessment._results import Assessment
from infimum.bounds._bound import check_confidence
from infimum.bounds._label_errors import LabelErrors
from infimum.comparison._inputs import check_names, check_same, different_assessments, unchecked_assessments
from infimum.comparison._ranking import PairTest, Test, assembled, certified
from infimum.comparison._results import Comparison, FigureName, Network
from infimum.comparison._statistics import unpaired_accuracies, unpaired_means
from infimum.errors import InputError
from infimum.io.findings import Finding, note
from infimum.io.provenance import made_with


def compare_assessments(
    assessments: Sequence[Assessment],
    *,
    names: Sequence[str] | None = None,
    confidence: Real = 0.95,
    allow_different_inputs: bool = False,
) -> Comparison:
    """Compare networks by their assessments alone.

    How the errors of two networks on the same inputs go together is not known from these. The worst is assumed,
    so the intervals hold whatever it is, and are wider than those of `compare`, which settles more.

    `names` are those of the assessments by default, and must differ. `confidence` is that of all bounds together,
    and for each figure of all differences together. Raises InputError for fewer than two assessments, and where
    their fingerprints tell of different inputs, unless those are allowed.
    """
    check_kind(assessments, (list, tuple), "assessments", "a list of assessments, one for each network")
    for number, one in enumerate(assessments, 1):
        check_kind(one, Assessment, f"assessments: network {number}", "an Assessment, as `assess` makes it")
    confidence = check_confidence(confidence)
    names = check_names([a.network for a in assessments] if names is None else names, len(assessments))
    reason = different_assessments(assessments)
    unchecked = reason is None and unchecked_assessments(assessments)
    counts = [_labelled_counts(a) for a in assessments]
    networks = [
        Network(
            name=name,
            accuracy=None if count is None else count[0] / count[1],
            n_labelled=0 if count is None else count[1],
            certified=None if count is None else certified(*count, confidence, len(names), _label_errors(a)),
            lambda_=a.lambda_.value,
            lambda_error=a.lambda_.standard_error.total,
        )
        for name, a, count in zip(names, assessments, counts, strict=True)
    ]

    def accuracies(i: int, j: int, miss: float) -> Test:
        (k, n), (right, m) = counts[i] or (0, 0), counts[j] or (0, 0)
        return Test(unpaired_accuracies((k, right), (n, m), miss), "clopper_pearson_unpaired")

    def lambdas(i: int, j: int, miss: float) -> Test:
        first, second = assessments[i].lambda_, assessments[j].lambda_
        errors = (first.standard_error.total, second.standard_error.total)
        return Test(unpaired_means(first.value - second.value, errors, miss), "normal_unpaired")

    tests: dict[FigureName, PairTest] = {"accuracy": accuracies, "lambda": lambdas}
    return assembled(
        networks,
        tests,
        confidence,
        paired=False,
        findings=[
            *check_same(reason, unchecked, allow_different_inputs),
            note("figures-alone"),
            *_unlike(assessments),
        ],
        provenance=made_with(
            inputs={name: a.provenance.get("inputs") for name, a in zip(names, assessments, strict=True)}
        ),
    )


def _labelled_counts(a: Assessment) -> tuple[int, int] | None:
    """Correct and all labelled rows: of the operation where it has labels and no weights, else of the bound."""
    if a.success is not None and not a.lambda_operation.weighted:
        return a.success.correct, a.success.n
    counts = [(bound.successes, bound.n) for bound in a.certified if not bound.weighted]
    return next(((right, n) for right, n in counts if right is not None), None)


def _label_errors(a: Assessment) -> LabelErrors | None:
    """What the assessment's bound allows for wrong labels; InputError where a count is of other rows than compared."""
    errors = LabelErrors.behind(a.judge)
    if errors.count and a.success is not None:
        raise InputError(
            f"{a.network} was assessed with at most {errors.count} wrong labels among its labelled rows, and is "
            "compared by the labels of its operation: how many of those may be wrong is not known. Assess it with a "
            "rate, as 2%"
        )
    return errors if errors.any else None


def _unlike(assessments: Sequence[Assessment]) -> list[Finding]:
    told = []
    if len({a.success is None for a in assessments}) > 1:
        told.append(note("accuracies-of-both-kinds"))
    if len({a.lambda_.source for a in assessments}) > 1:
        told.append(note("lambdas-of-both-kinds"))
    if len({(str(a.calibration.score), a.step, a.empty) for a in assessments}) > 1:
        told.append(note("scores-differ"))
    return told
