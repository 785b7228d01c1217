"""Which class is right for each labelled row: what bounds per class, and for other class shares, need to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

from infimum._checks import Array
from infimum.errors import InputError
from infimum.outputs._outputs import Outputs


@dataclass(frozen=True, eq=False)
class Classes:
    """`labels` (rows,) in 0..n−1 of `n` classes, and the classes' `names` where they have any.

    `certain`: whether `n` is what the network has, and not only the largest number seen. `in_order`: whether the
    numbers are the network's, and not those of the names in alphabetical order.
    """

    labels: Int[np.ndarray, " rows"]
    n: int
    names: tuple[str, ...] | None = None
    certain: bool = True
    in_order: bool = True

    @staticmethod
    def of(outputs: Outputs) -> Classes:
        """The labels of outputs."""
        names = None if outputs.class_names is None else tuple(map(str, outputs.class_names))
        return Classes(outputs.known_labels, outputs.n_classes, names)

    @staticmethod
    def numbered(label: Array, predicted: Array, n_classes: int | None) -> Classes:
        """Of whole numbers, 0 or more; without `n_classes` as many as the largest label or prediction asks for.

        >>> Classes.numbered(np.array([0, 2]), np.array([0, 3]), None).n
        4
        """
        n = max(2, 1 + int(max(label.max(), predicted.max()))) if n_classes is None else n_classes
        return Classes(label.astype(np.int64), n, certain=n_classes is not None)

    @staticmethod
    def named(label: Array, predicted: Array) -> Classes:
        """Of names, in alphabetical order: the order that the network has them in is not known.

        >>> Classes.named(np.array(["dog", "cat"]), np.array(["dog", "dog"])).labels.tolist()
        [1, 0]
        """
        names = np.unique(np.concatenate([label, predicted]))
        labels = np.searchsorted(names, label).astype(np.int64)
        return Classes(labels, len(names), tuple(names.tolist()), certain=False, in_order=False)

    def taken(self, rows: Bool[np.ndarray, " rows"]) -> Classes:
        """Some of the rows."""
        return replace(self, labels=self.labels[rows])

    def check_profile(self, n: int, what: str) -> None:
        """Raise InputError unless class probabilities of `n` classes can be told to be those of these classes."""
        if not self.in_order:
            raise InputError(
                f"profile gives a probability to each class in order, but the labels of {what} are names, whose order "
                "is not known; give labels and predictions as class numbers 0..K−1"
            )
        if (n != self.n) if self.certain else (n < self.n):
            raise InputError(
                f"profile has {n} probabilities, but {what} has {self.n} classes{'' if self.certain else ' or more'}; "
                "give one each"
            )
