"""What the `toy` fixture is, for annotations."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from infimum import Head, Outputs


class Toy(Protocol):
    """A small network whose density model is known."""

    head: Head
    means: np.ndarray

    def features(self, n: int, rng: np.random.Generator) -> np.ndarray: ...

    def outputs(self, n: int, rng: np.random.Generator, *, name: str = "outputs") -> Outputs: ...
