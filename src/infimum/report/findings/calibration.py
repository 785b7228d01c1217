"""How the calibration was made: what was set aside, what was tuned, how large it is."""

from __future__ import annotations

from infimum.report.findings.registry import constant, says


@says("set-aside-for-tuning", "Calibration rows were set aside to tune k_reg or the temperature.")
def _(aside: int, n: int) -> str:
    return f"{aside} of the {n} calibration rows were set aside for tuning"


constant(
    "tuning-unused",
    "Tuning rows were given, and nothing was left to tune.",
    "the tuning rows were not used: neither k_reg nor the temperature was left to be tuned",
)
constant(
    "temperature-undetermined",
    "The tuning rows do not tell a temperature.",
    "the temperature is left at 1: in every tuning row all logits are equal",
)


@says("temperature-at-lower-limit", "The likelihood grows the nearer the temperature comes to 0.")
def _(temperature: float) -> str:
    return (
        f"the fitted temperature is its lower limit {temperature:.3g}: the label of every tuning row that "
        "matters has the largest logit, so that the likelihood grows the nearer the temperature comes to 0"
    )


@says("temperature-at-upper-limit", "The likelihood grows with the temperature, without end.")
def _(temperature: float) -> str:
    return (
        f"the fitted temperature is its upper limit {temperature:.3g}: in the tuning rows the logits of the "
        "labels are no larger than the others, so that the likelihood grows with the temperature"
    )


@says("capped", "The calibration is so small that λ ≤ n/(n+1) matters.")
def _(n: int) -> str:
    return f"λ is capped at n/(n+1) = {n / (n + 1):.4f}: the calibration has {n} rows"


@says("classes-without-labels", "Some classes have no calibration row.")
def _(classes: list[str], more: int) -> str:
    some = ", ".join(map(str, classes))
    return f"no calibration row has the label {some}{f' and {more} more' if more else ''}"
