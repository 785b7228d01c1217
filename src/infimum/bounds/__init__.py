"""Certified lower bounds on Success(f), one file each: arrays in, `Bound` out."""

from infimum.bounds._anytime import anytime, anytime_sequence
from infimum.bounds._betting import betting, betting_bounds, betting_sequence
from infimum.bounds._bound import Bound, Estimate
from infimum.bounds._choice import best, rehearse
from infimum.bounds._class_profile import class_profile
from infimum.bounds._clopper_pearson import clopper_pearson, clopper_pearson_per_class, wilson
from infimum.bounds._confidence_floor import confidence_floor, confidence_floor_of_counts
from infimum.bounds._conservative_bayes import conservative_bayes, conservative_confidence, conservative_pfd
from infimum.bounds._judges import ClopperPearson, PredictionPowered
from infimum.bounds._marginal_conformal import (
    marginal_conformal,
    marginal_conformal_of_counts,
    runner_up_counts,
)
from infimum.bounds._prediction_powered import prediction_powered
from infimum.bounds._strata import Strata, allocate, strata
from infimum.bounds._stratified import stratified

__all__ = [
    "Bound",
    "ClopperPearson",
    "Estimate",
    "PredictionPowered",
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
    "marginal_conformal",
    "marginal_conformal_of_counts",
    "prediction_powered",
    "rehearse",
    "runner_up_counts",
    "strata",
    "stratified",
    "wilson",
]
