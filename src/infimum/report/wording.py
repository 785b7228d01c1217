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


def alike(found: Exchangeability) -> str:
    """What the test of calibration against operation says, in one sentence."""
    compared = f"{found.n_calibration} and {found.n_operation} rows compared"
    if found.rejected:
        return f"Calibration against operation: NOT alike ({found.in_words}; {compared})."
    return (
        f"Calibration against operation: no difference found ({found.in_words}; {compared}), which is no proof "
        "that there is none."
    )
