"""Where each label stands in its row: rank, distance to the top and the mass around it, without cancellation.

Every score is a function of these figures. Masses are sums of exponentials relative to the row's largest,
Σ exp((z_j − z_max)/T), never "1 − almost 1", so that a confident network's scores keep their order.

There are two ways to them. `ranked_rows` sorts each row and sums in that order: the reference, the same bits
however the classes are permuted. `top_two` makes one pass without a sort; its masses differ from the
reference by at most `relative_error(K)`, and `calibration.py` asks the reference where that could matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array

COLUMNS_FIRST = 32
"""Up to this many classes rows are laid out class by class: numpy is slow over short rows."""

CHUNK = 2**17
"""Logits per pass: 1 MiB in float64, so that they stay in the cache."""


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
    """Predicted class, and the standing of the two best labels: one pass and one sum, no sort.

    >>> predicted, top, second = top_two(np.array([[0.0, 3.0, 2.0]]), 1.0)
    >>> predicted.tolist(), second.gap.tolist()
    ([1], [1.0])
    """
    n, n_classes = logits.shape
    way = _column_by_column if n_classes <= COLUMNS_FIRST else _row_by_row
    predicted = np.empty(n, dtype=np.int64)
    gap, others = np.empty(n), np.empty(n)
    size = max(1, CHUNK // n_classes)
    for rows in (slice(start, start + size) for start in range(0, n, size)):
        predicted[rows], gap[rows], others[rows] = way(logits[rows], temperature)
    rest = np.exp(-gap) + others
    top = Ranked(1, np.zeros(n), rest, rest, gap, others)
    second = Ranked(2, gap, others, rest, gap, others)
    return predicted, top, second


def _column_by_column(logits: Array, temperature: float) -> tuple[Array, Array, Array]:
    """Predicted class, gap and mass of the others, of rows with few classes: one column against the best so far."""
    # float32 holds float16 and itself exactly; the order of the logits is the same in either.
    exact = np.float32 if logits.dtype in (np.float16, np.float32) else np.float64
    z = np.array(logits.T, dtype=exact, order="C")
    top, second = z[0].copy(), np.full(z.shape[1], -np.inf, dtype=exact)
    predicted = np.zeros(z.shape[1], dtype=np.uint8)
    for j, column in enumerate(z[1:], start=1):
        # Larger only, so that ties stay with the lower index; j rises, so the last one found is the largest.
        np.maximum(predicted, (column > top).view(np.uint8) * np.uint8(j), out=predicted)
        smaller = np.minimum(column, top)
        np.maximum(column, top, out=top)
        # What is neither of the two best stays in the array: z[2:] ends up with all labels but these.
        np.minimum(smaller, second, out=column)
        np.maximum(smaller, second, out=second)
    top, second = top.astype(np.float64), second.astype(np.float64)
    return predicted, (top - second) / temperature, _mass(z[2:] - top, temperature, axis=0)


def _row_by_row(logits: Array, temperature: float) -> tuple[Array, Array, Array]:
    """The same of rows with many classes: two argmax."""
    z = np.array(logits, dtype=np.float64)
    each = np.arange(len(z))

    def take_out_largest() -> tuple[Array, Array]:
        index = z.argmax(axis=1)
        value = z[each, index]
        z[each, index] = -np.inf
        return index, value

    predicted, top = take_out_largest()
    _, second = take_out_largest()
    z -= top[:, None]
    return predicted, (top - second) / temperature, _mass(z, temperature, axis=1)


def _mass(gap: Array, temperature: float, axis: int) -> Array:
    """Σ exp(gap/T); `gap` is overwritten."""
    if temperature != 1.0:
        gap /= temperature
    mass: Array = np.exp(gap, out=gap).sum(axis=axis)
    return mass
