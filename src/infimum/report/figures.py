"""The figures of an assessment in the order a reader asks, each with what it is: one list for every format."""

from __future__ import annotations

from typing import NamedTuple

from infimum._rounding import estimated, floor4, percent, signed, unrounded
from infimum.assessment._results import Assessment, LambdaEstimate
from infimum.bounds import Bound
from infimum.report.wording import alike, named

NO_GUARANTEE = (
    "λ is an estimate, not a guarantee: per-input coverage cannot be had without assumptions on the "
    "distribution, and on real networks λ is often above the true success probability."
)

ON_CALIBRATION = (
    "The operation has no labels: accuracy is that of the calibration rows, each scored by the others "
    "(leave-one-out). It is an estimate for the operation, as far as that is like the calibration."
)

FIDELITY = (
    "How a manifold fitted to one half of the features comes to the other half. It is near the data where the two "
    "distributions of λ(x) lie on each other, λ differs by no more than two standard errors, and a classifier cannot "
    "tell samples from features (AUC 0.5). The log-likelihood serves to compare mixtures: more is nearer; that of a "
    "narrow kernel is low by its nature."
)


class Figure(NamedTuple):
    """One line: what, how much, and what it rests on."""

    label: str
    value: str
    about: str
    holds: bool = False


def verdict(a: Assessment) -> str:
    """The one sentence that may be quoted, and whether the target is met.

    It names the first certified bound, chosen before any was computed; λ never enters.
    """
    if a.target is None:
        return sentence(a)
    met = "met" if a.target.met else "NOT met"
    if a.target.met and a.contradicted:
        met = "met, but only if labelled and operational inputs are alike, which a test REJECTS"
    return f"Target {unrounded(a.target.value)}: {met}. {sentence(a)}"


def sentence(a: Assessment) -> str:
    """What the first certified bound says, with what it assumes; a larger one, picked afterwards, may not hold."""
    bound = a.judge
    return (
        f"At least {floor4(bound.value)} of operational inputs are classified correctly, with "
        f"{percent(bound.confidence)} confidence ({named(bound.method)}, "
        f"{bound.n} labelled inputs), if {' and '.join(bound.assumptions)}."
    )


def figures(a: Assessment) -> list[Figure]:
    """Certified bounds first, then λ, then the rest."""
    rows = [
        Figure(
            f"certified bound, {named(b.method)}",
            floor4(b.value),
            f"holds with {percent(b.confidence)} confidence; {rests_on(b)}",
            holds=True,
        )
        for b in a.certified
    ]
    if a.lambda_.source == "manifold":
        kind = a.manifold["name"] if a.manifold else "manifold"
        rows.append(
            Figure("λ on samples", _lambda(a.lambda_), f"{a.lambda_.n} samples of the {kind} manifold")
        )
    rows.append(
        Figure(
            "λ on operation inputs",
            _lambda(a.lambda_operation),
            f"{a.lambda_operation.n} inputs, no labels needed",
        )
    )
    rows += [
        Figure(f"{named(e.method)}, estimate", estimated(e.value, e.standard_error), "not a guarantee")
        for e in a.estimates
    ]
    if a.success is not None:
        rows.append(
            Figure("λ*, accuracy on them", f"{a.success.value:.4f}", f"{a.success.n} labelled inputs")
        )
    if a.success is not None:
        right, wrong = ("none" if v is None else floor4(v) for v in (a.correct, a.incorrect))
        pearson = "none" if a.pearson is None else f"{a.pearson:.4f}"
        rows.append(
            Figure("mean λ(x), correct / wrong", f"{right} / {wrong}", f"Pearson with position: {pearson}")
        )
    return rows


def fidelity_rows(a: Assessment) -> list[tuple[str, str]]:
    """Manifold fidelity by name; nothing where it was not looked at."""
    f = a.fidelity
    if f is None:
        return []
    rows = [
        ("features fitted to", f"{f.n_fitted:,}"),
        ("features held out", f"{f.n_real:,}"),
        (f"λ on {f.n_samples:,} samples", floor4(f.lambda_samples)),
        ("λ on the features held out", floor4(f.lambda_real)),
        ("difference", f"{signed(f.difference)} ± {f.standard_error:.4f}"),
    ]
    if f.auc is not None and f.auc_error is not None:
        rows.append(("classifier two-sample score (AUC)", f"{f.auc:.3f} ± {f.auc_error:.3f}"))
    if f.log_likelihood is not None:
        rows.append(("log-likelihood of a logit vector held out", f"{f.log_likelihood:.3f} nats"))
    return rows


def facts(a: Assessment) -> list[str]:
    """How the figures were made, a sentence each."""
    score = dict(a.calibration.score)
    name = score.pop("name", "unknown")
    inside = ", ".join(f"{key} {value}" for key, value in score.items())
    kind = "randomised" if a.calibration.randomize else "deterministic"
    lines = [
        f"Calibration: {a.calibration.n} labelled rows, {a.n_classes} classes, score {name}"
        f"{f' ({inside})' if inside else ''}, {kind}, temperature {a.calibration.temperature:.4g}"
        f"{f', {a.calibration.n_tuning} rows for tuning' if a.calibration.n_tuning else ''}, "
        f"seed {a.calibration.seed}.",
        f"Levels: {'exact' if a.step == 'exact' else f'in steps of {a.step}'}; "
        f"{a.lambda_operation.never_singleton:.2%} of the inputs never get a one-label set ({a.empty}).",
    ]
    if a.exchangeability is not None:
        lines.append(alike(a.exchangeability))
    error = a.lambda_.standard_error
    parts = f"calibration {error.calibration:.4f}, sampling {error.sampling:.4f}"
    parts += f", manifold {error.manifold:.4f}" if a.lambda_.source == "manifold" else ""
    lines.append(f"Standard error of λ: {error.total:.4f} ({parts}).")
    if a.lambda_.stopping is not None:
        ended = "which held" if a.lambda_.converged else "which did not hold in the end"
        lines.append(f"Sampling: rule {a.lambda_.stopping.get('rule')}, {ended}, {a.lambda_.n} samples.")
    if a.manifold is not None:
        m = a.manifold
        line = f"Manifold: {m['name']}, {m['n']} features of {m['n_features']} dimensions, {m['components']} parts"
        if m.get("log_likelihood") is not None:
            ended = "converged" if m.get("converged") else "not converged"
            steps = "training {} after {} epochs" if m["name"] == "flow" else "EM {} after {} steps"
            line += f", {steps.format(ended, m.get('iterations'))}"
            line += f", log-likelihood {m['log_likelihood']:.3f} per feature"
        lines.append(line + ".")
    if a.fidelity is not None:
        f = a.fidelity
        line = f"On {f.n_real:,} features held out of a second fit: λ on samples differs by {signed(f.difference)} "
        line += f"± {f.standard_error:.4f}"
        if f.auc is not None:
            line += f", a classifier tells samples from features with AUC {f.auc:.3f} (0.5: it cannot)"
        lines.append(line + ".")
    if a.lambda_operation.weighted:
        lines.append(f"Weights: effective number of operation inputs {a.lambda_operation.effective_n:.1f}.")
    if len(a.certified) > 1:
        name = named(a.judge.method)
        lines.append(
            f"Each certified bound holds with its own confidence; {name}, named beforehand, is the one that "
            "judges. The largest of several, picked afterwards, would hold with less."
        )
    return lines


def rests_on(bound: Bound) -> str:
    """The rows behind a bound, and the error level that attains it."""
    rows = f"{bound.n} labelled inputs"
    if "unlabelled" in bound.details:
        rows += f", {bound.details['unlabelled']} unlabelled"
    if "error_level" in bound.details:
        rows += f", at error level {bound.details['error_level']:.4f}"
    return rows


def _lambda(estimate: LambdaEstimate) -> str:
    return estimated(estimate.value, estimate.standard_error.total)
