"""Sums over groups of inputs that come block by block, the groups told by a key that need not be known before.

Inputs are added one after the other, in the order of their rows, so that no bit depends on where blocks begin.
"""

from __future__ import annotations

import numpy as np

from infimum.checks import Array
from infimum.diagnostics.proportions import Groups


class KeyedSums:
    """Number, weight, squared weight, weight of the correct, and summed values of the inputs of each key.

    `keys` are sorted, and grow with the keys met; give them where they are known before.

    >>> sums = KeyedSums(np.empty(0), 1)
    >>> sums.add(np.array([0.5, 0.9, 0.5]), None, np.array([True, True, False]), np.array([1.0, 2.0, 3.0]))
    >>> sums.keys.tolist(), sums.groups.right.tolist(), sums.values[0].tolist()
    ([0.5, 0.9], [1.0, 1.0], [4.0, 2.0])
    """

    def __init__(self, keys: Array, n_values: int = 0) -> None:
        self.keys = keys
        self._fixed = len(keys) > 0
        self._inputs = np.zeros(len(keys), dtype=np.int64)
        self._sums = np.zeros((3 + n_values, len(keys)))

    def add(self, key: Array, weights: Array | None, correct: Array | None, *values: Array) -> None:
        """Add inputs: their keys, weights (1 if None), whether they are correct (None: not known), and values."""
        slot = key if self._fixed else self._slots(key)
        self._inputs += np.bincount(slot, minlength=len(self.keys))
        weight, squared, right = self._sums[:3]
        if weights is not None:
            np.add.at(weight, slot, weights)
            np.add.at(squared, slot, weights**2)
        if correct is not None:
            if weights is None:  # whole numbers: any order gives the same
                right += np.bincount(slot[correct], minlength=len(self.keys))
            else:
                np.add.at(right, slot[correct], weights[correct])
        for into, value in zip(self._sums[3:], values, strict=True):
            np.add.at(into, slot, value if weights is None else weights * value)
        if weights is None:
            weight[:] = squared[:] = self._inputs

    @property
    def groups(self) -> Groups:
        """The counts and weights."""
        return Groups(self._inputs, *self._sums[:3])

    @property
    def values(self) -> Array:
        """The (weighted) sums of the values: a row for each."""
        return self._sums[3:]

    def _slots(self, key: Array) -> Array:
        """Where each key lies among the sorted keys; new ones are put in."""
        slot = np.searchsorted(self.keys, key)
        known = slot < len(self.keys)
        known[known] = self.keys[slot[known]] == key[known]
        if not known.all():
            keys = np.union1d(self.keys, key[~known])
            at = np.searchsorted(keys, self.keys)
            inputs, sums = np.zeros(len(keys), dtype=np.int64), np.zeros((len(self._sums), len(keys)))
            inputs[at], sums[:, at] = self._inputs, self._sums
            self.keys, self._inputs, self._sums = keys, inputs, sums
            slot = np.searchsorted(keys, key)
        return slot
