"""Whether labels of the operation, where there are some, contradict the bound on the labelled inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infimum.bounds import Bound
from infimum.bounds.clopper_pearson import successes_of
from infimum.errors import InputError
from infimum.results import Assessment, Success

LEVEL = 0.01
"""Inputs that are alike are called contradicted with at most this probability."""


@dataclass(frozen=True)
class Measured:
    """Accuracy of the operation beside that of the labelled inputs: both shares of correct predictions, in [0, 1].

    `p_value` is Fisher's exact one-sided one, for an operation that is no worse than the labelled inputs.
    """

    operation: float
    labelled: float
    p_value: float

    @property
    def rejected(self) -> bool:
        """Whether the operation is found to be worse."""
        return self.p_value <= LEVEL

    @property
    def p_in_words(self) -> str:
        """The p-value as "= 0.002", or "< 0.0001"."""
        return "< 0.0001" if self.p_value < 0.0001 else f"= {self.p_value:.3g}"


def measured_beside(certified: Sequence[Bound], success: Success | None, weighted: bool) -> Measured | None:
    """Compare labels of the operation with those behind the Clopper–Pearson bound; None where there are none.

    `weighted`: λ* is then the accuracy of a profile, which the labelled inputs do not follow; None too.

    Given how many of all inputs are correct, those of the operation are hypergeometric if both sets come from
    one distribution. Inputs that are in both sets make the test find less. Source: Fisher (1934).
    Raises InputError for a Clopper–Pearson bound that no number of correct inputs gives.

    >>> import numpy as np
    >>> from infimum.bounds import clopper_pearson
    >>> bound = clopper_pearson(np.arange(100) < 95)
    >>> measured_beside([bound], Success(0.7, 100), weighted=False).rejected
    True
    >>> measured_beside([bound], Success(0.93, 100), weighted=False).rejected
    False
    """
    from scipy.stats import hypergeom

    bound = next((b for b in certified if b.method == "clopper_pearson"), None)
    if bound is None or success is None or weighted:
        return None
    before, now = successes_of(bound), round(success.value * success.n)
    p_value = float(hypergeom.cdf(now, bound.n + success.n, before + now, success.n))
    return Measured(success.value, before / bound.n, p_value)


def measured_of(a: Assessment) -> Measured | None:
    """The same of an assessment; None too where its bound is not one of a whole number of correct inputs."""
    weighted = a.lambda_operation.effective_n < a.lambda_operation.n * (1 - 1e-12)
    try:
        return measured_beside(a.certified, a.success, weighted)
    except InputError:
        return None


def contradicted(a: Assessment) -> bool:
    """Whether the data, or labels of the operation, contradict what every bound assumes: that the two are alike."""
    measured = measured_of(a)
    return (a.exchangeability is not None and a.exchangeability.rejected) or (
        measured is not None and measured.rejected
    )
