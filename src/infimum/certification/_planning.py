"""plan(): how many labels each method needs to show a target, before any is bought."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, Real, check_kind, check_seed
from infimum.bounds._bound import check_confidence
from infimum.bounds._registry import METHODS
from infimum.certification._levels import fit_levels
from infimum.certification._power import check_chance, fewest_labels, power, sample_size
from infimum.certification._rehearsal import World, rehearsed, stopping_times
from infimum.conformal import Calibration
from infimum.errors import InputError
from infimum.io.faces import Shown
from infimum.io.findings import Finding, note
from infimum.io.provenance import made_with
from infimum.io.ranges import Confidence, Count, Probability
from infimum.io.records import Document, Record
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs

SUCCESSES = (0.8, 0.9, 0.95)
"""Probabilities of success that a plan is made for."""

DRAWS = 200
"""Rehearsals of each number of labels: a power of 0.9 is then known to about 0.02."""

STOPS = 10_000
"""Runs of the sequential certificate."""

FURTHER = 4
"""How many times the largest number of labels rehearsed such a run may take."""

MOST_ERRORS = 20_000
"""Errors in such a run beyond which it is not simulated: it would take minutes."""

POINTS = 9
"""Numbers of labels rehearsed, from a sixth of what Clopper–Pearson needs to four times that."""


@dataclass(frozen=True)
class Need(Record):
    """Labels needed for a probability of `success`; None where the largest number tried falls short.

    Exact methods: `low` is the first number that suffices, `labels` = `high` that from which on every one does.
    Simulated ones: `low` and `high` are what ± 2 standard errors of the simulation leave open.
    """

    success: Probability
    labels: Count | None
    low: Count | None
    high: Count | None


@dataclass(frozen=True)
class PlannedMethod(Record):
    """What one method needs, and its curve: numbers of labels, power, and the simulation's standard error."""

    method: str
    exact: bool
    validity: str
    needs: tuple[Need, ...]
    n: tuple[Count, ...]
    power: tuple[Probability, ...]
    standard_error: tuple[Probability, ...]


@dataclass(frozen=True)
class Plan(Document, Shown):
    """How many labels each method needs to reach `target` at `confidence`, if Success(f) is `expected`."""

    SCHEMA = "infimum/plan/2"

    target: Probability
    confidence: Confidence
    expected: Probability
    methods: tuple[PlannedMethod, ...]
    draws: Count
    findings: tuple[Finding, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict, hash=False)


def plan(
    *,
    target: Real,
    confidence: Real = 0.95,
    expected: Real | None = None,
    operation: Outputs | None = None,
    calibration: Outputs | Calibration | None = None,
    seed: int = 0,
) -> Plan:
    """How many labels each method needs, with probability of success 0.8, 0.9 and 0.95.

    Parameters
    ----------
    target, confidence
        The reliability that a bound shall reach, in (0, 1), and its confidence.
    expected
        What Success(f) is believed to be, above `target`. None: the mean level of the operation inputs.
    operation, calibration
        Unlabelled outputs, and labelled rows (or a calibration) that give each of them a level. With both, the
        methods that use levels are rehearsed on labels drawn from the levels, which are first moved so that
        their mean (on the logit scale, by one constant) is `expected`.
    seed
        Of the simulation. Clopper–Pearson's figures are exact and draw nothing.

    Raises
    ------
    InputError
        When expected ≤ target, or the data do not fit together.

    >>> made = plan(target=0.95, expected=0.99)
    >>> [(need.success, need.low, need.labels) for need in made.methods[0].needs]
    [(0.8, 124, 124), (0.9, 153, 181), (0.95, 181, 208)]
    """
    target, confidence, seed = check_chance(target, "target"), check_confidence(confidence), check_seed(seed)
    if (operation is None) != (calibration is None):
        raise InputError(
            "operation and calibration are needed together: the levels of inputs come from a calibration"
        )
    levels = None
    if operation is not None and calibration is not None:
        levels = operation_levels(operation, calibration)
    if expected is None:
        if levels is None:
            raise InputError(
                "expected is needed: what the success rate is believed to be (or operation and calibration)"
            )
        expected = float(levels.mean())
    expected = check_chance(expected, "expected", one=True)
    exact = _clopper_pearson(target, confidence, expected)
    grid = _grid([need.labels or 1 for need in exact.needs])
    methods = [exact]
    told = [note("expected-rate")]
    if (most := FURTHER * grid[-1]) * (1.0 - target) <= MOST_ERRORS:
        methods.append(_anytime(target, confidence, expected, grid, most, seed))
    else:
        told.append(note("anytime-not-simulated", labels=most))
    if levels is not None:
        world = World(levels, expected)
        rows = rehearsed(world, grid, target, confidence, DRAWS, seed)
        methods += [_simulated(name, ns, reached, DRAWS) for name, ns, reached in rows]
        told.append(
            note("levels-rehearsed", n=len(levels), mean=float(levels.mean()), expected=float(expected))
        )
    return Plan(target, confidence, expected, tuple(methods), DRAWS, tuple(told), made_with(seed))


def operation_levels(operation: Outputs, calibration: Outputs | Calibration) -> Float[np.ndarray, " n"]:
    """Level of each operation input, from other, labelled rows; InputError where the two do not fit together."""
    check_outputs(operation, "operation")
    check_kind(calibration, (Outputs, Calibration), "calibration", "Outputs with labels, or a Calibration")
    if isinstance(calibration, Outputs):
        check_one_network(calibration, operation)
    if operation.weights is not None:
        raise InputError(
            "the operation has weights, and labels are planned for a random sample: draw inputs by weight first, and "
            "give those without weights"
        )
    return fit_levels(calibration).of(operation)


def _grid(needed: list[int]) -> list[int]:
    middle = needed[1]
    return sorted({max(2, math.ceil(n)) for n in np.geomspace(middle / 6.0, middle * 4.0, POINTS)})


def _clopper_pearson(target: float, confidence: float, expected: float) -> PlannedMethod:
    """Exact figures, and both ends of every tooth of the curve."""
    needed = [sample_size(success, target, expected, confidence) for success in SUCCESSES]
    most = 2 * needed[-1].always
    starts = fewest_labels(np.arange(math.ceil(most * (1.0 - target)) + 2), target, confidence)
    ns = np.unique(np.concatenate([starts, starts - 1]))
    ns = ns[(ns >= 1) & (ns <= most)]
    ns = ns[np.unique(np.linspace(0, len(ns) - 1, 400).astype(int))]
    return PlannedMethod(
        method="clopper_pearson",
        exact=True,
        validity="finite-sample",
        needs=tuple(
            Need(success, labels.always, labels.first, labels.always)
            for success, labels in zip(SUCCESSES, needed, strict=True)
        ),
        n=tuple(ns.tolist()),
        power=tuple(power(ns, target, expected, confidence).tolist()),
        standard_error=(0.0,) * len(ns),
    )


def _anytime(
    target: float, confidence: float, expected: float, grid: list[int], most: int, seed: int
) -> PlannedMethod:
    """Labels after which the sequential certificate has stopped, or earlier: quantiles of its stopping time."""
    stops = np.sort(stopping_times(target, confidence, expected, STOPS, most, seed))

    def quantile(share: float) -> int | None:
        value = stops[min(STOPS - 1, math.ceil(share * STOPS) - 1)]
        return int(value) if np.isfinite(value) else None

    needs = []
    for success in SUCCESSES:
        margin = 2.0 * math.sqrt(success * (1.0 - success) / STOPS)
        needs.append(Need(success, *(quantile(success + d) for d in (0.0, -margin, margin))))
    share = np.searchsorted(stops, grid, side="right") / STOPS
    return PlannedMethod(
        method="anytime",
        exact=False,
        validity="finite-sample",
        needs=tuple(needs),
        n=tuple(grid),
        power=tuple(share.tolist()),
        standard_error=tuple(np.sqrt(share * (1.0 - share) / STOPS).tolist()),
    )


def _simulated(method: str, ns: list[int], reached: list[Array], draws: int) -> PlannedMethod:
    """Power at each n, made increasing, and where it passes each probability of success."""
    from infimum.estimators._isotonic import isotonic_values

    each = np.repeat(np.arange(len(ns)), draws)
    curve = isotonic_values(each, np.concatenate(reached), np.ones(len(each), dtype=np.int64))
    share = (curve * draws + 1.0) / (draws + 2.0)  # never certain after so many draws
    error = np.sqrt(share * (1.0 - share) / draws)
    return PlannedMethod(
        method=method,
        exact=False,
        validity=METHODS[method].validity,
        needs=tuple(
            Need(success, *(_crossing(ns, curve + z * error, success) for z in (0.0, 2.0, -2.0)))
            for success in SUCCESSES
        ),
        n=tuple(ns),
        power=tuple(curve.tolist()),
        standard_error=tuple(error.tolist()),
    )


def _crossing(ns: list[int], curve: Array, success: float) -> int | None:
    """The n at which the curve passes `success`, linear in log n between points; None if it never does."""
    above = np.flatnonzero(curve >= success)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return ns[0]
    part = (success - curve[i - 1]) / (curve[i] - curve[i - 1])
    return math.ceil(math.exp((1 - part) * math.log(ns[i - 1]) + part * math.log(ns[i])) - 1e-9)
