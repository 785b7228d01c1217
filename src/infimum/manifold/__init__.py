"""Density models of a network's feature space, one file each, behind one protocol."""

from infimum.manifold.base import Manifold, ManifoldFit
from infimum.manifold.class_gaussians import ClassGaussians, fit_class_gaussians, fit_moments, fit_stream
from infimum.manifold.density import choose_bandwidth, log_density
from infimum.manifold.fidelity import Fidelity, fidelity
from infimum.manifold.flow import Flow, fit_flow
from infimum.manifold.gmm import GaussianMixture, fit_gmm
from infimum.manifold.kernel import Kernel, fit_kernel
from infimum.manifold.moments import ClassMoments
from infimum.manifold.neighbors import Neighbors, fit_neighbors
from infimum.manifold.selection import Candidate, Selection, select_manifold
from infimum.manifold.tree import fit_tree

__all__ = [
    "Candidate",
    "ClassGaussians",
    "ClassMoments",
    "Fidelity",
    "Flow",
    "GaussianMixture",
    "Kernel",
    "Manifold",
    "ManifoldFit",
    "Neighbors",
    "Selection",
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
    "select_manifold",
]
