"""Features of a stream that a manifold is fitted to: some rows, chosen beforehand, or the moments of all of them.

Neither depends on where blocks begin: rows are chosen by their numbers, and moments are those of fixed ranges of
rows, added in order.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from infimum._checks import Array, check_matrix
from infimum._streams import Stream
from infimum.head import AnyHead
from infimum.io.findings import Finding, note
from infimum.manifold._class_gaussians import SCATTER
from infimum.manifold._moments import BLOCK, ClassMoments
from infimum.manifold._options import AnyManifold, ClassGaussians
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream

ROWS = 50_000
NUMBERS = 2**24
"""Features kept, at most: so many rows, and so many numbers (128 MiB in float64)."""


class StreamFeatures:
    """What a stream's blocks leave for the manifold asked for, in memory that does not grow with the rows.

    `moments` are those of all rows, for class Gaussians that are made of them ("full", "tied", "diag", "spherical")
    where not all rows can be kept and none is weighted; else None. `features` are of the rows kept, `weights` theirs.
    Raises InputError where the features do not fit the head.

    >>> from infimum import Head
    >>> x = np.random.default_rng(0).normal(size=(10, 2))
    >>> stream = OutputsStream.of(Outputs(x, features=x))
    >>> kept = StreamFeatures(stream, Head(np.eye(2)), None, seed=0)
    >>> for row, block in stream.blocks():
    ...     kept.add(row, block)
    >>> kept.features.shape, kept.findings
    ((10, 2), ())
    """

    def __init__(
        self, operation: OutputsStream, head: AnyHead, manifold: AnyManifold | None, seed: int
    ) -> None:
        width = check_matrix(operation.first.features, "manifold features", head.n_features).shape[1]
        self._n, self._head, weights = operation.n, head, operation.weights
        self._rows = rows_kept(self._n, width, weights, seed)
        self.weights = None if weights is None else weights[self._rows]
        self.moments: ClassMoments | None = None
        whole = len(self._rows) == self._n
        scatter = SCATTER.get(manifold.covariance) if isinstance(manifold, ClassGaussians) else None
        if scatter is not None and weights is None and not whole:
            self.moments = ClassMoments(width, operation.n_classes, scatter)
        self._picked: list[Array] = []
        self._waiting = np.empty((0, width))

    def add(self, first_row: int, block: Outputs) -> None:
        """The block that begins at this row."""
        features = block.features
        if features is None:
            raise AssertionError("a stream's blocks have what its first has")
        begin, end = np.searchsorted(self._rows, [first_row, first_row + len(block)])
        if begin < end:
            self._picked.append(features[self._rows[begin:end] - first_row])
        if self.moments is None:
            return
        rows = np.concatenate([self._waiting.astype(features.dtype), features])
        done = len(rows) if first_row + len(block) == self._n else len(rows) // BLOCK * BLOCK
        for start in range(0, done, BLOCK):
            part = rows[start : min(start + BLOCK, done)]
            self.moments.add(part, self._head.logits(part).argmax(axis=1))
        self._waiting = rows[done:]

    @property
    def features(self) -> Array:
        """The rows kept, in order."""
        return np.concatenate(self._picked)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader should know of the rows left out, if any are."""
        if self.moments is not None:
            return (note("moments-of-all", n=self._n),)
        if len(self._rows) == self._n:
            return ()
        return (note("fitted-to-some", kept=len(self._rows), n=self._n),)


def rows_kept(n: int, width: int, weights: Array | None, seed: int) -> Int[np.ndarray, " k"]:
    """Numbers of the rows that are kept, ascending: all of them, or as many as may be, drawn from those of weight.

    >>> rows_kept(3, 128, None, 0).tolist()
    [0, 1, 2]
    """
    most = max(1, min(ROWS, NUMBERS // width))
    if n <= most:
        return np.arange(n)
    rng = Stream.KEPT_FEATURES.generator(seed)
    if weights is None:
        return np.sort(rng.choice(n, most, replace=False, shuffle=False))
    of_weight = np.flatnonzero(weights)
    if len(of_weight) <= most:
        return of_weight
    return of_weight[np.sort(rng.choice(len(of_weight), most, replace=False, shuffle=False))]
