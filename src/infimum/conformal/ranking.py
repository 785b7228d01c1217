"""Where each label stands in its row: rank, distance to the top and the mass around it, without cancellation.

Every score is a function of these figures. Masses are sums of exponentials relative to the row's largest,
Σ exp((z_j − z_max)/T), never "1 − almost 1", so that a confident network's scores keep their order.

There are two ways to them. `ranked_rows` sorts each row and sums in that order: the reference, the same bits
however the classes are permuted. `top_two` makes one pass without a sort; its masses differ from the
reference by at most `RELATIVE_ERROR(K)`, and `calibration.py` asks the reference where that could matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

COLUMNS_FIRST = 32
"""Up to this many classes a chunk is laid out class by class: numpy is slow over short rows."""


class Ranked(NamedTuple):
    """Standing of labels; arrays of one shape, masses relative to exp(z_max/T)."""

    rank: Int[np.ndarray, "..."] | int
    """o(y), 1 for the label the network predicts; ties by the lower class index."""
    gap: Float[np.ndarray, "..."]
    """(z_max − z_y)/T, at least 0."""
    below: Float[np.ndarray, "..."]
    """Mass of the labels ranked strictly below y."""
    rest: Float[np.ndarray, "..."]
    """Mass of all labels but the first: p_max = 1/(1 + rest)."""
    lead: Float[np.ndarray, "..."]
    """|z_y − z_rival|/T, the rival being the best other label."""
    others: Float[np.ndarray, "..."]
    """Mass of the labels that are neither y nor its rival."""


def relative_error(n_classes: int) -> float:
    """Bound on the relative difference of a mass, or a score made of it, between the two ways.

    Each sum of K positive terms is within (K − 1) ulp/2 of the truth whatever its order; the exponentials are
    the same bits in both. A division, a product and a log1p add a few ulp: 32 are allowed.

    >>> relative_error(10) < 2e-14
    True
    """
    return (2 * n_classes + 32) * float(np.finfo(np.float64).eps)


def ranked_rows(
    logits: Float[np.ndarray, "n K"], temperature: float
) -> tuple[Int[np.ndarray, "n K"], Ranked]:
    """Labels in order of rank, and the standing of each, in the same order: one stable sort per row.

    >>> order, ranked = ranked_rows(np.array([[0.0, 2.0, 2.0]]), 1.0)
    >>> order.tolist(), ranked.gap.tolist()
    ([[1, 2, 0]], [[0.0, 0.0, 2.0]])
    """
    n, n_classes = logits.shape
    order = np.argsort(-logits, axis=1, kind="stable")
    z = np.take_along_axis(logits, order, axis=1)
    gap = (z[:, :1] - z) / temperature
    mass = np.exp(-gap)

    below = np.zeros((n, n_classes))
    below[:, :-1] = np.cumsum(mass[:, :0:-1], axis=1)[:, ::-1]
    rest = np.broadcast_to(below[:, :1], below.shape)
    # Mass without y and the top label: between them, and below y. The top label's rival is the runner-up.
    others = below.copy()
    others[:, 2:] += np.cumsum(mass[:, 1:-1], axis=1)
    others[:, 0] = below[:, 1]
    lead = gap.copy()
    lead[:, 0] = gap[:, 1]
    rank = np.broadcast_to(np.arange(1, n_classes + 1), gap.shape)
    return order, Ranked(rank, gap, below, rest, lead, others)


def top_two(
    logits: Float[np.ndarray, "n K"], temperature: float
) -> tuple[Int[np.ndarray, " n"], Ranked, Ranked]:
    """Predicted class, and the standing of the two best labels: two argmax and one sum, no sort.

    >>> predicted, top, second = top_two(np.array([[0.0, 3.0, 2.0]]), 1.0)
    >>> predicted.tolist(), second.gap.tolist()
    ([1], [1.0])
    """
    n_classes = logits.shape[1]
    axis = 0 if n_classes <= COLUMNS_FIRST else 1
    z = np.array(logits.T if axis == 0 else logits, dtype=np.float64, order="C")

    def take_out_largest() -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        index = np.expand_dims(z.argmax(axis=axis), axis)
        value = np.take_along_axis(z, index, axis=axis)
        np.put_along_axis(z, index, -np.inf, axis=axis)
        return index.squeeze(axis), value.squeeze(axis)

    predicted, z_top = take_out_largest()
    _, z_second = take_out_largest()
    gap = (z_top - z_second) / temperature
    z -= np.expand_dims(z_top, axis)
    if temperature != 1.0:
        z /= temperature
    others = np.exp(z, out=z).sum(axis=axis)
    rest = np.exp(-gap) + others
    top = Ranked(1, np.zeros_like(gap), rest, rest, gap, others)
    second = Ranked(2, gap, others, rest, gap, others)
    return predicted, top, second
