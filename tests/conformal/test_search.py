"""The search of many values at once is np.searchsorted, ties and ends included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from infimum.conformal._search import count_below, padded

FEW = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1e-300, 0.5, 1.0, np.inf])


@given(
    st.lists(FEW.filter(np.isfinite) | st.floats(-2, 2), min_size=1, max_size=70),
    st.lists(FEW | st.floats(-2, 2)),
)
def test_counts_are_those_of_searchsorted(table: list[float], values: list[float]) -> None:
    ascending = np.sort(np.array(table))
    found = count_below(padded(ascending), np.array(values, dtype=np.float64))
    np.testing.assert_array_equal(found, np.searchsorted(ascending, values, side="left"))


def test_the_table_is_longer_than_what_it_holds() -> None:
    """So that the count of every value is an index into it."""
    for n in (1, 2, 3, 6, 7, 8, 1000, 1023, 1024):
        assert len(padded(np.zeros(n))) > n
