"""A certificate for the terminal: the verdict, every bound, what they assume, and every warning."""

from __future__ import annotations

import textwrap

from infimum._rounding import floor4, percent, unrounded
from infimum._text import in_brief, printable
from infimum.bounds import Bound
from infimum.bounds._registry import needs
from infimum.certification._certificate import Certificate
from infimum.report.findings import ignored
from infimum.report.text import WIDTH
from infimum.report.wording import alike, named

EACH_ALONE = (
    "Each bound holds with its own confidence; the first, named before the labels were seen, is the one that judges. "
    "The largest of several, picked afterwards, would hold with less."
)


def verdict(c: Certificate) -> str:
    """The one sentence that may be quoted."""
    judge = c.judge
    met = "met" if c.target.met else "NOT met"
    holds = "" if judge.validity == "finite-sample" else " in the limit of many labels"
    return (
        f"Target {unrounded(c.target.value)}: {met}. At least {floor4(judge.value)} of operational inputs are "
        f"classified correctly, with {percent(judge.confidence)} confidence{holds} ({named(judge.method)}, {judge.n} "
        f"labelled inputs), if {' and '.join(judge.assumptions)}."
    )


def to_text(c: Certificate) -> str:
    """Verdict, table, what is missing from it and why, notes and warnings."""
    lines = [in_brief(c.network), "", *textwrap.wrap(printable(verdict(c)), WIDTH), ""]
    right = c.n - c.wrong
    meaning = (
        "not that of the operation, since they were drawn in strata"
        if "strata" in needs(c.judge.method)
        else "an estimate"
    )
    lines += [
        f"{c.n} labelled inputs, {right} right, {c.wrong} wrong: a share of {right / c.n:.4f} ({meaning}).",
        "",
    ]
    label = max(len(named(b.method)) for b in c.bounds)
    for bound in c.bounds:
        row = (
            f"  {named(bound.method):<{label}}  {floor4(bound.value)}  {bound.validity:<13}  {_about(bound)}"
        )
        lines.append(row + (", judges" if bound.judges else ""))
    if c.per_class:
        lines += ["", f"Per class, all together with {percent(c.target.confidence)} confidence:"]
        lines += [f"  class {_class(b):<5} {floor4(b.value)}  {b.n} labelled inputs" for b in c.per_class]
    lines.append("")
    if len(c.bounds) > 1:
        lines += [*textwrap.wrap(EACH_ALONE, WIDTH), ""]
    reasons: dict[str, list[str]] = {}
    for method, finding in c.withheld.items():
        reasons.setdefault(str(finding), []).append(named(method))
    for why, methods in reasons.items():
        lines += textwrap.wrap(f"not given: {'; '.join(methods)}. Why: {why}", WIDTH, subsequent_indent="  ")
    if c.exchangeability is not None:
        sentence = alike(c.exchangeability).replace("Calibration against", "Labelled inputs against", 1)
        lines += textwrap.wrap(sentence, WIDTH)
    for head, items in (("note", c.notes), ("warning", c.warnings)):
        for item in items:
            lines += textwrap.wrap(f"{head}: {in_brief(item)}", WIDTH, subsequent_indent="  ")
    lines += ignored(c.ignored)
    return "\n".join(map(printable, lines)).rstrip() + "\n"


def _class(bound: Bound) -> str:
    return printable(str(bound.details.get("name", bound.details["class"])))


def _about(bound: Bound) -> str:
    rows = f"{bound.n} {'calibration rows' if 'p_values' in needs(bound.method) else 'labels'}"
    return rows + (f", {bound.details['unlabelled']} unlabelled" if "unlabelled" in bound.details else "")
