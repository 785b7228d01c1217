"""Certified lower bounds on Success(f), one file each: arrays in, `Bound` out."""

from infimum.bounds.base import Bound, Estimate
from infimum.bounds.clopper_pearson import clopper_pearson
from infimum.bounds.confidence_floor import confidence_floor_estimate
from infimum.bounds.exchangeability import Exchangeability, exchangeability
from infimum.bounds.marginal_conformal import marginal_conformal_estimate

__all__ = [
    "Bound",
    "Estimate",
    "Exchangeability",
    "clopper_pearson",
    "confidence_floor_estimate",
    "exchangeability",
    "marginal_conformal_estimate",
]
