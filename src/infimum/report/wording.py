"""Words that every format shares: what a method is called, what a test found."""

from __future__ import annotations

from infimum._text import printable
from infimum.shift import Exchangeability

METHODS = {
    "clopper_pearson": "Clopper–Pearson",
    "anytime": "anytime-valid",
    "class_profile": "class profile",
    "recalibrated_success_level": "recalibrated λ",
    "marginal_conformal": "marginal conformal",
    "confidence_floor": "confidence floor",
    "prediction_powered": "prediction-powered (PPI++)",
    "prediction_powered_betting": "prediction-powered, betting",
    "stratified_chernoff": "stratified, Chernoff",
    "stratified_bootstrap": "stratified, bootstrap",
    "stratified_signed_root": "stratified, signed root",
    "stratified_e_process": "stratified, e-process",
    "stratified_bonferroni": "stratified, Bonferroni",
}


def named(method: str) -> str:
    """What a method is called in print.

    >>> named("clopper_pearson"), named("wilson")
    ('Clopper–Pearson', 'wilson')
    """
    return METHODS.get(method, printable(method))


def p_of_permutations(p_value: float, permutations: int) -> str:
    """A p-value as "= 0.2", or "≤ 0.002" where so many permutations cannot tell more."""
    return f"{'≤' if p_value <= 2 / (permutations + 1) else '='} {p_value:.3g}"


def p_of_labels(p_value: float) -> str:
    """A p-value as "= 0.002", or "< 0.0001"."""
    return "< 0.0001" if p_value < 0.0001 else f"= {p_value:.3g}"


def tested(p_value: float, auc: float | None, distance: float, permutations: int) -> str:
    """P-value and effects of the test of likeness, for a sentence."""
    classifier = (
        "" if auc is None else f"a classifier tells them apart with AUC {auc:.2f} (0.5: not at all), "
    )
    return (
        f"p {p_of_permutations(p_value, permutations)}; {classifier}Kolmogorov–Smirnov distance of the confidences "
        f"{distance:.2f}"
    )


def alike(found: Exchangeability) -> str:
    """What the test of calibration against operation says, in one sentence."""
    return alike_words(
        *(found.p_value, found.auc, found.distance, found.permutations),
        *(found.rejected, found.n_calibration, found.n_operation),
    )


def alike_words(
    p_value: float,
    auc: float | None,
    distance: float,
    permutations: int,
    rejected: bool,
    n_calibration: int,
    n_operation: int,
) -> str:
    """The same of its figures."""
    found = tested(p_value, auc, distance, permutations)
    compared = f"{n_calibration} and {n_operation} rows compared"
    if rejected:
        return f"Calibration against operation: NOT alike ({found}; {compared})."
    return (
        f"Calibration against operation: no difference found ({found}; {compared}), which is no proof "
        "that there is none."
    )
