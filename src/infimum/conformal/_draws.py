"""The draw u of each input: a function of (seed, stream, row), so neither chunks nor order change it.

One draw shared by a batch, or fresh draws per error level, break coverage (docs/method.md §2).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, Real, check_numbers
from infimum._streams import Stream, counted
from infimum.errors import InputError

Draws = Array | Real
"""u of each input, or 1 for the deterministic score."""

StreamName = Literal["calibration", "operation", "samples"]
"""Whose u: each kind of inputs has a stream of its own."""

GAP = 2**12
"""Rows between two others that are drawn too, and passed over: beginning anew takes as long."""


STREAMS: dict[StreamName, Stream] = {
    "calibration": Stream.CALIBRATION,
    "operation": Stream.OPERATION,
    "samples": Stream.SAMPLES,
}


def uniform_draws(seed: int, stream: StreamName, n: int, first_row: int = 0) -> Float[np.ndarray, " n"]:
    """Draws u in [0, 1) of rows first_row .. first_row + n − 1 of a stream, by a counter-based generator.

    >>> whole = uniform_draws(7, "operation", 10)
    >>> bool((uniform_draws(7, "operation", 4, first_row=6) == whole[6:]).all())
    True
    """
    skip = first_row % 4
    return counted(STREAMS[stream].key(seed), first_row // 4).random(skip + n)[skip:]


def row_draws(seed: int, stream: StreamName, rows: Array) -> Float[np.ndarray, " n"]:
    """Draws u in [0, 1) of these rows (n,), in any order: each is the draw that `uniform_draws` gives its row.

    Rows that lie together are drawn together; of rows that lie far apart each takes some 20 µs.

    >>> whole = uniform_draws(7, "operation", 10)
    >>> bool((row_draws(7, "operation", np.array([9, 0, 4])) == whole[[9, 0, 4]]).all())
    True
    """
    rows = check_numbers(rows, "rows")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise InputError(f"rows must be whole numbers, one per input, not {rows.dtype} of shape {rows.shape}")
    draws = np.empty(len(rows))
    if len(rows) == 0:
        return draws
    order = np.argsort(rows, kind="stable")
    ascending = rows[order].astype(np.int64)
    if ascending[0] < 0:
        raise InputError(f"rows must be 0 or more, not {ascending[0]}")
    begins = np.flatnonzero(np.diff(ascending) > GAP) + 1
    for run, near in zip(np.split(order, begins), np.split(ascending, begins), strict=True):
        first = int(near[0])
        draws[run] = uniform_draws(seed, stream, int(near[-1]) - first + 1, first)[near - first]
    return draws
