"""Label-free estimates for the terminal, in one table."""

from __future__ import annotations

import textwrap

from infimum._rounding import estimated
from infimum._text import in_brief, printable
from infimum.estimators import Estimates
from infimum.report.findings import ignored
from infimum.report.text import WIDTH
from infimum.report.wording import alike

NAMES = {
    "success_level": "λ, mean success level",
    "recalibrated_success_level": "λ recalibrated",
    "calibrated_confidence": "calibrated confidence (CBPE)",
    "average_confidence": "average confidence",
    "difference_of_confidences": "difference of confidences (DoC)",
    "atc_max_probability": "ATC, max probability",
    "atc_negative_entropy": "ATC, negative entropy",
}

NO_GUARANTEE = (
    "All of these are estimates, none is a guarantee. ± is one standard error: what other calibration and operation "
    "inputs would change; a bias of the method or a shift between the two is not in it. For bounds that hold: "
    "infimum assess."
)


def to_text(found: Estimates) -> str:
    """A line per estimate, the truth and the errors where there are labels, then the test, notes and warnings."""
    truth = found.accuracy
    label = max(len(name) for name in NAMES.values())
    lines = [f"{'':{label}}  estimate{'' if truth is None else '             error'}"]
    for e in found.estimates:
        error = "" if truth is None else f"   {e.value - truth:+.4f}"
        lines.append(f"{NAMES[e.method]:{label}}  {estimated(e.value, e.standard_error)}{error}")
    if truth is not None:
        lines.append(
            f"{'λ*, accuracy':{label}}  {truth:.4f}            {found.n_operation} labelled operation inputs"
        )
    lines += ["", *textwrap.wrap(NO_GUARANTEE, WIDTH), ""]
    about = f"{found.n_calibration} calibration rows, {found.n_operation} operation inputs."
    tested = "" if found.exchangeability is None else alike(found.exchangeability)
    lines += [about, *textwrap.wrap(tested, WIDTH)]
    for head, items in (("note", found.notes), ("warning", found.warnings)):
        for item in items:
            lines += textwrap.wrap(f"{head}: {in_brief(item)}", WIDTH, subsequent_indent="  ")
    lines += ignored(found.ignored)
    return "\n".join(map(printable, lines)) + "\n"
