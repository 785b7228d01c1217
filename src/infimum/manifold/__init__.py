"""Density models of a network's feature space, one file each, behind one protocol."""

from infimum.manifold._class_gaussians import ClassGaussiansLaw, fit_class_gaussians, fit_moments, fit_stream
from infimum.manifold._density import choose_bandwidth, log_density
from infimum.manifold._fidelity import Fidelity, fidelity
from infimum.manifold._flow import FlowLaw, fit_flow
from infimum.manifold._gmm import GaussianMixtureLaw, fit_gmm
from infimum.manifold._kernel import KernelLaw, fit_kernel
from infimum.manifold._manifold import Manifold, ManifoldFit
from infimum.manifold._moments import ClassMoments
from infimum.manifold._neighbors import NeighborsLaw, fit_neighbors
from infimum.manifold._options import (
    Auto,
    ClassGaussians,
    Flow,
    GaussianMixture,
    Kernel,
    ManifoldKind,
    Neighbors,
    NoManifold,
    Tree,
)
from infimum.manifold._sampling import RunningLambda, SampledLambda, sample_lambda
from infimum.manifold._selection import Candidate, ManifoldChoice, select_manifold
from infimum.manifold._stopping import Sampling, Stopping
from infimum.manifold._tree import fit_tree

__all__ = [
    "Auto",
    "Candidate",
    "ClassGaussians",
    "ClassGaussiansLaw",
    "ClassMoments",
    "Fidelity",
    "Flow",
    "FlowLaw",
    "GaussianMixture",
    "GaussianMixtureLaw",
    "Kernel",
    "KernelLaw",
    "Manifold",
    "ManifoldChoice",
    "ManifoldFit",
    "ManifoldKind",
    "Neighbors",
    "NeighborsLaw",
    "NoManifold",
    "RunningLambda",
    "SampledLambda",
    "Sampling",
    "Stopping",
    "Tree",
    "choose_bandwidth",
    "fidelity",
    "fit_class_gaussians",
    "fit_flow",
    "fit_gmm",
    "fit_kernel",
    "fit_moments",
    "fit_neighbors",
    "fit_stream",
    "fit_tree",
    "log_density",
    "sample_lambda",
    "select_manifold",
]
