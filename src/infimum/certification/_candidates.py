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
from infimum.outputs._outputs import Outputs

SELECTED = "the labels were drawn in strata, not as one random sample"


@dataclass
class Candidates:
    """Bounds by name, and why others are not given; `default` judges where none is named."""

    default: str
    possible: dict[str, Candidate] = field(default_factory=dict)
    withheld: dict[str, str] = field(default_factory=dict)

    def withhold(self, why: str, names: Iterable[str]) -> None:
        """Say why these are not given."""
        self.withheld.update(dict.fromkeys(names, why))

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
        bounds.withhold(SELECTED, all_but(that_need("strata")))
    elif profile is not None:
        bounds = Candidates("class_profile")
        evidence = _by_class(bounds, evidence, rows, profile)
    else:
        bounds = Candidates("clopper_pearson")
        bounds.withhold("no class probabilities of operation are given", that_need("classes"))
        bounds.withhold("the labels were not drawn in strata (infimum plan --select)", that_need("strata"))
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
            "the labels of the rows are not known, only what is right (give logits and labels, or predicted and label)",
            that_need("classes"),
        )
    else:
        share = check_profile(profile)
        rows.classes.check_profile(len(share), rows.name)
        evidence = replace(evidence, classes=rows.classes.labels, profile=share)
    bounds.withhold(
        "it holds for the class shares of the labelled rows, and other class probabilities are given",
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
        bounds.withhold("no unlabelled operation inputs are given (--operation)", names)
        return evidence
    if operation.weights is not None:
        bounds.withhold("the operation is weighted, and the labelled rows are not", names)
        return evidence
    conformal = calibration
    source = rows.outputs if calibration is None else calibration
    if isinstance(source, Outputs):
        conformal = calibrate(source.logits, source.known_labels, score=Margin())
    if not isinstance(conformal, Calibration):
        bounds.withhold("the logits of the labelled rows are not known", names)
        return evidence
    if conformal.n_tuning:
        bounds.withhold(
            "the calibration's score or temperature was tuned, perhaps on calibration rows", names
        )
        return evidence
    # The calibration of the p-values must be independent of the unlabelled inputs.
    known = [source] if isinstance(source, Outputs) else []
    others = unlabelled_rows(known, operation, identity)
    if not others.any():
        bounds.withhold("every operation input is a calibration row too: none is left without a label", names)
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
        "no unlabelled operation inputs are given (--operation)"
        if operation is None
        else "no other labelled rows are given to make the levels of inputs from (--calibration)"
        if calibration is None
        else "the logits of the labelled rows are not known"
        if rows.outputs is None
        else "the operation is weighted, and the labelled rows are not"
        if operation.weights is not None
        else "fewer than 2 rows are labelled"
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
        bounds.withhold("every operation input is a labelled row too: none is left without a label", names)
        return evidence
    return replace(evidence, levels=labelled, unlabelled_levels=unlabelled)
