"""Density tree: each predicted class is cut into small boxes, and each box holds the Gaussian of its points.

A box is cut at the median of the feature that varies most in it, until a cut would leave fewer than `leaf` points on
a side (k-d tree, Bentley, 1975; density trees, Ram and Gray, 2011). A leaf of n_l points has weight n_l/n, the mean
and the 1/n_l covariance of its points. The tree keeps the mean and covariance of each class, and follows shapes that
one Gaussian cannot. Its law is a mixture of Gaussians, so a linear head pushes it forward exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infimum._checks import Array, check_matrix, check_predicted
from infimum.errors import InputError
from infimum.manifold._class_gaussians import ClassGaussiansLaw, fit_class_gaussians
from infimum.manifold._manifold import group_by_component

LEAF = 20


def fit_tree(features: Array, predicted: Array, leaf: int = LEAF) -> ClassGaussiansLaw:
    """Fit to features (n, d) of predicted classes (n,); `leaf` ≥ 1 points stay in each box, or all of a class.

    Raises InputError for an empty array or another `leaf`.

    >>> rng = np.random.default_rng(0)
    >>> law = fit_tree(rng.normal(size=(100, 2)), np.zeros(100, dtype=int), leaf=25)
    >>> law.fit.name, law.fit.components, law.weights.tolist()
    ('tree', 4, [0.25, 0.25, 0.25, 0.25])
    """
    x = check_matrix(features, "manifold features")
    if isinstance(leaf, bool) or not isinstance(leaf, int) or leaf < 1:
        raise InputError(f"leaf must be a whole number, 1 or more, not {leaf!r}")
    classes, part = np.unique(check_predicted(predicted, len(x)), return_inverse=True)
    box = np.empty(len(x), dtype=np.int64)
    boxes = 0
    waiting = group_by_component(part, len(classes))
    while waiting:
        rows = waiting.pop()
        cut = None if len(rows) < 2 * leaf else _halves(x, rows)
        if cut is not None and min(map(len, cut)) >= leaf:
            waiting.extend(cut)
        else:
            box[rows] = boxes
            boxes += 1
    law = fit_class_gaussians(x, box)
    return replace(law, fit=replace(law.fit, name="tree", covariance=f"leaves of at least {leaf}"))


def _halves(x: Array, rows: Array) -> tuple[Array, Array]:
    """The rows on either side of the median of their most varying feature; ties stay together."""
    feature = int(x[rows].var(axis=0, dtype=np.float64).argmax())
    values = x[rows, feature]
    median = np.median(values)
    below = values < median
    if not below.any():  # a ReLU feature that is mostly 0
        below = values <= median
    return rows[below], rows[~below]
