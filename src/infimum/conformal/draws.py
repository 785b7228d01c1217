"""The draw u of each input: a function of (seed, stream, row), so neither chunks nor order change it.

One draw shared by a batch, or fresh draws per error level, break coverage (METHOD §2).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from infimum.checks import Array, Real

Draws = Array | Real
"""u of each input, or 1 for the deterministic score."""

Stream = Literal["calibration", "operation", "samples"]
STREAMS: dict[Stream, int] = {"calibration": 0, "operation": 1, "samples": 2}


def uniform_draws(seed: int, stream: Stream, n: int, first_row: int = 0) -> Float[np.ndarray, " n"]:
    """Draws u in [0, 1) of rows first_row .. first_row + n − 1 of a stream, by a counter-based generator.

    Source: Philox 4x64 (Salmon et al., 2011); each counter value holds four draws.

    >>> whole = uniform_draws(7, "operation", 10)
    >>> bool((uniform_draws(7, "operation", 4, first_row=6) == whole[6:]).all())
    True
    """
    key = np.random.SeedSequence(entropy=seed, spawn_key=(STREAMS[stream],)).generate_state(2, np.uint64)
    bits = np.random.Philox(key=key)
    bits.advance(first_row // 4)
    skip = first_row % 4
    return np.random.Generator(bits).random(skip + n)[skip:]
