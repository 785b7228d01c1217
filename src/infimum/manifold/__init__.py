"""Density models of a network's feature space, one file each, behind one protocol."""

from infimum.manifold.base import Manifold, ManifoldFit
from infimum.manifold.gmm import GaussianMixture, fit_gmm
from infimum.manifold.kernel import Kernel, fit_kernel

__all__ = ["GaussianMixture", "Kernel", "Manifold", "ManifoldFit", "fit_gmm", "fit_kernel"]
