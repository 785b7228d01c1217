"""Which bounds the data at hand allow, each ready to be computed; and why the others are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from infimum.bounds import (
    Bound,
    anytime,
    class_profile,
    clopper_pearson,
    confidence_floor_of_counts,
    marginal_conformal_of_counts,
    prediction_powered,
    runner_up_counts,
    stratified,
)
from infimum.bounds._bound import LABELS_RIGHT
from infimum.bounds._choice import Candidate
from infimum.bounds._class_profile import check_profile
from infimum.bounds._label_errors import BY_COUNT, LabelErrors
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._levels import Levels, fit_levels
from infimum.conformal import Calibration, Margin, calibrate
from infimum.errors import InputError
from infimum.identity.rows import Identity
from infimum.identity.shared import unlabelled_rows
from infimum.io.findings import Finding, note
from infimum.outputs._outputs import Outputs

METHODS = (
    *("clopper_pearson", "anytime", "marginal_conformal", "confidence_floor"),
    *("prediction_powered", "prediction_powered_betting", "class_profile"),
    *("stratified_chernoff", "stratified_bootstrap", "stratified_signed_root", "stratified_e_process"),
    "stratified_bonferroni",
)
"""Every method that may be named beforehand to judge a target."""

ASYMPTOTIC = ("prediction_powered", "stratified_bootstrap", "stratified_signed_root")
"""Those whose confidence holds only in the limit of many labels: they judge only when they are named."""

CONTENDERS = (
    *("clopper_pearson", "prediction_powered_betting", "class_profile", "stratified_chernoff"),
    "stratified_e_process",
)
"""What "auto" chooses among."""


@dataclass
class Candidates:
    """Bounds by name, and why others are not given."""

    made: dict[str, Candidate] = field(default_factory=dict)
    withheld: dict[str, Finding] = field(default_factory=dict)

    def withhold(self, why: str | Finding, *names: str) -> None:
        """Say why these are not given: a finding, or the `why` of one."""
        told = note("bound-withheld", why=why) if isinstance(why, str) else why
        self.withheld.update(dict.fromkeys(names, told))

    @property
    def contenders(self) -> dict[str, Candidate]:
        """The finite-sample bounds worth choosing among: the others are below one of these for nearly all data."""
        return {name: self.made[name] for name in CONTENDERS if name in self.made}


def candidates(
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    profile: Any,
    seed: int,
    identity: Identity = "ids",
    errors: LabelErrors | None = None,
) -> Candidates:
    """The bounds for these labelled rows, unlabelled inputs, calibration of other rows, and class probabilities.

    Each is corrected for wrong labels, at most `errors`; those that cannot be are withheld.
    """
    errors = LabelErrors() if errors is None else errors
    found = Candidates()
    if rows.design is not None:
        if profile is not None:
            raise InputError(
                f"{rows.name} was drawn in strata, whose weights say what it stands for: leave the profile (--profile) "
                "out"
            )
        _in_strata(found, rows.design, seed)
    elif profile is not None:
        _by_class(found, rows, profile)
    else:
        found.made.update(
            clopper_pearson=partial(clopper_pearson, label_errors=errors),
            anytime=partial(anytime, label_errors=errors),
        )
        found.withhold("no-profile", "class_profile")
        found.withhold(
            "not-in-strata",
            *(name for name in METHODS if name.startswith("stratified")),
        )
        _from_conformal(found, rows, operation, calibration, identity, errors)
        _prediction_powered(found, rows, operation, calibration, identity)
    for name in list(found.made):
        if (why := errors.why_not(name)) is not None:
            found.withhold(why, name)
            del found.made[name]
        elif errors.any and name not in BY_COUNT:
            found.made[name] = partial(_less_the_rate, found.made[name], errors)
    return found


def _less_the_rate(make: Candidate, errors: LabelErrors, correct: Any, confidence: float) -> Bound:
    return errors.corrected(make(correct, confidence))


def _in_strata(found: Candidates, design: Design, seed: int) -> None:
    for name in (name for name in METHODS if name.startswith("stratified")):
        found.made[name] = partial(stratified_bound, design, name, seed)
    found.withhold("drawn-in-strata", *(name for name in METHODS if not name.startswith("stratified")))


def stratified_bound(design: Design, name: str, seed: int, correct: Any, confidence: float) -> Bound:
    """One of the stratified methods; "stratified_chernoff" is the bound of a class-weighted profile on strata.

    That one is exact for every allocation. With a single stratum it is Clopper–Pearson's.
    """
    if name != "stratified_chernoff":
        method: Any = name.removeprefix("stratified_")
        draws = max(2000, int(np.ceil(50.0 / (1.0 - confidence))))
        return stratified(
            *(correct, design.stratum, design.weights, confidence, method, design.levels),
            draws=draws,
            seed=seed,
        )
    if len(design.weights) == 1:
        bound = clopper_pearson(correct, confidence)
    else:
        bound = class_profile(correct, design.stratum, design.weights, confidence)
        if bound.details["without_labels"]:
            unseen = np.setdiff1d(np.arange(len(design.weights)), design.stratum)
            raise InputError(
                f"stratum {int(unseen[0])} has no label: label further from the top of the table"
            )
    about = (
        "labels were drawn independently, and with equal chances, among the operation inputs of each stratum",
        "strata and weights were fixed before the labels; the bound is for the inputs that have these weights",
        LABELS_RIGHT,
    )
    return replace(bound, method="stratified_chernoff", assumptions=about, details={})


def _by_class(found: Candidates, rows: Labelled, profile: Any) -> None:
    if rows.classes is None:
        found.withhold(
            "no-labels",
            "class_profile",
        )
    else:
        labels, share = rows.classes.labels, check_profile(profile)
        rows.classes.check_profile(len(share), rows.name)
        found.made["class_profile"] = lambda correct, confidence: class_profile(
            correct, labels, share, confidence
        )
    found.withhold(
        "other-profile",
        *(name for name in METHODS if name != "class_profile"),
    )


def _from_conformal(
    found: Candidates,
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    identity: Identity,
    errors: LabelErrors,
) -> None:
    names = ("marginal_conformal", "confidence_floor")
    if operation is None:
        found.withhold("no-operation", *names)
        return
    if operation.weights is not None:
        found.withhold("weighted-operation", *names)
        return
    conformal = calibration
    source = rows.outputs if calibration is None else calibration
    if isinstance(source, Outputs):
        conformal = calibrate(source.logits, source.known_labels, score=Margin())
    if not isinstance(conformal, Calibration):
        found.withhold("no-logits", *names)
        return
    if conformal.n_tuning:
        found.withhold("tuned-calibration", *names)
        return
    # The calibration of the p-values must be independent of the unlabelled inputs.
    known = [source] if isinstance(source, Outputs) else []
    others = unlabelled_rows(known, operation, identity)
    if not others.any():
        found.withhold("operation-is-calibration", *names)
        return
    counts = runner_up_counts(conformal, operation.logits if others.all() else operation.logits[others])
    makers: tuple[Callable[[Any, float, LabelErrors], Bound], ...] = (
        marginal_conformal_of_counts,
        confidence_floor_of_counts,
    )
    for name, make in zip(names, makers, strict=True):
        found.made[name] = partial(_ignoring_labels, make, counts, errors)


def _ignoring_labels(
    make: Callable[..., Bound], counts: Any, errors: LabelErrors, correct: Any, confidence: float
) -> Bound:
    return make(counts, confidence, errors)


def _prediction_powered(
    found: Candidates,
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    identity: Identity,
) -> None:
    names = ("prediction_powered", "prediction_powered_betting")
    why = (
        "no-operation"
        if operation is None
        else "no-calibration"
        if calibration is None
        else "no-logits"
        if rows.outputs is None
        else "weighted-operation"
        if operation.weights is not None
        else "one-row"
        if len(rows) < 2
        else None
    )
    if why is not None or operation is None or calibration is None or rows.outputs is None:
        found.withhold(str(why), *names)
        return
    model: Levels = fit_levels(calibration)
    labelled = model.of(rows.outputs)
    unlabelled = model.of(operation, first_row=len(rows))[
        unlabelled_rows([rows.outputs], operation, identity)
    ]
    if not len(unlabelled):
        found.withhold("operation-is-labelled", *names)
        return
    for name, method in zip(names, ("asymptotic", "betting"), strict=True):
        found.made[name] = partial(_powered, method, labelled, unlabelled)


def _powered(method: Any, labelled: Any, unlabelled: Any, correct: Any, confidence: float) -> Bound:
    return prediction_powered(correct, labelled, unlabelled, confidence, method)
