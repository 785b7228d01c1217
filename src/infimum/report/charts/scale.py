"""Axes: from values to places, and round numbers for the ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A linear axis from `low` to `high` (or, `logarithmic`, that of the logarithms)."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Place of a value, 0 at `low` and 1 at `high`; values outside are put at the nearer end.

        >>> Scale(0.5, 1.0).at(0.75), Scale(0.001, 1.0, logarithmic=True).at(0.0)
        (0.5, 0.0)
        """
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, about: int = 6) -> list[float]:
        """Round values inside the axis, about so many; powers of ten on a logarithmic one.

        >>> Scale(0.9, 1.0).ticks()
        [0.9, 0.92, 0.94, 0.96, 0.98, 1.0]
        """
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**k for k in range(first, last + 1)]
        step = round_step((self.high - self.low) / max(1, about - 1))
        first, last = math.ceil(self.low / step - 1e-6), math.floor(self.high / step + 1e-6)
        return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, about as large.

    >>> [round_step(x) for x in (0.018, 0.03, 7.0)]
    [0.02, 0.05, 10.0]
    """
    power = 10.0 ** math.floor(math.log10(rough))
    return next(float(f"{m * power:.10g}") for m in (1, 2, 5, 10) if m * power >= rough * 0.8)


def probability_axis(values: list[float]) -> Scale:
    """An axis up to 1 that begins at a round number below all values, and never at more than 0.95.

    >>> probability_axis([0.93, 0.99])
    Scale(low=0.92, high=1.0, logarithmic=False)
    """
    lowest = min([*values, 0.95])
    span = 1.0 - lowest
    step = round_step(max(span, 0.05) / 5)
    low = math.floor((lowest - 0.02 * span) / step + 1e-9) * step
    return Scale(max(0.0, float(f"{low:.10g}")), 1.0)


def short(value: float) -> str:
    """A tick's label: as few digits as it needs, thousands as k and M.

    >>> short(0.9), short(2e4), short(1.5e6), short(0.0)
    ('0.9', '20k', '1.5M', '0')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.6g}{letter}"
    return f"{value:.6g}"
