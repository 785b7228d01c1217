"""What is sampled from: why nothing is, which manifold was taken, how it was fitted, and how it looks."""

from __future__ import annotations

from infimum._rounding import floor4
from infimum.report.findings.registry import constant, says

constant(
    "no-manifold-asked",
    "No manifold was asked for.",
    "no manifold was asked for: λ is that of the operation inputs",
)


@says("no-manifold-needed", "There are so many operation inputs that sampling brings λ no nearer.")
def _(enough: int) -> str:
    return (
        f"nothing is sampled: of {enough} or more operation inputs λ needs no manifold, and none would bring it "
        'nearer on average; to sample all the same, name one, as --manifold kernel (manifold="kernel")'
    )


@says("no-manifold-possible", "Without a prediction layer and features nothing can be sampled.")
def _(missing: list[str]) -> str:
    return f"without {' and '.join(missing)} nothing is sampled: λ is that of the operation inputs"


@says("moments-of-all", "The manifold is made of the moments of a stream, in one pass.")
def _(n: int) -> str:
    return f"the manifold is made of the moments of all {n} operation features, in one pass"


@says("fitted-to-some", "Of a stream only some features are kept, and the manifold is fitted to them.")
def _(kept: int, n: int) -> str:
    return (
        f"the manifold was fitted to the features of {kept} of the {n} operation inputs, drawn "
        "at random: the operation is streamed, and no more are kept"
    )


@says("manifold-chosen", "Which manifold auto took, and why.")
def _(chosen: str, passed: int, default: str) -> str:
    return f"manifold auto took {chosen}: {why_chosen(chosen, passed, default)}"


def why_chosen(chosen: str, passed: int, default: str) -> str:
    """Why a candidate was taken, by how many passed."""
    if not passed:
        return "the default, as no candidate passed"
    many = f"highest held-out log-likelihood of the {passed} that passed"
    why = many if passed > 1 else "the only one that passed"
    if chosen == default:
        return why
    return f"{why}; for λ itself the {default} was at least as good on the networks of the study"


UNTRIED = {
    "head-not-linear": "the head is not linear, so no candidate has a density of logits",
    "few-features": "fewer than 100 different features are too few to hold some of them out",
    "logits-alike": "all features give the same logits",
}


@says("manifold-untried", "Nothing was tried: the default manifold is taken, and why.")
def _(chosen: str, why: str) -> str:
    return f"manifold auto took {chosen}: the default, untried: {UNTRIED[why]}"


@says("fidelity-unknown", "The manifold was not compared with features held out, and why.")
def _(why: str) -> str:
    return f"the manifold was not compared with features held out: {why}"


@says("few-features", "The manifold was fitted to fewer than 100 features.")
def _(n: int) -> str:
    return f"the manifold was fitted to {n} features only"


@says("fit-not-converged", "The fit of the mixture or flow ended before it converged.")
def _(flow: bool, iterations: int) -> str:
    what, steps = ("flow", "epochs of training") if flow else ("mixture", "EM steps")
    return f"the {what} did not converge in {iterations} {steps}"


@says("mixture-collapsed", "The components of the mixture no longer stand for the classes.")
def _(agreement: float | None) -> str:
    agree = "" if agreement is None else f" (they agree on {agreement:.0%} of the features)"
    return f"the mixture collapsed: its components no longer stand for the classes{agree}"


@says("sampling-not-converged", "Sampling ended before its stopping rule held.")
def _(n: int) -> str:
    return f"sampling ended at {n} samples before its stopping rule held"


constant(
    "interrupted",
    "Sampling was interrupted; what was sampled until then is kept.",
    "interrupted: sampling was stopped before its rule held",
)


@says("samples-far", "λ on samples is far from λ on real inputs: the manifold does not look like the data.")
def _(samples: float, operation: float) -> str:
    return (
        f"λ on samples ({floor4(samples)}) is far from λ on the real operation inputs "
        f"({floor4(operation)}): the manifold does not look like the data"
    )


@says(
    "manifold-data-confident", "λ on the manifold data is above that of operation: the network may know them."
)
def _(manifold: float, operation: float) -> str:
    return (
        f"λ on the manifold's own features ({floor4(manifold)}) is above that of the operation "
        f"({floor4(operation)}): was the network trained on them? They must be unseen by training"
    )


@says("wrong-head", "The prediction layer does not give the logits from the features.")
def _(difference: float, row: int) -> str:
    return (
        f"head(features) differs from the operation's logits by up to {difference:.3g} (row {row}): "
        "head, features and logits may belong to different networks, and λ on samples would be meaningless"
    )
