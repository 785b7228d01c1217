"""Fidelity without features to spare: the manifold is fitted again to one half of them and set against the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum._streams import Stream
from infimum.conformal import Calibration
from infimum.errors import InputError
from infimum.head import AnyHead
from infimum.manifold._fidelity import Fidelity, fidelity
from infimum.manifold._manifold import Manifold, ManifoldFit

HALF = 2000
"""Features in each half, at most: enough for an AUC ± 0.01, and fitted in a fraction of a second."""

LEAST = 50
"""Features in each half, at least."""

SAMPLES = 20_000

SLOW = 512
"""EM with full covariances of more dimensions takes so long that it is not done twice."""


def held_out_fidelity(
    fit: Callable[[Float[np.ndarray, "h d"]], Manifold],
    first: ManifoldFit,
    features: Float[np.ndarray, "n d"],
    weights: Float[np.ndarray, " n"] | None,
    head: AnyHead,
    calibration: Calibration,
    seed: int = 0,
) -> Fidelity:
    """Fit to a random half of the features (n, d), compare with the other; 2,000 rows each at most.

    `first` is what the fit to all of them told of itself; that manifold comes nearer, if anything. With `weights`
    the fit is to draws from its half, and the other half is weighted. Same seed, same result. Raises InputError
    for fewer than 100 features, for a manifold whose second fit would take long, and as `fit` does.

    >>> from infimum.conformal import calibrate
    >>> from infimum.head import Head
    >>> from infimum.manifold import fit_kernel
    >>> x = np.random.default_rng(0).normal(size=(600, 2))
    >>> cal = calibrate(x, x.argmax(axis=1))
    >>> fit = lambda z: fit_kernel(z, z.argmax(axis=1))
    >>> found = held_out_fidelity(fit, fit(x).fit, x, None, Head(np.eye(2)), cal)
    >>> found.n_fitted, found.n_real, 0.4 < found.auc < 0.6
    (300, 300, True)
    """
    n, size = len(features), min(HALF, len(features) // 2)
    if size < LEAST:
        raise InputError(f"{n} features are too few to hold some out; at least {2 * LEAST} are needed")
    full_em = first.name == "gmm" and first.covariance in ("full", "tied") and first.n_features > SLOW
    if first.name == "flow" or full_em:
        raise InputError(f"a second fit of the {first.name} would take long; manifold.fidelity does it")
    rows = Stream.HELD_OUT.generator(seed).permutation(n)
    ours, theirs = rows[:size], rows[size : 2 * size]
    law = fit(features[drawn_by_weight(ours, weights, seed)])
    # Held-out features keep their weights: drawn by them, copies would count as independent ones.
    own = None if weights is None else weights[theirs]
    return fidelity(law, head, calibration, features[theirs], SAMPLES, seed, own)


def drawn_by_weight(rows: Array, weights: Array | None, seed: int) -> Array:
    """As many of the rows, drawn by their weight (systematic resampling), which gives them the operational profile.

    >>> drawn_by_weight(np.array([4, 7]), np.array([0, 0, 0, 0, 0, 1, 1, 9]), seed=0).tolist()
    [7, 7]
    """
    if weights is None:
        return rows
    own = weights[rows]
    if own.sum() <= 0:
        raise InputError("the weights of the features to fit to are all 0")
    n = len(rows)
    start = Stream.BY_WEIGHT.generator(seed).random()
    drawn = np.searchsorted(np.cumsum(own) / own.sum(), (start + np.arange(n)) / n)
    chosen: Array = rows[np.minimum(drawn, n - 1)]
    return chosen
