"""A manifold by its name, as assess() and the command line ask for it."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from infimum._checks import Array, Real
from infimum.errors import InputError
from infimum.manifold._class_gaussians import fit_class_gaussians
from infimum.manifold._density import choose_bandwidth
from infimum.manifold._flow import fit_flow
from infimum.manifold._gmm import Covariance, fit_gmm
from infimum.manifold._kernel import fit_kernel
from infimum.manifold._manifold import Manifold
from infimum.manifold._neighbors import fit_neighbors
from infimum.manifold._tree import fit_tree

ManifoldName = Literal["kernel", "gmm", "class-gaussians", "neighbors", "tree", "flow", "auto", "none"]
Bandwidth = Real | Literal["auto"]


def without_effect(
    name: ManifoldName, components: int | None, covariance: str, bandwidth: Bandwidth
) -> list[str]:
    """A note for each of these that was given and that the manifold called `name` does not take.

    >>> without_effect("kernel", None, "diag", 0.1)
    ['covariance has no effect: it is of gmm and class-gaussians, and the manifold is kernel']
    """
    given = {
        "components": (components is not None, ("gmm",)),
        "covariance": (covariance != "full", ("gmm", "class-gaussians")),
        "bandwidth": (bandwidth != 0.1, ("kernel",)),
    }
    return [
        f"{option} has no effect: it is of {' and '.join(takers)}, and the manifold is {name}"
        for option, (changed, takers) in given.items()
        if changed and name not in takers
    ]


def fit_manifold(
    name: ManifoldName | None,
    features: Array,
    predicted: Array,
    components: int | None = None,
    covariance: str = "full",
    bandwidth: Bandwidth = 0.1,
    seed: int = 0,
    logits: Array | None = None,
) -> Manifold:
    """Fit the manifold called `name` (None: "kernel") to features (n, d) of predicted classes (n,).

    The bandwidth "auto" of the kernel is chosen by leave-one-out likelihood of `logits` (n, K). Raises InputError
    for a covariance that the manifold does not know, for "auto" and "none", and as the manifolds do.

    >>> import numpy as np
    >>> fit_manifold("kernel", np.eye(3), np.arange(3)).fit.name
    'kernel'
    """
    if name in ("auto", "none"):
        raise InputError(
            f"{name} is no manifold: select_manifold chooses one, and nothing is fitted for none"
        )
    if name == "gmm":
        known: tuple[Any, ...] = get_args(Covariance)
        if covariance not in known:
            raise InputError(f"covariance of gmm must be one of {', '.join(known)}, not {covariance!r}")
        return fit_gmm(features, predicted, components, cast(Covariance, covariance), seed)
    if name == "class-gaussians":
        return fit_class_gaussians(features, predicted, covariance)
    if name == "neighbors":
        return fit_neighbors(features, predicted)
    if name == "tree":
        return fit_tree(features, predicted)
    if name == "flow":
        return fit_flow(features, predicted, seed)
    if isinstance(bandwidth, str):
        if bandwidth != "auto" or logits is None:
            raise InputError(f"bandwidth must be a number, or auto where logits are given, not {bandwidth!r}")
        bandwidth = choose_bandwidth(logits, predicted)
    return fit_kernel(features, predicted, bandwidth)
