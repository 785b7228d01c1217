"""Whether labels of the operation, where there are some, contradict the bound on the labelled inputs."""

from __future__ import annotations

from dataclasses import dataclass

from infimum.io.ranges import Probability
from infimum.io.records import Record

LEVEL = 0.01
"""Inputs that are alike are called contradicted with at most this probability."""


@dataclass(frozen=True)
class Measured(Record):
    """Accuracy of the operation beside that of the labelled inputs: both shares of correct predictions, in [0, 1].

    `p_value` is Fisher's exact one-sided one, for an operation that is no worse than the labelled inputs.
    """

    operation: Probability
    labelled: Probability
    p_value: Probability

    @property
    def rejected(self) -> bool:
        """Whether the operation is found to be worse."""
        return self.p_value <= LEVEL


def measured_beside(right: int, n: int, of_labelled: int, n_labelled: int) -> Measured:
    """Compare `right` of n operation inputs with `of_labelled` right ones of other, labelled inputs.

    Given how many of all inputs are correct, those of the operation are hypergeometric if both sets come from
    one distribution. Inputs that are in both sets must be left out of one of them. Source: Fisher (1934).

    >>> measured_beside(70, 100, 95, 100).rejected, measured_beside(93, 100, 95, 100).rejected
    (True, False)
    """
    from scipy.stats import hypergeom

    p_value = float(hypergeom.cdf(right, n_labelled + n, of_labelled + right, n))
    return Measured(right / n, of_labelled / n_labelled, p_value)
