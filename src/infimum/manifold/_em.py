"""EM for a Gaussian mixture with full covariances: scikit-learn's iteration, arranged for speed.

The same steps, stopping rule and ridge as `sklearn.mixture.GaussianMixture`, and its results to rounding. What is
faster: the densities of all components come from one float32 matrix product per chunk of rows, and a
component's mean and covariance are summed, in float64, only over the rows that have a part in it. Components that
stand for classes share few rows, so that M of those sums cost little more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from infimum._checks import Array

TOLERANCE = 1e-3
"""EM ends when the mean log-likelihood moves by less, in nats (scikit-learn's default)."""

NEGLIGIBLE = 1e-9
"""Responsibilities below this are left out of the sums: less than the rounding of float32."""

WIDTH = 2**20
"""Numbers per chunk of the float32 product: 4 MiB."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights (M,), means (M, d) and covariances, and how EM came to them.

    Covariances are of the shape of their kind: full (M, d, d), tied (d, d), diagonal (M, d), spherical (M,).
    `log_likelihood` is the mean over the rows in nats, `labels` (n,) the most probable component of each.
    """

    weights: Float[np.ndarray, " M"]
    means: Float[np.ndarray, "M d"]
    covariances: Array
    converged: bool
    iterations: int
    log_likelihood: float
    labels: Array


class _Parameters(NamedTuple):
    weights: Float[np.ndarray, " M"]
    means: Float[np.ndarray, "M d"]
    covariances: Float[np.ndarray, "M d d"]


def fit_full(
    x: Float[np.ndarray, "n d"],
    weights: Float[np.ndarray, " M"],
    means: Float[np.ndarray, "M d"],
    covariances: Float[np.ndarray, "M d d"],
    ridge: float,
    max_iterations: int = 200,
) -> Fitted:
    """EM from a starting point; `ridge` is added to the variances at every step.

    Source: Dempster, Laird and Rubin (1977).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2)) + 9 * rng.integers(0, 2, 500)[:, None]
    >>> start = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> found = fit_full(x, np.full(2, 0.5), start, np.stack([np.eye(2)] * 2), ridge=1e-6)
    >>> found.converged, found.means[1].round().tolist()
    (True, [9.0, 9.0])
    """
    d = x.shape[1]
    # About 0 and of size 1, which float32 needs.
    centre = x.mean(axis=0)
    centred = x - centre
    scale = float(centred.std())
    centred /= scale
    # A last column of ones takes each component's mean into the matrix product.
    single = np.ones((len(x), d + 1), dtype=np.float32)
    single[:, :-1] = centred
    now = _Parameters(weights, (means - centre) / scale, covariances / scale**2)
    last, converged, iterations = -np.inf, False, 0
    while not converged and iterations < max_iterations:
        responsibility, likelihood = _expectation(single, now)
        now = _maximisation(centred, responsibility, ridge / scale**2)
        converged = abs(likelihood - last) < TOLERANCE
        last = likelihood
        iterations += 1
    responsibility, likelihood = _expectation(single, now)
    return Fitted(
        now.weights,
        now.means * scale + centre,
        now.covariances * scale**2,
        converged,
        iterations,
        likelihood - d * float(np.log(scale)),
        responsibility.argmax(axis=1),
    )


def _expectation(single: Float[np.ndarray, "n d_and_one"], at: _Parameters) -> tuple[Array, float]:
    """Responsibility of each component for each row, and the mean log-likelihood.

    log N(x; μ, LLᵀ) = −½ |L⁻¹(x − μ)|² − Σ log L_ii − (d/2) log 2π.
    """
    m, d = at.means.shape
    roots = np.linalg.cholesky(at.covariances)
    whitening = np.empty((m, d + 1, d))
    for k in range(m):
        whitening[k, :d] = solve_triangular(roots[k], np.eye(d), lower=True).T
        whitening[k, d] = -at.means[k] @ whitening[k, :d]
    every = np.concatenate(list(whitening), axis=1).astype(np.float32)
    constant = np.log(at.weights) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    constant -= d / 2 * np.log(2 * np.pi)
    responsibility = np.empty((len(single), m))
    total = 0.0
    size = max(1, WIDTH // (m * d))
    for start in range(0, len(single), size):
        block = single[start : start + size]
        white = (block @ every).reshape(len(block), m, d)
        joint = constant - 0.5 * np.einsum("nkd,nkd->nk", white, white)
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        mass = share.sum(axis=1, keepdims=True)
        total += float((np.log(mass) + top).sum())
        np.divide(share, mass, out=responsibility[start : start + size])
    return responsibility, total / len(single)


def _maximisation(x: Float[np.ndarray, "n d"], responsibility: Array, ridge: float) -> _Parameters:
    """Weights, means and covariances of the rows by their responsibilities."""
    d, m = x.shape[1], responsibility.shape[1]
    counts, means, covariances = np.empty(m), np.empty((m, d)), np.empty((m, d, d))
    for k in range(m):
        rows = np.flatnonzero(responsibility[:, k] > NEGLIGIBLE)
        part, own = responsibility[rows, k], x[rows]
        counts[k] = (
            part.sum() + 10 * np.finfo(np.float64).eps
        )  # as scikit-learn: an empty component has weight
        means[k] = part @ own / counts[k]
        own -= means[k]
        own *= np.sqrt(part)[:, None]
        covariances[k] = own.T @ own / counts[k]
        covariances[k].flat[:: d + 1] += ridge
    return _Parameters(counts / counts.sum(), means, covariances)
