"""The protocol of a manifold, and what its fit tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from infimum._checks import Array
from infimum.head import Head
from infimum.io.ranges import Count, Nonnegative, Probability
from infimum.io.records import Record


@dataclass(frozen=True)
class ManifoldFit(Record):
    """How a manifold was fitted: `n` features of `n_features` dimensions, `components` parts.

    `log_likelihood` is the mean over the features, in nats (None where it is not computed); `agreement` the
    share of features whose most probable component is that of their predicted class; `collapsed` whether the
    components no longer stand for the classes.
    """

    name: str
    n: Count
    n_features: Count
    components: Count
    covariance: str
    converged: bool = True
    iterations: Count = 0
    log_likelihood: float | None = None
    agreement: Probability | None = None
    collapsed: bool = False
    bandwidth: Nonnegative | None = None


@runtime_checkable
class Manifold(Protocol):
    """A law on feature vectors that can be sampled, and pushed through a linear head exactly."""

    @property
    def fit(self) -> ManifoldFit:
        """What the fit tells of itself."""

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw n feature vectors, independent and in no order."""

    def sample_evenly(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """Draw n feature vectors of this law that together cover it evenly, and a uniform number for each.

        Each follows the law, but they are not independent: errors show between calls only. n is best a power
        of two.
        """

    def push_forward(self, head: Head) -> Manifold:
        """The law of head(features): the same distribution of logits, sampled in K dimensions instead of d."""


def square_root(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "r d"]:
    """R with RᵀR = rowsᵀ rows and r = min(n, d) rows, by a QR factorisation: no ridge, singular is fine.

    If ξ = g R with g standard normal, then ξ ~ N(0, rowsᵀ rows).

    >>> r = square_root(np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 0.0]]))
    >>> (r.T @ r).round(12).tolist()
    [[25.0, 0.0], [0.0, 0.0]]
    """
    if len(rows) <= rows.shape[1]:
        return rows
    root: Array = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
    return root


def group_by_component(component: Array, n_components: int) -> list[Array]:
    """Row numbers of each component's draws: one sort, not one scan per component.

    >>> [rows.tolist() for rows in group_by_component(np.array([1, 0, 1]), 3)]
    [[1], [0, 2], []]
    """
    small = component.astype(np.min_scalar_type(n_components))  # numpy's radix sort takes up to 16 bits
    order = np.argsort(small, kind="stable")
    ends = np.cumsum(np.bincount(component, minlength=n_components))
    return np.split(order, ends[:-1])
