"""Which bounds the data at hand allow, each ready to be computed; and why the others are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from infimum.bounds import runner_up_counts
from infimum.bounds._choice import Candidate
from infimum.bounds._class_profile import check_profile
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS, Evidence, Need
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._levels import fit_levels
from infimum.conformal import Calibration, Margin, calibrate
from infimum.errors import InputError
from infimum.identity.rows import Identity
from infimum.identity.shared import unlabelled_rows
from infimum.io.findings import Finding, note
from infimum.outputs._outputs import Outputs


@dataclass
class Candidates:
    """Bounds by name, and why others are not given; `default` judges where none is named."""

    default: str
    possible: dict[str, Candidate] = field(default_factory=dict)
    withheld: dict[str, Finding] = field(default_factory=dict)

    def withhold(self, why: str | Finding, names: Iterable[str]) -> None:
        """Say why these are not given: a finding, or the `why` of one."""
        told = note("bound-withheld", why=why) if isinstance(why, str) else why
        self.withheld.update(dict.fromkeys(names, told))

    @property
    def contenders(self) -> dict[str, Candidate]:
        """What "auto" chooses among."""
        return {name: make for name, make in self.possible.items() if METHODS[name].contends}


def that_need(need: Need) -> tuple[str, ...]:
    """Names of the methods that need it."""
    return tuple(name for name, method in METHODS.items() if need in method.needs)


def all_but(names: Iterable[str]) -> tuple[str, ...]:
    """Names of all other methods."""
    return tuple(name for name in METHODS if name not in names)


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
    evidence = Evidence(label_errors=LabelErrors() if errors is None else errors, seed=seed)
    if rows.design is not None:
        if profile is not None:
            raise InputError(
                f"{rows.name} was drawn in strata, whose weights say what it stands for: leave the profile (--profile) "
                "out"
            )
        bounds, evidence = Candidates("stratified_chernoff"), in_strata(rows.design, evidence)
        bounds.withhold("drawn-in-strata", all_but(that_need("strata")))
    elif profile is not None:
        bounds = Candidates("class_profile")
        evidence = _by_class(bounds, evidence, rows, profile)
    else:
        bounds = Candidates("clopper_pearson")
        bounds.withhold("no-profile", that_need("classes"))
        bounds.withhold("not-in-strata", that_need("strata"))
        evidence = _from_p_values(bounds, evidence, rows, operation, calibration, identity)
        evidence = _from_levels(bounds, evidence, rows, operation, calibration, identity)
    for name, method in METHODS.items():
        if name in bounds.withheld or not method.needs <= evidence.at_hand:
            continue
        if (why := method.why_not(evidence.label_errors)) is not None:
            bounds.withhold(why, [name])
        else:
            bounds.possible[name] = partial(method.bound, evidence)
    return bounds


def in_strata(design: Design, evidence: Evidence) -> Evidence:
    """With what a stratified draw says; InputError for a stratum without a label."""
    unseen = np.setdiff1d(np.arange(len(design.weights)), design.stratum)
    if len(unseen):
        raise InputError(f"stratum {int(unseen[0])} has no label: label further from the top of the table")
    return replace(evidence, stratum=design.stratum, weights=design.weights, rates=design.levels)


def _by_class(bounds: Candidates, evidence: Evidence, rows: Labelled, profile: Any) -> Evidence:
    if rows.classes is None:
        bounds.withhold(
            "no-labels",
            that_need("classes"),
        )
    else:
        share = check_profile(profile)
        rows.classes.check_profile(len(share), rows.name)
        evidence = replace(evidence, classes=rows.classes.labels, profile=share)
    bounds.withhold(
        "other-profile",
        all_but(that_need("classes")),
    )
    return evidence


def _from_p_values(
    bounds: Candidates,
    evidence: Evidence,
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    identity: Identity,
) -> Evidence:
    names = that_need("p_values")
    if operation is None:
        bounds.withhold("no-operation", names)
        return evidence
    if operation.weights is not None:
        bounds.withhold("weighted-operation", names)
        return evidence
    conformal = calibration
    source = rows.outputs if calibration is None else calibration
    if isinstance(source, Outputs):
        conformal = calibrate(source.logits, source.known_labels, score=Margin())
    if not isinstance(conformal, Calibration):
        bounds.withhold("no-logits", names)
        return evidence
    if conformal.n_tuning:
        bounds.withhold("tuned-calibration", names)
        return evidence
    # The calibration of the p-values must be independent of the unlabelled inputs.
    known = [source] if isinstance(source, Outputs) else []
    others = unlabelled_rows(known, operation, identity)
    if not others.any():
        bounds.withhold("operation-is-calibration", names)
        return evidence
    counts = runner_up_counts(conformal, operation.logits if others.all() else operation.logits[others])
    return replace(evidence, runner_up=counts)


def _from_levels(
    bounds: Candidates,
    evidence: Evidence,
    rows: Labelled,
    operation: Outputs | None,
    calibration: Outputs | Calibration | None,
    identity: Identity,
) -> Evidence:
    names = that_need("levels")
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
        bounds.withhold(str(why), names)
        return evidence
    model = fit_levels(calibration)
    labelled = model.of(rows.outputs)
    unlabelled = model.of(operation, first_row=len(rows))[
        unlabelled_rows([rows.outputs], operation, identity)
    ]
    if not len(unlabelled):
        bounds.withhold("operation-is-labelled", names)
        return evidence
    return replace(evidence, levels=labelled, unlabelled_levels=unlabelled)
