"""Density models of a network's feature space, one file each, behind one protocol."""

from infimum.manifold.base import Manifold, ManifoldFit
from infimum.manifold.class_gaussians import ClassGaussians, fit_class_gaussians
from infimum.manifold.gmm import GaussianMixture, fit_gmm
from infimum.manifold.kernel import Kernel, fit_kernel

__all__ = [
    "ClassGaussians",
    "GaussianMixture",
    "Kernel",
    "Manifold",
    "ManifoldFit",
    "fit_class_gaussians",
    "fit_gmm",
    "fit_kernel",
]
