"""Sums over groups of inputs that come block by block, the groups told by a key that need not be known before.

Without weights every sum is of whole numbers, which any order adds to the same, as long as it stays below 2^53. Sums
of weights are made input by input, in the order of their rows, so that no bit depends on where blocks begin.
"""

from __future__ import annotations

import numpy as np

from infimum._checks import Array
from infimum.assessment._diagnostics.proportions import Groups
from infimum.errors import InputError


class KeyedSums:
    """Number, weight, squared weight, weight of the correct, and summed values of the inputs of each key.

    `keys` are sorted, and grow with the keys met; 0, 1, … where they are known before. Two sums add up to those of
    both: the same bits as if all inputs had been added to one; with weights, but for the rounding of their sums.

    >>> sums = KeyedSums(np.empty(0), 1)
    >>> sums.add(np.array([5, 9, 5]), None, np.array([True, True, False]), np.array([1.0, 2.0, 3.0]))
    >>> sums.keys.tolist(), sums.groups.right.tolist(), sums.values[0].tolist()
    ([5.0, 9.0], [1.0, 1.0], [4.0, 2.0])
    """

    def __init__(self, keys: Array, n_values: int = 0) -> None:
        self.keys = keys
        self._fixed = len(keys) > 0
        self._inputs = np.zeros(len(keys), dtype=np.int64)
        self._sums = np.zeros((3 + n_values, len(keys)))

    def add(self, key: Array, weights: Array | None, correct: Array | None, *values: Array) -> None:
        """Add inputs: their keys, weights (1 if None), whether they are correct (None: not known), and values.

        The values are whole numbers.
        """
        slot = key if self._fixed else self._slots(key)
        counted = np.bincount(slot, minlength=len(self.keys))
        self._inputs += counted
        weight, squared, right = self._sums[:3]
        if weights is None:
            weight += counted
            squared += counted
            added = [(right, correct), *zip(self._sums[3:], values, strict=True)]
            for into, value in added:
                if value is not None:
                    into += np.bincount(slot, value, len(self.keys))
            return
        np.add.at(weight, slot, weights)
        np.add.at(squared, slot, weights**2)
        if correct is not None:
            np.add.at(right, slot[correct], weights[correct])
        for into, value in zip(self._sums[3:], values, strict=True):
            np.add.at(into, slot, weights * value)

    def __add__(self, other: KeyedSums) -> KeyedSums:
        """The sums of the inputs of both, which must have the same values and, where they are fixed, keys."""
        same = self._fixed == other._fixed and len(self._sums) == len(other._sums)
        if not same or (self._fixed and not np.array_equal(self.keys, other.keys)):
            raise InputError("sums over groups of other keys or values cannot be added")
        keys = self.keys if self._fixed else np.union1d(self.keys, other.keys)
        both = KeyedSums(keys, len(self._sums) - 3)
        both._fixed = self._fixed
        for part in (self, other):
            at = np.searchsorted(keys, part.keys)
            both._inputs[at] += part._inputs
            both._sums[:, at] += part._sums
        return both

    def taken(self, which: Array) -> KeyedSums:
        """Those of some keys."""
        some = KeyedSums(self.keys[which], len(self._sums) - 3)
        some._inputs, some._sums = self._inputs[which], self._sums[:, which]
        return some

    def by(self, group: Array, keys: Array) -> KeyedSums:
        """Put together by `group`, the new key of each; `keys` are all of them, ascending."""
        joined = KeyedSums(keys, len(self._sums) - 3)
        at = np.searchsorted(keys, group)
        np.add.at(joined._inputs, at, self._inputs)
        for into, part in zip(joined._sums, self._sums, strict=True):
            np.add.at(into, at, part)
        return joined

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
