"""Were labelled rows drawn from this operation as a selection says? Tested within strata, where chances are equal."""

from __future__ import annotations

import numpy as np

from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._levels import fit_levels
from infimum.conformal import Calibration
from infimum.io.findings import Finding, warning
from infimum.io.provenance import fingerprint
from infimum.outputs._outputs import Outputs
from infimum.shift._exchangeability import Exchangeability, compare_rows, rows_to_compare

DIGITS = 16
"""Hexadecimal digits of a fingerprint that a table of selected inputs keeps."""


def pool_of(operation: Outputs) -> str:
    """What a selection keeps to know its operation again.

    >>> len(pool_of(Outputs(np.eye(2))))
    23
    """
    return f"sha256:{fingerprint(operation.logits)[:DIGITS]}"  # a spreadsheet would read 12e456… as a number


def likeness_in_strata(
    rows: Labelled, operation: Outputs, calibration: Outputs | Calibration | None, seed: int = 0
) -> tuple[Exchangeability | None, Finding | None]:
    """The two-sample test of labelled rows against the others of their strata, or why it could not be made.

    The strata of all operation inputs are found from their levels again, so it takes the calibration that the
    selection was made with.
    """
    design = rows.design
    if design is None or design.rows is None or design.edges is None or design.pool is None:
        return None, _untested("no-columns")
    if design.pool != pool_of(operation):
        return None, _untested("another-operation")
    if calibration is None:
        return None, _untested("no-calibration")
    stratum = np.searchsorted(design.edges, fit_levels(calibration).of(operation), side="right")
    if not np.array_equal(stratum[design.rows], design.stratum):
        return None, _untested("another-calibration")
    rest = np.ones(len(operation), dtype=bool)
    rest[design.rows] = False
    known_rest = rest & np.isin(stratum, design.stratum)
    if not known_rest.any():
        return None, _untested("all-labelled")
    drawn = operation.taken(design.rows) if rows.outputs is None else rows.outputs
    return _compared(drawn, design, operation.taken(known_rest), stratum[known_rest], seed), None


def _untested(why: str) -> Finding:
    return warning("likeness-untested", why=why)


def _compared(
    drawn: Outputs, design: Design, others: Outputs, of_others: np.ndarray, seed: int
) -> Exchangeability:
    ours, theirs = rows_to_compare(len(drawn), len(others), None, seed)
    strata = np.concatenate([design.stratum[ours], of_others[theirs]])
    return compare_rows(drawn.taken(ours), others.taken(theirs), seed=seed, strata=strata)
