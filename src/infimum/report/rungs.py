"""The figures that can stand on one axis: certified bounds, estimates and λ*, each with what it assumes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from infimum._rounding import estimated, floor4, interval, percent
from infimum.assessment._diagnostics.proportions import binomial_interval
from infimum.assessment._results import Assessment, LambdaEstimate
from infimum.bounds import Bound
from infimum.report.figures import rests_on
from infimum.report.wording import named

Kind = Literal["certified", "asymptotic", "estimate", "measured"]

KINDS: dict[Kind, str] = {
    "certified": "certified lower bound",
    "asymptotic": "lower bound, asymptotic",
    "estimate": "estimate, not a guarantee",
    "measured": "measured on labels",
}


class Rung(NamedTuple):
    """One figure: `interval` is its standard error or binomial interval, where it has one."""

    label: str
    kind: Kind
    value: float
    shown: str
    interval: tuple[float, float] | None
    assumes: str


def rungs(a: Assessment) -> list[Rung]:
    """Certified bounds in the order they were chosen, then λ and the other estimates, then λ*."""
    found = [_bound(b) for b in a.certified]
    if a.lambda_.source == "manifold":
        found.append(
            _lambda(
                "λ on samples", a.lambda_, "the manifold looks like the features of operational inputs, and "
            )
        )
    found.append(_lambda("λ on operation inputs", a.lambda_operation, ""))
    found += [
        Rung(
            named(e.method).capitalize(),
            "estimate",
            e.value,
            estimated(e.value, e.standard_error),
            _around(e.value, e.standard_error),
            f"Not certified: {e.note}.",
        )
        for e in a.estimates
    ]
    if a.success is not None:
        value, n = a.success.value, min(float(a.success.n), a.lambda_operation.effective_n)
        low, high = binomial_interval(np.array([value * n]), np.array([n]))
        ends = (float(low[0]), float(high[0]))
        found.append(
            Rung(
                "λ*, accuracy",
                "measured",
                value,
                f"{value:.4f}",
                ends,
                f"Share of correct predictions on {a.success.n:,} labelled operation inputs; 95 % interval "
                f"{interval(*ends)}.",
            )
        )
    return found


def _bound(b: Bound) -> Rung:
    name = named(b.method)
    holds = f"with {percent(b.confidence)} confidence ({rests_on(b)}) if {' and '.join(b.assumptions)}."
    if b.validity == "asymptotic":
        return Rung(
            name, "asymptotic", b.value, floor4(b.value), None, f"Holds in the limit of many labels, {holds}"
        )
    return Rung(f"Certified, {name}", "certified", b.value, floor4(b.value), None, f"Holds {holds}")


def _lambda(label: str, estimate: LambdaEstimate, also: str) -> Rung:
    error = estimate.standard_error.total
    what = "samples" if estimate.source == "manifold" else "inputs, no labels needed"
    return Rung(
        label,
        "estimate",
        estimate.value,
        estimated(estimate.value, error),
        _around(estimate.value, error),
        f"Mean over {estimate.n:,} {what}; ± one standard error. It is the success probability only if {also}coverage "
        "held for every single input, which nothing ensures.",
    )


def _around(value: float, error: float | None) -> tuple[float, float] | None:
    return None if error is None else (max(0.0, value - error), min(1.0, value + error))
