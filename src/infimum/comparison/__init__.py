"""Networks side by side: on the same inputs, input by input, or by their assessments alone."""

from infimum.comparison._from_assessments import compare_assessments
from infimum.comparison._from_outputs import compare
from infimum.comparison._results import Comparison, Difference, Network, Place, Ranking

__all__ = ["Comparison", "Difference", "Network", "Place", "Ranking", "compare", "compare_assessments"]
