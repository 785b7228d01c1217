"""What `assert_reliable` says where it fails."""

from __future__ import annotations

from infimum._rounding import floor4, percent, unrounded
from infimum._text import printable
from infimum.bounds import Bound
from infimum.io.findings import Finding, note
from infimum.report.wording import p_of_labels, tested
from infimum.shift import Exchangeability
from infimum.shift._measured import Measured


def not_alike(name: str, found: Exchangeability, bound: Bound) -> str:
    """The labelled inputs differ from the operational ones."""
    test = tested(found.p_value, found.auc, found.distance, found.permutations)
    return (
        f"{printable(name)}: the labelled inputs are not like the operational ones ({test}), so that the bound "
        f"{floor4(bound.value)} says nothing of these.\n  {_label_anew()}"
    )


def less_accurate(name: str, measured: Measured, bound: Bound) -> str:
    """The operation's own labels show it to be less accurate."""
    return (
        f"{printable(name)}: the accuracy of the operation ({measured.operation:.4f}) is below that of "
        f"the labelled inputs ({measured.labelled:.4f}, p {p_of_labels(measured.p_value)}), so that the bound "
        f"{floor4(bound.value)} says nothing of it.\n  {_label_anew()}"
    )


def below(name: str, bound: Bound, wanted: float, would_do: Finding, without_errors: int | None) -> str:
    """The bound does not reach what was asked for; how many labels would do, at this accuracy and without errors."""
    return (
        f"{printable(name)}: with {percent(bound.confidence)} confidence at least {floor4(bound.value)} of "
        f"inputs are classified correctly, but {unrounded(wanted)} was asked for.\n"
        f"  {would_do}.\n"
        + (
            "  No number of labels would do."
            if without_errors is None
            else f"  Without any error, {without_errors:,} labels would do."
        )
    )


def _label_anew() -> str:
    text = str(note("label-anew"))
    return f"{text[0].upper()}{text[1:]}."
