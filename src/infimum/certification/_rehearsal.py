"""Rehearsals: labels drawn from a belief about the operation, and which bounds would then reach a target."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from infimum._checks import Array
from infimum._streams import Stream
from infimum.bounds import allocate, strata
from infimum.bounds._anytime import log_capital
from infimum.bounds._registry import METHODS, Evidence, needs
from infimum.bounds._strata import CERTAIN
from infimum.certification._power import first_met

REHEARSED = sorted(name for name, method in METHODS.items() if method.rehearsed)
"""In the order of their names."""


class World:
    """Operation inputs with their levels (m,), and a success rate for each, of mean `expected`.

    The rates are the levels moved by one constant on the logit scale: as informative, but of the mean believed.
    """

    def __init__(self, levels: Float[np.ndarray, " m"], expected: float) -> None:
        self.levels = levels
        self.rates = moved(levels, expected)
        self.parts = strata(levels)
        self.stratum = self.parts.assign(levels)
        self.available = np.bincount(self.stratum, minlength=len(self.parts.weights))
        self.stratum_rates = np.bincount(self.stratum, self.rates) / self.available


def moved(levels: Float[np.ndarray, " m"], mean: float) -> Float[np.ndarray, " m"]:
    """Levels moved by one constant on the logit scale so that their mean is `mean`, in (0, 1].

    >>> float(moved(np.array([0.5, 0.9]), 0.9).mean().round(6))
    0.9
    """
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    if mean == 1.0:
        return np.ones(len(levels))
    scores = logit(np.clip(levels, CERTAIN, 1.0 - CERTAIN))
    shift = brentq(lambda c: float(expit(scores + c).mean()) - mean, -100.0, 100.0)
    return np.asarray(expit(scores + shift))


def rehearsed(
    world: World, grid: list[int], target: float, confidence: float, draws: int, seed: int
) -> Iterator[tuple[str, list[int], list[Bool[np.ndarray, " draws"]]]]:
    """Of every method that uses levels: its name, numbers of labels, and in which draws the target was reached."""
    most, least = len(world.levels), len(world.parts.weights)
    possible = [n for n in grid if least <= n <= most]
    for name in REHEARSED:
        in_strata = "strata" in needs(name)
        rehearse, ns = (_stratified, possible) if in_strata else (_powered, grid)
        if ns:
            yield name, ns, [rehearse(world, n, name, target, confidence, draws, seed) for n in ns]


def _powered(
    world: World, n: int, name: str, target: float, confidence: float, draws: int, seed: int
) -> Bool[np.ndarray, " draws"]:
    """Labelled and unlabelled inputs are both drawn anew from the operation inputs at hand."""
    reached = np.zeros(draws, dtype=bool)
    for i in range(draws):
        rng = Stream.PLAN_POWERED.generator(seed, n, i)
        rows = rng.integers(len(world.levels), size=n)
        correct = rng.random(n) < world.rates[rows]
        unlabelled = world.levels[rng.integers(len(world.levels), size=len(world.levels))]
        evidence = Evidence(levels=world.levels[rows], unlabelled_levels=unlabelled)
        reached[i] = METHODS[name].bound(evidence, correct, confidence).value >= target
    return reached


def _stratified(
    world: World, n: int, name: str, target: float, confidence: float, draws: int, seed: int
) -> Bool[np.ndarray, " draws"]:
    parts = world.parts
    sizes = allocate(n, parts.weights, parts.levels, available=world.available)
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    evidence = Evidence(stratum=stratum, weights=parts.weights, rates=parts.levels, seed=seed)
    right = Stream.PLAN_STRATIFIED.generator(seed, n).binomial(
        sizes, world.stratum_rates, (draws, len(sizes))
    )
    # Counts decide, so equal ones are computed once.
    counts, which = np.unique(right, axis=0, return_inverse=True)
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    met = [
        METHODS[name].bound(evidence, place < count[stratum], confidence).value >= target for count in counts
    ]
    reached: Array = np.array(met)[which.reshape(-1)]
    return reached


def stopping_times(
    target: float, confidence: float, expected: float, draws: int, most: int, seed: int
) -> Float[np.ndarray, " draws"]:
    """Labels after which the anytime-valid bound has reached `target`, infinite where `most` are not enough.

    With c errors it is reached from some n_c on, so the certificate stops at n_c if the (c+1)-th error comes later.
    """
    threshold = -math.log1p(-confidence)
    # Errors beyond this share of the labels show nothing. A right label only ever raises the capital.
    errors = np.arange(math.ceil(most * (1.0 - target)) + 1)
    starts = first_met(errors, lambda n: log_capital(n - errors, n, target) >= threshold)
    starts = starts[starts <= most]
    if expected == 1.0:
        return np.full(draws, float(starts[0]) if len(starts) else np.inf)
    stops = np.full(draws, np.inf)
    rng = Stream.PLAN_STOPPING.generator(seed)
    for first in range(0, draws, size := max(1, 2**20 // max(1, len(starts)))):
        rows = slice(first, min(draws, first + size))
        error_at = rng.geometric(1.0 - expected, (rows.stop - first, len(starts))).cumsum(axis=1)
        in_time = error_at > starts
        reached = in_time.any(axis=1)
        stops[rows][reached] = starts[in_time.argmax(axis=1)[reached]]
    return stops
