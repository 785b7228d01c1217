"""The labelled rows of an assessment, every input once: calibration, tuning, and what the two share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from infimum.identity.rows import Identity, Rows
from infimum.identity.shared import copies_within, shared_rows
from infimum.outputs._outputs import Outputs


@dataclass(frozen=True, eq=False)
class LabelledSets:
    """Calibration and tuning rows without copies; `fresh` are the tuning rows that are no calibration rows.

    `copies` were left out of each; `shared` tuning rows are calibration rows too; `refuted` rows have the id of
    another input.
    """

    calibration: Outputs
    tuning: Outputs | None
    fresh: Outputs | None
    copies: tuple[int, int] = (0, 0)
    shared: int = 0
    refuted: int = 0

    @property
    def each(self) -> list[Outputs]:
        """The sets of different inputs."""
        return [self.calibration] if self.fresh is None else [self.calibration, self.fresh]

    @property
    def correct(self) -> Bool[np.ndarray, " n"]:
        """Whether each labelled input is classified correctly."""
        return np.concatenate([outputs.correct for outputs in self.each])

    @property
    def to_tune(self) -> Outputs | None:
        """Rows to tune by: fresh ones, so that the calibration has not seen them; where there are none, all."""
        return self.fresh if self.fresh is not None else self.tuning


def labelled_sets(calibration: Outputs, tuning: Outputs | None, identity: Identity = "ids") -> LabelledSets:
    """Count every labelled input once. Raises InputError where one input has two labels in one set.

    >>> z, y = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0, 0])
    >>> rows = Outputs(z, y, ids=np.array(["a", "b"]))
    >>> found = labelled_sets(rows, rows.taken(slice(1, 2)))
    >>> len(found.correct), found.shared, found.fresh
    (2, 1, None)
    """
    own, n_own, refuted = without_copies(calibration, identity)
    if tuning is None:
        return LabelledSets(own, None, None, (n_own, 0), 0, refuted)
    others, n_others, again = without_copies(tuning, identity)
    found = shared_rows([Rows.of(own, identity)], Rows.of(others, identity))
    fresh = others if not found.n else None if found.mask.all() else others.taken(~found.mask)
    return LabelledSets(own, others, fresh, (n_own, n_others), found.n, refuted + again + found.refuted)


def without_copies(labelled: Outputs, identity: Identity = "ids") -> tuple[Outputs, int, int]:
    """Labelled rows without copies, how many were left out, and how many have the id of another input."""
    found = copies_within(Rows.of(labelled, identity), labelled.name)
    kept = labelled if not found.n else labelled.taken(~found.mask)
    return kept, found.n, found.refuted
