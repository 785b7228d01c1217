"""The paper's region map: success levels as a function of the features, learned from samples.

A decision tree or nearest neighbours estimate λ(x) from φ(x) alone, so that in operation neither the calibration
nor the head is needed. It is a regression of an estimate: nothing it says is a guarantee.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, check_matrix, check_numbers, check_seed
from infimum.errors import InputError

Kind = Literal["tree", "neighbors"]

NEIGHBORS = 10
LEAF = 10
"""Samples in a leaf at least: as many as neighbours are averaged."""


class RegionMap:
    """Success levels over the feature space: `fit(features, success_levels)`, then `predict(features)`.

    `kind` is "tree" (a regression tree: regions are boxes, evaluated in a microsecond) or "neighbors" (the mean
    of the 10 nearest samples). `seed` breaks the tree's ties.

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> areas = RegionMap("tree").fit(x, np.where(x[:, 0] < 0.5, 0.2, 0.9))
    >>> areas.predict(np.array([[0.1], [0.8]])).round(3).tolist()
    [0.2, 0.9]
    """

    def __init__(self, kind: Kind = "tree", seed: int = 0) -> None:
        if kind not in get_args(Kind):
            raise InputError(f"kind must be one of {', '.join(get_args(Kind))}, not {kind!r}")
        self.kind = kind
        self.seed = check_seed(seed)
        self._regressor: Any = None
        self._n_features = 0

    def fit(self, features: Array, success_levels: Array) -> RegionMap:
        """Learn from features (n, d), real or sampled, and their success levels (n,) in [0, 1].

        Raises InputError for fewer than 10 rows, or levels that are not finite numbers in [0, 1].
        """
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.tree import DecisionTreeRegressor

        x = check_matrix(features, "features")
        levels = check_numbers(success_levels, "success_levels").astype(np.float64)
        if levels.shape != x.shape[:1]:
            raise InputError(
                f"success_levels must hold one number per row of features ({len(x)},), not {levels.shape}"
            )
        bad = np.flatnonzero(~((levels >= 0) & (levels <= 1)))
        if len(bad):
            raise InputError(f"success_levels: row {bad[0]} is {levels[bad[0]]}, not in [0, 1]")
        if len(x) < NEIGHBORS:
            raise InputError(f"a region map needs at least {NEIGHBORS} rows, not {len(x)}")
        self._regressor = (
            DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=self.seed)
            if self.kind == "tree"
            else KNeighborsRegressor(NEIGHBORS)
        )
        self._n_features = x.shape[1]
        self._regressor.fit(x, levels)
        return self

    def predict(self, features: Array) -> Float[np.ndarray, " n"]:
        """Estimated success level of each row of features (n, d); InputError before `fit` or for another d."""
        if self._regressor is None:
            raise InputError("this region map has not been fitted: call fit(features, success_levels) first")
        x = check_matrix(features, "features", self._n_features)
        levels: Float[np.ndarray, " n"] = np.clip(self._regressor.predict(x), 0.0, 1.0)
        return levels
