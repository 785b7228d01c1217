"""A manifold by its name, as assess() and the command line ask for it."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from infimum.checks import Array, Real
from infimum.errors import InputError
from infimum.manifold.base import Manifold
from infimum.manifold.class_gaussians import fit_class_gaussians
from infimum.manifold.gmm import Covariance, fit_gmm
from infimum.manifold.kernel import fit_kernel

ManifoldName = Literal["kernel", "gmm", "class-gaussians", "none"]


def fit_manifold(
    name: ManifoldName | None,
    features: Array,
    predicted: Array,
    components: int | None = None,
    covariance: str = "full",
    bandwidth: Real = 0.1,
    seed: int = 0,
) -> Manifold:
    """Fit "kernel" (the default), "gmm" or "class-gaussians" to features (n, d) of predicted classes (n,).

    Raises InputError for a covariance that the manifold does not know, and as the manifolds do.

    >>> import numpy as np
    >>> fit_manifold("kernel", np.eye(3), np.arange(3)).fit.name
    'kernel'
    """
    if name == "gmm":
        known: tuple[Any, ...] = get_args(Covariance)
        if covariance not in known:
            raise InputError(f"covariance of gmm must be one of {', '.join(known)}, not {covariance!r}")
        return fit_gmm(features, predicted, components, cast(Covariance, covariance), seed)
    if name == "class-gaussians":
        return fit_class_gaussians(features, predicted, covariance)
    return fit_kernel(features, predicted, bandwidth)
