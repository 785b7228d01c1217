"""For test suites: assert that a network is reliable, with a message that says what to do."""

from __future__ import annotations

from typing import Any

from infimum._checks import Real, exact_fraction
from infimum.bounds import Bound, clopper_pearson
from infimum.errors import InputError
from infimum.gates._gates import fewest_without_errors, labels_that_would_do
from infimum.identity.labelled_sets import without_copies
from infimum.identity.shared import unlabelled_rows
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs
from infimum.report.assertions import below, less_accurate, not_alike
from infimum.shift._exchangeability import exchangeability_of_others
from infimum.shift._measured import Measured, measured_beside


def assert_reliable(
    outputs: Outputs,
    at_least: Real,
    confidence: Real = 0.95,
    *,
    operation: Outputs | None = None,
    label_errors: Any = None,
) -> Bound:
    """Fail unless at least `at_least` of operational inputs are classified correctly, with `confidence`.

    `outputs` holds labelled inputs that were drawn like the operational ones, and that neither trained nor chose
    the network. The Clopper–Pearson bound decides: an unreliable network passes with probability at most
    1 − confidence, for every number of labels. Returns the bound.

    Whether they were drawn alike cannot be seen from the labelled inputs alone. With `operation`, outputs of
    operational inputs (no labels needed), the assertion also fails where `shift.exchangeability` finds that
    the two differ, or where it has labels that show it to be less accurate, as `alike = "require"` in infimum.toml
    does; alike sets fail each of the two tests with probability at most 0.01. Rows of equal ids are one input: they
    count once, and are left out of the operation.

    `label_errors`: at most how many of the labels are wrong, as 5, or which share, as 0.02: the bound is lowered by it.

    Raises AssertionError with the bound, n, the errors seen and the number of labels that would do; InputError
    for outputs without labels, with weights (the bound is binomial), or levels outside (0, 1).

    >>> import numpy as np
    >>> from infimum import Outputs
    >>> from infimum.testing import assert_reliable
    >>> labels = np.arange(100) % 2
    >>> bound = assert_reliable(Outputs(np.eye(2)[labels], labels), at_least=0.95)
    >>> round(bound.value, 4)
    0.9705
    """
    __tracebackhide__ = True
    check_outputs(outputs, "outputs")
    wanted = float(exact_fraction(at_least, "at_least"))
    if outputs.weights is not None:
        raise InputError(f"{outputs.name} has weights; the binomial bound is of inputs that count alike")
    outputs = without_copies(outputs)[0]
    bound = clopper_pearson(outputs.correct, confidence, label_errors)
    if operation is not None:
        check_one_network(outputs, operation)
        found = exchangeability_of_others(outputs, operation)
        if found is not None and found.rejected:
            raise AssertionError(not_alike(outputs.name, found, bound))
        measured = _measured(outputs, operation)
        if measured is not None and measured.rejected:
            raise AssertionError(less_accurate(outputs.name, measured, bound))
    if bound.value >= wanted:
        return bound
    would_do = labels_that_would_do(bound, wanted)
    raise AssertionError(below(outputs.name, bound, wanted, would_do, fewest_without_errors(bound, wanted)))


def _measured(labelled: Outputs, operation: Outputs) -> Measured | None:
    """Labels of operation inputs that are no labelled rows, beside those; None without any, or with weights."""
    others = unlabelled_rows([labelled], operation)
    if operation.labels is None or operation.weights is not None or not others.any():
        return None
    right = operation.correct[others]
    return measured_beside(int(right.sum()), len(right), int(labelled.correct.sum()), len(labelled))
