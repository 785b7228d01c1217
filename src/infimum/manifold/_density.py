"""Log-densities of the manifolds that have one, and the bandwidth of the kernel by leave-one-out likelihood.

Densities are meant for logits: K dimensions, in which covariances are regular where features leave them singular.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array
from infimum.errors import InputError
from infimum.manifold._class_gaussians import ClassGaussiansLaw
from infimum.manifold._gmm import GaussianMixtureLaw
from infimum.manifold._kernel import KernelLaw
from infimum.manifold._manifold import Manifold, group_by_component

BLOCK = 256
"""Rows whose distances to all points are held at a time."""

SINGULAR = 1e-10
"""A covariance whose eigenvalues differ by more than this factor has no density."""

PER_CLASS = 1000
"""Points per class that are left out, at most."""

BANDWIDTHS = np.geomspace(0.02, 2.0, 25)


def log_density(law: Manifold, x: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"] | None:
    """Log-density of each row, in nats; −∞ outside the support. None for a law without a closed form.

    >>> from infimum.manifold import fit_class_gaussians
    >>> law = fit_class_gaussians(np.array([[-1.0], [1.0]]), np.zeros(2))
    >>> log_density(law, np.zeros((1, 1))).round(4).tolist()  # −log √(2π)
    [-0.9189]
    """
    x = x.astype(np.float64, copy=False)
    if isinstance(law, KernelLaw):
        return _log_sum(_kernel_parts(law, x), len(x))
    if isinstance(law, ClassGaussiansLaw | GaussianMixtureLaw):
        return _log_sum(_gaussian_parts(law, x), len(x))
    return None


def choose_bandwidth(logits: Float[np.ndarray, "m K"], predicted: Int[np.ndarray, " m"]) -> float:
    """The kernel's h by leave-one-out likelihood of logits, on a grid from 0.02 to 2 (Duin, 1976).

    Only differences of logits are read by a head's softmax, so each class is taken in their K − 1 dimensions. Mean and
    covariance of the class keep the point that is left out. Classes of fewer than 4 K points say nothing of h;
    raises InputError when there are no others.

    >>> z = np.random.default_rng(0).normal(size=(200, 2))
    >>> z[:100, 0] += 20  # two clusters in one class
    >>> choose_bandwidth(z, np.zeros(200, dtype=int)) < 0.1
    True
    """
    total = np.zeros(len(BANDWIDTHS))
    differences = logits[:, 1:].astype(np.float64) - logits[:, :1]
    classes, part = np.unique(predicted, return_inverse=True)
    groups = group_by_component(part.reshape(-1), len(classes))
    large = [rows for rows in groups if len(rows) >= 4 * logits.shape[1]]
    if not large:
        raise InputError(
            f"bandwidth='auto' needs a predicted class of at least {4 * logits.shape[1]} points; give a number, as 0.1"
        )
    for rows in large:
        total += _left_out(differences[rows])
    return float(BANDWIDTHS[total.argmax()])


def _left_out(x: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " h"]:
    """Log-likelihood of a class by bandwidth, each point from all others, scaled up to all its points."""
    left, values, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    rank = int((values > values[0] * math.sqrt(SINGULAR)).sum()) if len(values) else 0
    if rank == 0:
        return np.zeros(len(BANDWIDTHS))
    whitened = left[:, :rank] * math.sqrt(len(x))
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), PER_CLASS)).astype(np.int64))
    found = np.zeros(len(BANDWIDTHS))
    for start in range(0, len(chosen), BLOCK):
        rows = chosen[start : start + BLOCK]
        for k, h in enumerate(BANDWIDTHS):
            inside = _exponents(whitened[rows], whitened, float(h))
            inside[np.arange(len(rows)), rows] = -np.inf
            found[k] += (_log_sum_exp(inside) - math.log(len(x) - 1) - _log_noise(rank, float(h))).sum()
    return found * (len(x) / len(chosen))


def _exponents(x: Array, points: Array, h: float) -> Float[np.ndarray, "n m"]:
    """−|x − y_j/√(1+h²)|² (1+h²)/2h² in whitened coordinates: N(y_j/√(1+h²), h²/(1+h²) I) without its constant."""
    s = math.sqrt(1 + h * h)
    squares = (s * s) * (x**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - (2 * s) * (x @ points.T)
    exponents: Array = np.maximum(squares, 0.0) / (-2 * h * h)
    return exponents


def _log_noise(rank: int, h: float) -> float:
    """Log of √(2π)^r times the deviations h/√(1+h²)."""
    return rank * (0.5 * math.log(2 * math.pi) + math.log(h) - 0.5 * math.log1p(h * h))


def _kernel_parts(law: KernelLaw, x: Array) -> Iterator[Array]:
    groups = group_by_component(law.part, len(law.means))
    for rows, mean, root in zip(groups, law.means, law.factors, strict=True):
        whitening = _whitening(root.T @ root)
        if whitening is None:
            continue
        w, log_volume = whitening
        points, at = (law.points[rows] - mean) @ w, (x - mean) @ w
        constant = math.log(len(law.points)) + _log_noise(x.shape[1], law.bandwidth) + log_volume
        blocks = (at[start : start + BLOCK] for start in range(0, len(at), BLOCK))
        yield np.concatenate([_log_sum_exp(_exponents(b, points, law.bandwidth)) for b in blocks]) - constant


def _gaussian_parts(law: ClassGaussiansLaw | GaussianMixtureLaw, x: Array) -> Iterator[Array]:
    own = law.roots() if isinstance(law, ClassGaussiansLaw) else law.factors
    common = _covariance(law.shared) if isinstance(law, ClassGaussiansLaw) else 0.0
    share = law.share if isinstance(law, ClassGaussiansLaw) else np.ones(len(law.weights))
    for weight, mean, root, a in zip(law.weights, law.means, own, share, strict=True):
        whitening = _whitening(_covariance(root) + a**2 * common)
        if whitening is not None and weight > 0:
            w, log_volume = whitening
            squares = (((x - mean) @ w) ** 2).sum(axis=1)
            yield math.log(weight) - 0.5 * (squares + x.shape[1] * math.log(2 * math.pi)) - log_volume


def _covariance(root: Array) -> Float[np.ndarray, "k k"]:
    exact = root.astype(np.float64)
    covariance: Array = np.diag(exact**2) if root.ndim == 1 else exact.T @ exact
    return covariance


def _whitening(covariance: Float[np.ndarray, "k k"]) -> tuple[Array, float] | None:
    """W with WᵀΣW = I and log √det Σ; None where Σ is singular: its law has no density."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= SINGULAR * values[-1]:
        return None
    return vectors / np.sqrt(values), float(0.5 * np.log(values).sum())


def _log_sum(parts: Iterator[Array], n: int) -> Float[np.ndarray, " n"]:
    total = np.full(n, -np.inf)
    for part in parts:
        np.logaddexp(total, part, out=total)
    return total


def _log_sum_exp(values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
    """Log Σ_j exp(values_j) in place of `values`, without overflow."""
    top = values.max(axis=1)
    top[np.isneginf(top)] = 0.0
    values -= top[:, None]
    np.exp(values, out=values)
    with np.errstate(divide="ignore"):
        total: Array = top + np.log(values.sum(axis=1))
    return total
