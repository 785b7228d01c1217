"""Certified lower bounds on Success(f), one file each: arrays in, `Bound` out."""

from infimum.bounds.base import Bound, Estimate
from infimum.bounds.betting import betting, betting_bounds, betting_sequence
from infimum.bounds.choice import best
from infimum.bounds.clopper_pearson import clopper_pearson
from infimum.bounds.confidence_floor import confidence_floor_estimate
from infimum.bounds.marginal_conformal import marginal_conformal_estimate
from infimum.bounds.prediction_powered import prediction_powered
from infimum.bounds.strata import Strata, allocate, strata
from infimum.bounds.stratified import stratified

__all__ = [
    "Bound",
    "Estimate",
    "Strata",
    "allocate",
    "best",
    "betting",
    "betting_bounds",
    "betting_sequence",
    "clopper_pearson",
    "confidence_floor_estimate",
    "marginal_conformal_estimate",
    "prediction_powered",
    "strata",
    "stratified",
]
