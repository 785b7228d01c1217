"""Points that fill the unit cube evenly: scrambled Sobol sequences, for sampling with a smaller error.

Each scrambled sequence is a randomised replicate: its points are uniform one by one, so means over them are
unbiased, but together they cover the cube more evenly than independent points do (Owen, 1997). How large the error
is shows only between independent replicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum._streams import branched

BITS = 32

RIVALS = 16
"""Labels whose gap to the top one gets an axis of its own."""

MOST_CLASSES = 128
"""With more, roots stay as they are: in so many dimensions Sobol points are hardly more even than independent ones."""


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

    points = qmc.Sobol(width + 2, scramble=True, bits=BITS, rng=branched(rng))
    cube = points.random_base2(n.bit_length() - 1) if n & (n - 1) == 0 else points.random(n)
    cube += 2.0 ** -(BITS + 1)  # the middle of each cell: 0 would be an infinite normal
    return EvenPoints(cube[:, 0], ndtri(cube[:, 2:]), cube[:, 1])


def gaps_first(root: Float[np.ndarray, "r K"], mean: Float[np.ndarray, " K"]) -> Float[np.ndarray, "r K"]:
    """The root R of a covariance RᵀR of logits around `mean`, turned: the first normals move what λ reads.

    The success level of a sample hangs on how far its top logit is above the others, and the first dimensions of a
    Sobol sequence are its most even ones. So the first axis is the one along which the top logit moves against the
    mean of the others, the next ones against single rivals, nearest first, in standard deviations (Imai and Tan,
    2004: directions chosen for the integrand, not by variance). Q of a QR factorisation turns without changing RᵀR.

    >>> turned = gaps_first(np.eye(3), np.array([0.0, 5.0, 4.0]))
    >>> np.allclose(turned.T @ turned, np.eye(3)), np.allclose(turned[1:] @ [-1, 2, -1], 0)
    (True, True)
    """
    if not 1 < len(mean) <= MOST_CLASSES:
        return root
    top = int(mean.argmax())
    gaps = root[:, [top]] - np.delete(root, top, axis=1)
    spread = np.maximum(np.linalg.norm(gaps, axis=0), np.finfo(np.float64).tiny)
    nearest = np.argsort((mean[top] - np.delete(mean, top)) / spread, kind="stable")
    axes = np.column_stack([gaps.mean(axis=1), gaps[:, nearest[:RIVALS]]])
    turn = np.linalg.qr(axes, mode="complete").Q
    turned: Array = turn.T @ root
    return turned
