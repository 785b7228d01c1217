"""Every method that bounds Success(f) and may be named to judge a target: what it needs, when it holds, how it is made.

The one list of them: what an assessment or a certificate may be judged by, what "auto" chooses among, what a plan
rehearses and what a report says of a method are read here. What a method is called in print stands in
`report/wording.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from infimum._checks import Array
from infimum.bounds._anytime import anytime
from infimum.bounds._bound import Bound
from infimum.bounds._class_profile import class_profile
from infimum.bounds._clopper_pearson import clopper_pearson
from infimum.bounds._confidence_floor import confidence_floor_of_counts
from infimum.bounds._label_errors import BY_CLASS, LabelErrors
from infimum.bounds._marginal_conformal import marginal_conformal_of_counts
from infimum.bounds._prediction_powered import prediction_powered
from infimum.bounds._stratified import stratified
from infimum.io.findings import Finding, note

Need = Literal["sample", "order", "classes", "strata", "levels", "p_values"]
"""Labelled inputs that are a random "sample", in the "order" of drawing; drawn within "classes" of known probability,
or within "strata" of known weight; "levels" of labelled and unlabelled inputs; "p_values" of unlabelled inputs by a
calibration, whose rows are then the labelled inputs."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a bound is made of beside which labelled inputs are right; what is not at hand is None.

    `classes` (n,) of the labelled inputs and the `profile` (K,) of the operation; `levels` (n,) of the labelled inputs
    and `unlabelled_levels` (N,); `runner_up` (calibration rows + 2,), unlabelled inputs by (n+1)p_(2); the `stratum`
    (n,) of the labelled inputs, and the `weights` (S,) and expected success rates `rates` (S,) of strata. `seed` of the
    bootstrap.
    """

    label_errors: LabelErrors = field(default_factory=LabelErrors)
    classes: Array | None = None
    profile: Any = None
    levels: Array | None = None
    unlabelled_levels: Array | None = None
    runner_up: Any = None
    stratum: Array | None = None
    weights: Array | None = None
    rates: Array | None = None
    seed: int = 0

    @property
    def at_hand(self) -> frozenset[Need]:
        """The needs that it meets; labelled inputs drawn in one way were not drawn in another."""
        met: dict[Need, bool] = {
            "strata": self.stratum is not None,
            "classes": self.profile is not None,
            "levels": self.levels is not None and self.unlabelled_levels is not None,
            "p_values": self.runner_up is not None,
            "order": True,
        }
        met["sample"] = not (met["strata"] or met["classes"])
        return frozenset(need for need, holds in met.items() if holds)


@dataclass(frozen=True)
class BoundMethod:
    """A method by name. `validity`: as of its bounds, and what it `needs`; `make` gives the bound of right labels.

    `judges_assessments`: it may judge what `assess` says. `contends`: "auto" chooses among those, for nearly all data
    one of them is the largest. `rehearsed`: plans rehearse it. `by_count`: a number of wrong labels lowers it by a
    known amount, and `make` sees to it; `by_rate`: a share of them does.
    """

    name: str
    validity: Literal["finite-sample", "asymptotic"]
    needs: frozenset[Need]
    make: Callable[[Any, float, Evidence], Bound]
    judges_assessments: bool = False
    contends: bool = False
    rehearsed: bool = False
    by_count: bool = False
    by_rate: bool = True

    def bound(self, evidence: Evidence, correct: Any, confidence: float) -> Bound:
        """The bound, less what wrong labels cost; `correct` (n,) labelled inputs, which "p_values" do not look at."""
        bound = self.make(correct, confidence, evidence)
        return bound if self.by_count else evidence.label_errors.corrected(bound)

    def why_not(self, errors: LabelErrors) -> Finding | None:
        """Why the bound is not given where so many labels may be wrong, or None where it can be corrected."""
        if errors.any and not self.by_rate:
            return BY_CLASS
        if errors.count and not self.by_count:
            by_count = [method.name for method in METHODS.values() if method.by_count]
            return note("bound-withheld", why="label-errors-by-count", methods=by_count)
        return None


def _powered(kind: Literal["asymptotic", "betting"]) -> Callable[[Any, float, Evidence], Bound]:
    return lambda correct, confidence, e: prediction_powered(
        correct, e.levels, e.unlabelled_levels, confidence, kind
    )


def _stratified(kind: Any) -> Callable[[Any, float, Evidence], Bound]:
    def make(correct: Any, confidence: float, e: Evidence) -> Bound:
        draws = max(2000, int(np.ceil(50.0 / (1.0 - confidence))))
        return stratified(
            correct, e.stratum, e.weights, confidence, kind, levels=e.rates, draws=draws, seed=e.seed
        )

    return make


SAMPLE: frozenset[Need] = frozenset({"sample"})
STRATA: frozenset[Need] = frozenset({"strata"})

METHODS = {
    method.name: method
    for method in (
        BoundMethod(
            "clopper_pearson",
            "finite-sample",
            SAMPLE,
            lambda correct, confidence, e: clopper_pearson(correct, confidence, e.label_errors),
            judges_assessments=True,
            contends=True,
            by_count=True,
        ),
        BoundMethod(
            "anytime",
            "finite-sample",
            SAMPLE | {"order"},
            lambda correct, confidence, e: anytime(correct, confidence, e.label_errors),
            by_count=True,
        ),
        BoundMethod(
            "marginal_conformal",
            "finite-sample",
            frozenset({"p_values"}),
            lambda _, confidence, e: marginal_conformal_of_counts(e.runner_up, confidence, e.label_errors),
            by_count=True,
        ),
        BoundMethod(
            "confidence_floor",
            "finite-sample",
            frozenset({"p_values"}),
            lambda _, confidence, e: confidence_floor_of_counts(e.runner_up, confidence, e.label_errors),
            by_count=True,
        ),
        BoundMethod(
            "prediction_powered",
            "asymptotic",
            SAMPLE | {"levels"},
            _powered("asymptotic"),
            judges_assessments=True,
            rehearsed=True,
        ),
        BoundMethod(
            "prediction_powered_betting",
            "finite-sample",
            SAMPLE | {"levels", "order"},
            _powered("betting"),
            judges_assessments=True,
            contends=True,
            rehearsed=True,
        ),
        BoundMethod(
            "class_profile",
            "finite-sample",
            frozenset({"classes"}),
            lambda correct, confidence, e: class_profile(correct, e.classes, e.profile, confidence),
            contends=True,
            by_rate=False,
        ),
        BoundMethod(
            "stratified_chernoff",
            "finite-sample",
            STRATA,
            _stratified("chernoff"),
            contends=True,
            rehearsed=True,
        ),
        BoundMethod("stratified_bootstrap", "asymptotic", STRATA, _stratified("bootstrap")),
        BoundMethod(
            "stratified_signed_root", "asymptotic", STRATA, _stratified("signed_root"), rehearsed=True
        ),
        BoundMethod(
            "stratified_e_process",
            "finite-sample",
            STRATA,
            _stratified("e_process"),
            contends=True,
            rehearsed=True,
        ),
        BoundMethod("stratified_bonferroni", "finite-sample", STRATA, _stratified("bonferroni")),
    )
}


def needs(method: str) -> frozenset[Need]:
    """What a method needs; a random sample of labelled inputs where it is none of ours.

    >>> sorted(needs("anytime"))
    ['order', 'sample']
    """
    return METHODS[method].needs if method in METHODS else SAMPLE
