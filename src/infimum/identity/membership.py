"""Which operation inputs are labelled rows too, or occur twice: found block by block, weighed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from infimum.identity.hints import KnownOutputs, compared_raw
from infimum.identity.repeats import Repeats
from infimum.identity.rows import Identity, Rows
from infimum.identity.shared import Shared
from infimum.outputs._outputs import Outputs

Mask = Bool[np.ndarray, " n"]


@dataclass(frozen=True)
class Belonging:
    """What was found of n operation inputs.

    `labelled` of them are labelled rows too, and `repeated` are met again, by their ids; `refuted` have the id of
    another input. `equal`: how many others have the outputs (or, `raw`, the raw input) of a calibration row, if they
    are more than repeats explain; their ids `differ` if there are any.
    """

    labelled: int = 0
    repeated: int = 0
    refuted: int = 0
    equal: int = 0
    raw: bool = False
    differ: bool = False


class Membership:
    """The labelled rows that an operation is held against, and what has been met of it so far."""

    def __init__(self, labelled: Sequence[Outputs], identity: Identity = "ids") -> None:
        self._identity = identity
        self._known = [Rows.of(outputs, identity) for outputs in labelled]
        self._shared, self._repeats = Shared(self._known), Repeats()
        self._keys = frozenset(self._known[0].keys or ()) - {""}
        self._outputs, self._first = KnownOutputs(labelled[0]), labelled[0]
        self._equal = self._untold = 0
        self._raw = False

    def among(self, block: Outputs) -> tuple[Mask, Mask]:
        """Which rows are labelled ones, and which of the others are met again, if that is believed in the end."""
        rows = Rows.of(block, self._identity)
        same, refuted = self._shared.among(rows)
        shared = same | refuted  # only those whose labels agree would be a selection by labels
        return shared, self._repeats.among(rows) & ~shared

    def compare(self, block: Outputs) -> None:
        """Count rows with the outputs of a calibration row, where ids do not say so. Independent of `among`."""
        # Ids become text only where there are some to compare with: in `among` they do so a second time.
        told = named_in(self._keys, Rows.of(block, self._identity) if self._keys else Rows(len(block)))
        self._raw = compared_raw(self._first, block)
        self._equal += int(np.count_nonzero(self._outputs.among(block) & ~told))
        self._untold += int((~told).sum())

    @property
    def believed(self) -> tuple[bool, bool]:
        """Whether rows found to be labelled ones, and rows found again, are."""
        return self._shared.believed, self._repeats.believed

    @property
    def found(self) -> Belonging:
        """Everything found so far."""
        shared, repeated = self.believed
        hinted = (
            not (shared and self._shared.agreed == self._untold)
            and self._untold
            and self._outputs.more_than_repeats(self._equal, self._untold, self._raw)
        )
        return Belonging(
            labelled=self._shared.agreed if shared else 0,
            repeated=self._repeats.agreed if repeated else 0,
            refuted=self._shared.refuted,
            equal=self._equal if hinted else 0,
            differ=bool(self._keys),
            raw=self._raw,
        )


def named_in(keys: frozenset[str], rows: Rows) -> Mask:
    """Which rows have one of these ids."""
    if rows.keys is None or not keys:
        return np.zeros(rows.n, dtype=bool)
    return np.fromiter((key in keys for key in rows.keys), dtype=bool, count=rows.n)


def told_by_ids(ours: Rows, theirs: Rows) -> bool:
    """Whether ids say which rows are one input: both sides have them, and of one source where they name it."""
    if ours.keys is None or theirs.keys is None or not any(ours.keys) or not any(theirs.keys):
        return False
    if ours.sources is None or theirs.sources is None:
        return True
    return bool(np.isin(theirs.sources, ours.sources).any())
