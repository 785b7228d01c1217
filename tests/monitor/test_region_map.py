"""Region maps: they learn success levels as a function of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from infimum import InputError
from infimum.monitor import RegionMap

X = np.random.default_rng(0).normal(size=(2000, 3))
LEVELS = 1 / (1 + np.exp(-3 * X[:, 0]))


@pytest.mark.parametrize("kind", ["tree", "neighbors"])
def test_levels_of_new_features_are_near(kind: Any) -> None:
    new = np.random.default_rng(1).normal(size=(500, 3))
    estimated = RegionMap(kind).fit(X, LEVELS).predict(new)
    assert np.abs(estimated - 1 / (1 + np.exp(-3 * new[:, 0]))).mean() < 0.06
    assert ((estimated >= 0) & (estimated <= 1)).all()


def test_same_seed_same_map() -> None:
    first, again = (RegionMap("tree", seed=3).fit(X, LEVELS).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="has not been fitted"):
        RegionMap().predict(X)
    with pytest.raises(InputError, match="row 1 is nan"):
        RegionMap().fit(X[:20], np.r_[0.5, np.nan, np.full(18, 0.5)])
    with pytest.raises(InputError, match="one number per row"):
        RegionMap().fit(X, LEVELS[:5])
    with pytest.raises(InputError, match="at least 10"):
        RegionMap().fit(X[:3], LEVELS[:3])
    with pytest.raises(InputError, match="2"):
        RegionMap().fit(X, LEVELS).predict(X[:, :2])
