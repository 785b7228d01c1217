"""Certified lower bounds on Success(f), one file each: arrays in, `Bound` out."""

from infimum.bounds.anytime import anytime, anytime_sequence
from infimum.bounds.base import Bound, Estimate
from infimum.bounds.betting import betting, betting_bounds, betting_sequence
from infimum.bounds.choice import best, rehearse
from infimum.bounds.class_profile import class_profile
from infimum.bounds.clopper_pearson import clopper_pearson, clopper_pearson_per_class, wilson
from infimum.bounds.confidence_floor import confidence_floor, confidence_floor_of_counts
from infimum.bounds.conservative_bayes import conservative_bayes, conservative_confidence, conservative_pfd
from infimum.bounds.exchangeability import Exchangeability, exchangeability
from infimum.bounds.marginal_conformal import (
    marginal_conformal,
    marginal_conformal_of_counts,
    runner_up_counts,
)
from infimum.bounds.prediction_powered import prediction_powered
from infimum.bounds.strata import Strata, allocate, strata
from infimum.bounds.stratified import stratified

__all__ = [
    "Bound",
    "Estimate",
    "Exchangeability",
    "Strata",
    "allocate",
    "anytime",
    "anytime_sequence",
    "best",
    "betting",
    "betting_bounds",
    "betting_sequence",
    "class_profile",
    "clopper_pearson",
    "clopper_pearson_per_class",
    "confidence_floor",
    "confidence_floor_of_counts",
    "conservative_bayes",
    "conservative_confidence",
    "conservative_pfd",
    "exchangeability",
    "marginal_conformal",
    "marginal_conformal_of_counts",
    "prediction_powered",
    "rehearse",
    "runner_up_counts",
    "strata",
    "stratified",
    "wilson",
]
