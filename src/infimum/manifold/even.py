"""Points that fill the unit cube evenly: scrambled Sobol sequences, for sampling with a smaller error.

Each scrambled sequence is a randomised replicate: its points are uniform one by one, so means over them are
unbiased, but together they cover the cube more evenly than independent points do (Owen, 1997). How large the error
is shows only between independent replicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

BITS = 32


class EvenPoints(NamedTuple):
    """n points: which component (uniform on [0, 1)), standard normals, and the draw u of a randomised score."""

    component: Float[np.ndarray, " n"]
    normals: Float[np.ndarray, "n width"]
    u: Float[np.ndarray, " n"]


def even_points(n: int, width: int, rng: np.random.Generator) -> EvenPoints:
    """One scrambled Sobol sequence of n points, best a power of two, in width + 2 dimensions.

    The component is the first dimension, so that every component gets its share of the points.

    >>> points = even_points(8, 2, np.random.default_rng(0))
    >>> sorted((points.component * 8).astype(int).tolist()), points.normals.shape
    ([0, 1, 2, 3, 4, 5, 6, 7], (8, 2))
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    seed = int(rng.integers(2**63))
    points = qmc.Sobol(width + 2, scramble=True, bits=BITS, rng=np.random.default_rng(seed))
    cube = points.random_base2(n.bit_length() - 1) if n & (n - 1) == 0 else points.random(n)
    cube += 2.0 ** -(BITS + 1)  # the middle of each cell: 0 would be an infinite normal
    return EvenPoints(cube[:, 0], ndtri(cube[:, 2:]), cube[:, 1])
