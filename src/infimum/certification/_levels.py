"""The level that a calibration gives each input before its label is known: what helps bounds to be tight.

From labelled rows: the isotonic regression of correctness on λ(x) (docs/method.md §5), λ(x) by the Margin score, which
has no random form (the levels of two inputs are independent) and ranks errors last. From a finished calibration:
its λ(x) as it is. Levels decide the width of a bound, never its validity, if none of *its* labels made them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum.conformal import Calibration, Margin, calibrate
from infimum.errors import InputError
from infimum.estimators._isotonic import isotonic_values
from infimum.estimators._success_level import left_out_ranks
from infimum.outputs._outputs import Outputs


@dataclass(frozen=True, eq=False)
class LevelModel:
    """A conformal calibration, and the curve (knots of the rank, levels) that recalibrates it, if there is one."""

    conformal: Calibration
    knots: Array | None = None
    values: Array | None = None

    def of(self, outputs: Outputs, first_row: int = 0) -> Float[np.ndarray, " n"]:
        """Level of each input (n,) in [0, 1]. `first_row` keeps random draws of two data sets apart."""
        if self.knots is None or self.values is None:
            return self.conformal.success_levels(outputs.logits, first_row=first_row)
        counts = self.conformal.top_two(outputs.logits, first_row=first_row).count_second
        rank = (self.conformal.n + 1 - counts) / self.conformal.n
        return np.interp(rank, self.knots, self.values)


def fit_levels(calibration: Outputs | Calibration) -> LevelModel:
    """Levels from labelled rows, or from a finished calibration. Raises InputError for fewer than 2 rows.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 3)) * 2
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> sure_and_unsure = Outputs(np.array([[9.0, 0.0, 0.0], [0.1, 0.0, 0.0]]))
    >>> fit_levels(Outputs(z, y)).of(sure_and_unsure).round(2).tolist()
    [0.97, 0.29]
    """
    if isinstance(calibration, Calibration):
        return LevelModel(calibration)
    if len(calibration.known_labels) < 2:
        raise InputError("calibration has 1 row; at least 2 are needed, and some hundreds to say anything")
    conformal = calibrate(calibration.logits, calibration.known_labels, score=Margin())
    knots, group = np.unique(left_out_ranks(conformal, calibration), return_inverse=True)
    ones = np.ones(len(group), dtype=np.int64)
    return LevelModel(conformal, knots, isotonic_values(group, calibration.correct, ones))
