"""The manifolds that can be asked for, as objects or by name: what each needs to be told, and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, get_args, runtime_checkable

from infimum._checks import Array, Real, check_positive
from infimum._grammar import Kind, Registry
from infimum.errors import InputError
from infimum.manifold._class_gaussians import check_covariance, fit_class_gaussians
from infimum.manifold._density import choose_bandwidth
from infimum.manifold._flow import fit_flow
from infimum.manifold._gmm import Covariance, fit_gmm
from infimum.manifold._kernel import fit_kernel
from infimum.manifold._manifold import Manifold
from infimum.manifold._neighbors import fit_neighbors
from infimum.manifold._tree import fit_tree


@runtime_checkable
class ManifoldKind(Protocol):
    """A law of features that can be fitted: its name, and the fit. Objects of your own may be one."""

    name: str

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """The law of features (n, d), whose predicted classes are (n,) and logits (n, K)."""


@dataclass(frozen=True)
class Kernel:
    """Gaussian kernels at the features, of the `bandwidth` h times the spread of their class.

    "auto" chooses h by the leave-one-out likelihood of the logits, which is smoother than λ wants it.

    >>> Kernel(bandwidth=0.2).name
    'kernel'
    """

    bandwidth: Real | Literal["auto"] = 0.1
    name: ClassVar[str] = "kernel"

    def __post_init__(self) -> None:
        if self.bandwidth != "auto":
            check_positive(self.bandwidth, "bandwidth (a number, or auto)")

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        h = choose_bandwidth(logits, predicted) if isinstance(self.bandwidth, str) else self.bandwidth
        return fit_kernel(features, predicted, h)


@dataclass(frozen=True)
class GaussianMixture:
    """The paper's: a mixture of Gaussians fitted by EM, with one of its `components` per predicted class (None).

    >>> GaussianMixture(components=10, covariance="diag").name
    'gmm'
    """

    components: int | None = None
    covariance: Covariance = "full"
    name: ClassVar[str] = "gmm"

    def __post_init__(self) -> None:
        if self.covariance not in (known := get_args(Covariance)):
            raise InputError(f"covariance of gmm must be one of {', '.join(known)}, not {self.covariance!r}")
        whole = isinstance(self.components, int) and not isinstance(self.components, bool)
        if self.components is not None and not (whole and self.components >= 1):
            raise InputError(f"components must be a whole number, 1 or more, not {self.components!r}")

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        return fit_gmm(features, predicted, self.components, self.covariance, seed)


@dataclass(frozen=True)
class ClassGaussians:
    """A Gaussian per predicted class; `covariance` as of the mixture, or "shrunk", or "lowrank:r", for many dimensions.

    >>> ClassGaussians(covariance="lowrank:8").name
    'class-gaussians'
    """

    covariance: str = "full"
    name: ClassVar[str] = "class-gaussians"

    def __post_init__(self) -> None:
        check_covariance(self.covariance)

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        return fit_class_gaussians(features, predicted, self.covariance)


@dataclass(frozen=True)
class Neighbors:
    """Points between neighbours of one predicted class (SMOTE)."""

    name: ClassVar[str] = "neighbors"

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        return fit_neighbors(features, predicted)


@dataclass(frozen=True)
class Tree:
    """Gaussians in the leaves of a tree of halves, in each predicted class."""

    name: ClassVar[str] = "tree"

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        return fit_tree(features, predicted)


@dataclass(frozen=True)
class Flow:
    """A normalising flow, conditioned on the predicted class (extra: flow)."""

    name: ClassVar[str] = "flow"

    def fit(self, features: Array, predicted: Array, logits: Array, seed: int) -> Manifold:
        """See `ManifoldKind.fit`."""
        return fit_flow(features, predicted, seed)


@dataclass(frozen=True)
class Auto:
    """Chosen by held-out features: `select_manifold`."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True)
class NoManifold:
    """Nothing is sampled: λ is that of the operation inputs."""

    name: ClassVar[str] = "none"


AnyManifold = ManifoldKind | Auto | NoManifold

_KINDS: tuple[Any, ...] = (
    GaussianMixture,
    ClassGaussians,
    Kernel,
    Neighbors,
    Tree,
    Flow,
    Auto,
    NoManifold,
)

MANIFOLDS: Registry[AnyManifold] = Registry(
    "manifold",
    {kind.name: Kind.of(kind) for kind in _KINDS},
    takes=lambda given: isinstance(given, ManifoldKind | Auto | NoManifold),
)
