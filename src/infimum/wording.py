"""Words that every format shares: what a method is called, what a test found, text from outside made harmless."""

from __future__ import annotations

from infimum.bounds import Exchangeability

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


def printable(text: str) -> str:
    r"""Text from outside in one line, what cannot be shown (control characters, halves of letters) replaced.

    The joiners that Persian, Indic scripts and emoji need stay; marks that turn the direction of text do not.

    >>> printable("a\x1b[2J\nb")
    'a�[2J b'
    """
    return "".join(
        c if c.isprintable() or c in "\u200c\u200d" else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )
