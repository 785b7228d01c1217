"""Every public function that takes arrays × every odd array: the right result, or InputError in one line.

A program of its own, since the type checks of the tests would answer first: it prints what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import infimum
from infimum import Head, InputError, Outputs, bounds, conformal, estimators, manifold, shift
from infimum.certification._certify import certify
from infimum.certification._labelled import Labelled
from infimum.certification._planning import plan
from infimum.certification._selection import select
from infimum.monitor import RegionMap
from infimum.testing import assert_reliable

RNG = np.random.default_rng(0)
N, K = 60, 3
LABELS = RNG.integers(0, K, N)
LOGITS = np.round(4 * np.eye(K)[LABELS] + RNG.normal(size=(N, K))) / 2  # bfloat16 holds them exactly
CORRECT = (LOGITS.argmax(axis=1) == LABELS).astype(np.int64)
LEVELS = np.round(RNG.random(N) * 16) / 16
CAL = conformal.calibrate(LOGITS, LABELS, score=conformal.LAC())
OUT = Outputs(LOGITS, LABELS, LOGITS)


def torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    return torch


def pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        return None
    return pandas


def alike(x: np.ndarray) -> dict[str, Any]:
    """The same values in another guise: the result must be the same."""
    there: dict[str, Any] = {
        "list": x.tolist(),
        "tuple": tuple(x.tolist()),
        "list of arrays": list(x),
        "big-endian": x.astype(x.dtype.newbyteorder(">")),
        "Fortran": np.asfortranarray(x),
        "strided": np.repeat(x, 2, axis=0)[::2],
        "read-only": np.frombuffer(x.tobytes(), dtype=x.dtype).reshape(x.shape),
        "nothing masked": np.ma.masked_array(x, mask=False),
    }
    if x.dtype.kind == "f":
        there |= {"float32": x.astype(np.float32), "longdouble": x.astype(np.longdouble)}
    if x.ndim == 2:
        there["subclass"] = x.view(np.recarray)
    if torch() is not None:
        there["tensor"] = torch().tensor(x)
        if x.dtype.kind == "f":
            there["tensor with gradient"] = torch().tensor(x, requires_grad=True)
            there["parameter"] = torch().nn.Parameter(torch().tensor(x))
            there["bfloat16"] = torch().tensor(x).to(torch().bfloat16)
    if pandas() is not None:
        make = pandas().DataFrame if x.ndim == 2 else pandas().Series
        there["pandas"] = make(x)
    return there


def refused(x: np.ndarray) -> dict[str, Any]:
    """What has no meaning here: InputError."""
    masked = np.ma.masked_array(x, mask=False)
    masked[0] = np.ma.masked
    there: dict[str, Any] = {
        "None in a list": [None, *x.tolist()[1:]],
        "complex": x.astype(complex),
        "objects": np.full(x.shape, None, dtype=object),
        "dates": x.astype("datetime64[D]")
        if x.dtype.kind in "iu"
        else np.full(x.shape, np.datetime64("NaT")),
        "spans": np.full(x.shape, np.timedelta64(1, "s")),
        "text": np.full(x.shape, "spam"),
        "bytes": np.full(x.shape, b"spam"),
        "records": np.zeros(x.shape, dtype=[("a", float)]),
        "0-d": np.array(1.0),
        "a number": 1.0,
        "3-d": x.reshape(*x.shape, *[1] * (3 - x.ndim)),
        "empty": x[:0],
        "one row less": x[:-1],
        "masked": masked,
        "masked rows": list(masked) if x.ndim == 2 else masked,
        "ragged": [*x.tolist()[:-1], [1.0, 2.0, 3.0, 4.0, 5.0]],
        "dict": {"a": 1},
        "set": {1, 2},
        "text alone": "cal.npz",
        "path": Path("cal.npz"),
        "generator": (v for v in x),
        "an object": object(),
        "NaN": np.where(np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1)) == 0, np.nan, x),
        "inf": np.where(np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1)) == 0, np.inf, x),
        "digits of longdouble": x + np.longdouble(2) ** -60 * (1 + np.abs(x).astype(np.longdouble)),
        "beyond 2^53": np.full(x.shape, 2**53 + 1, dtype=np.int64),
    }
    if torch() is not None:
        there["sparse tensor"] = torch().tensor(x).to_sparse()
        there["meta tensor"] = torch().tensor(x).to("meta")
        there["complex tensor"] = torch().tensor(x).to(torch().complex64)
    if pandas() is not None and x.ndim == 1:
        there["missing in pandas"] = pandas().Series([None, *x.tolist()[1:]], dtype="Float64")
        there["categories"] = pandas().Series([f"c{v}" for v in x], dtype="category")
    return there


@dataclass(frozen=True)
class Case:
    """A function of one array; `free` names odd arrays that it may take, as those of another length."""

    name: str
    base: np.ndarray
    call: Callable[[Any], Any]
    free: tuple[str, ...] = ()


SHORTER = ("one row less",)

CASES = (
    Case("Outputs.logits", LOGITS, lambda x: Outputs(x).logits, SHORTER),
    Case("Outputs.logits with labels", LOGITS, lambda x: Outputs(x, LABELS).accuracy),
    Case("Outputs.labels", LABELS, lambda x: Outputs(LOGITS, x).labels),
    Case("Outputs.features", LOGITS, lambda x: Outputs(LOGITS, features=x).features),
    Case("Outputs.weights", LEVELS, lambda x: Outputs(LOGITS, weights=x).weights),
    Case(
        "from_probabilities", np.full((N, 4), 0.25), lambda x: Outputs.from_probabilities(x).logits, SHORTER
    ),
    Case("Head.weight", LOGITS, lambda x: Head(x).weight, SHORTER),
    Case("Head.bias", LEVELS, lambda x: Head(LOGITS, x).bias),
    Case("Head.logits", LOGITS, lambda x: Head(np.eye(K)).logits(x), (*SHORTER, "empty", "beyond 2^53")),
    Case("calibrate.logits", LOGITS, lambda x: conformal.calibrate(x, LABELS, seed=1).keys),
    Case("calibrate.labels", LABELS, lambda x: conformal.calibrate(LOGITS, x, seed=1).keys),
    Case(
        "calibrate.randomize",
        LEVELS,
        lambda x: conformal.calibrate(LOGITS, LABELS, randomize=x).keys,
        ("a number",),
    ),
    Case(
        "calibrate.tuning",
        LOGITS,
        lambda x: conformal.calibrate(LOGITS, LABELS, temperature="fit", tuning=(x, LABELS)).temperature,
    ),
    Case("success_levels", LOGITS, lambda x: CAL.success_levels(x), SHORTER),
    Case("p_values", LOGITS, lambda x: CAL.p_values(x), SHORTER),
    Case("prediction_sets", LOGITS, lambda x: CAL.prediction_sets(x, 0.1), SHORTER),
    Case("u", LEVELS, lambda x: conformal.calibrate(LOGITS, LABELS).success_levels(LOGITS, u=x)),
    Case(
        "draws_of",
        LABELS,
        lambda x: conformal.calibrate(LOGITS, LABELS).draws_of(x),
        (*SHORTER, "empty", "beyond 2^53"),
    ),
    Case("clopper_pearson", CORRECT, lambda x: bounds.clopper_pearson(x).value, SHORTER),
    Case("wilson", CORRECT, lambda x: bounds.wilson(x).value, SHORTER),
    Case("anytime", CORRECT, lambda x: bounds.anytime(x).value, SHORTER),
    Case("anytime_sequence", CORRECT, lambda x: bounds.anytime_sequence(x), SHORTER),
    Case("betting", LEVELS, lambda x: bounds.betting(x).value, SHORTER),
    Case("betting_sequence", LEVELS, lambda x: bounds.betting_sequence(x), SHORTER),
    Case(
        "per_class.correct",
        CORRECT,
        lambda x: [b.value for b in bounds.clopper_pearson_per_class(x, LABELS, K)],
    ),
    Case(
        "per_class.labels",
        LABELS,
        lambda x: [b.value for b in bounds.clopper_pearson_per_class(CORRECT, x, K)],
    ),
    Case("class_profile.labels", LABELS, lambda x: bounds.class_profile(CORRECT, x, [0.5, 0.25, 0.25]).value),
    Case(
        "class_profile.profile",
        np.array([0.5, 0.25, 0.25]),
        lambda x: bounds.class_profile(CORRECT, LABELS, x).value,
    ),
    Case(
        "stratified.stratum",
        LABELS,
        lambda x: bounds.stratified(CORRECT, x, [0.5, 0.25, 0.25], method="e_process").value,
    ),
    Case(
        "stratified.weights",
        np.array([0.5, 0.25, 0.25]),
        lambda x: bounds.stratified(CORRECT, LABELS, x, method="bonferroni").value,
    ),
    Case(
        "stratified.levels",
        np.array([0.5, 0.25, 0.25]),
        lambda x: bounds.stratified(CORRECT, LABELS, [1, 1, 1], method="e_process", levels=x).value,
    ),
    Case("strata", LEVELS, lambda x: bounds.strata(x).edges, SHORTER),
    Case("strata.assign", LEVELS, lambda x: bounds.strata(LEVELS).assign(x), SHORTER),
    Case("allocate.weights", np.array([0.5, 0.25, 0.25]), lambda x: bounds.allocate(20, x, [0.9, 0.5, 0.75])),
    Case("allocate.levels", np.array([0.5, 0.25, 0.25]), lambda x: bounds.allocate(20, [1, 1, 1], x)),
    Case(
        "allocate.available",
        np.array([9, 9, 9]),
        lambda x: bounds.allocate(20, [1, 1, 1], [0.9, 0.5, 0.75], available=x),
        ("beyond 2^53",),
    ),
    Case("prediction_powered.correct", CORRECT, lambda x: bounds.prediction_powered(x, LEVELS, LEVELS).value),
    Case(
        "prediction_powered.labelled", LEVELS, lambda x: bounds.prediction_powered(CORRECT, x, LEVELS).value
    ),
    Case(
        "prediction_powered.unlabelled",
        LEVELS,
        lambda x: bounds.prediction_powered(CORRECT, LEVELS, x, method="betting").value,
        SHORTER,
    ),
    Case("marginal_conformal", LOGITS, lambda x: bounds.marginal_conformal(CAL, x).value, SHORTER),
    Case("confidence_floor", LOGITS, lambda x: bounds.confidence_floor(CAL, x).value, SHORTER),
    Case(
        "of_counts",
        np.array([0, 9, *[1] * 60, 3]),
        lambda x: bounds.marginal_conformal_of_counts(x).value,
        (*SHORTER, "3-d"),
    ),
    Case("best", CORRECT, lambda x: bounds.best({"exact": bounds.clopper_pearson}, x).value, SHORTER),
    Case("rehearse", LEVELS, lambda x: bounds.rehearse({"exact": bounds.clopper_pearson}, x), SHORTER),
    Case("Labelled", CORRECT, lambda x: certify(Labelled(x), target=0.9).judge.value, SHORTER),
    Case(
        "certify.profile",
        np.array([0.5, 0.25, 0.25]),
        lambda x: certify(OUT, target=0.9, profile=x).judge.value,
    ),
    Case("RegionMap.features", LOGITS, lambda x: RegionMap().fit(x, LEVELS).predict(LOGITS)),
    Case("RegionMap.levels", LEVELS, lambda x: RegionMap().fit(LOGITS, x).predict(LOGITS)),
    Case("RegionMap.predict", LOGITS, lambda x: RegionMap().fit(LOGITS, LEVELS).predict(x), SHORTER),
    Case("fit_kernel.features", LOGITS, lambda x: manifold.fit_kernel(x, LABELS).means),
    Case("fit_kernel.predicted", LABELS, lambda x: manifold.fit_kernel(LOGITS, x).means),
    Case("fit_gmm.features", LOGITS, lambda x: manifold.fit_gmm(x, LABELS).fit.components),
    Case("fit_gmm.predicted", LABELS, lambda x: manifold.fit_gmm(LOGITS, x).fit.components),
    Case("fit_class_gaussians", LABELS, lambda x: manifold.fit_class_gaussians(LOGITS, x).means),
    Case("fit_neighbors", LABELS, lambda x: manifold.fit_neighbors(LOGITS, x).fit.components),
    Case("fit_tree", LABELS, lambda x: manifold.fit_tree(LOGITS, x, leaf=5).fit.components),
    Case(
        "manifold_data",
        LOGITS,
        lambda x: (
            infimum.assess(
                OUT, OUT, head=Head(np.eye(K)), manifold_data=x, exchangeability=False
            ).lambda_operation.value
        ),
        SHORTER,
    ),
)

NO_OUTPUTS = {
    "array": LOGITS,
    "pair": (LOGITS, LABELS),
    "path": Path("cal.npz"),
    "name": "cal.npz",
    "dict": {"logits": LOGITS},
    "None": None,
    "class": Outputs,
    "calibration": CAL,
}
"""What is given where Outputs are wanted."""

TAKE_OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "assess.calibration": lambda x: infimum.assess(x, OUT),
    "assess.operation": lambda x: infimum.assess(OUT, x),
    "assess.tuning": lambda x: infimum.assess(OUT, OUT, tuning=x),
    "assess.head": lambda x: infimum.assess(OUT, OUT, head=x),
    "compare": lambda x: infimum.compare([OUT, x]),
    "compare alone": lambda x: infimum.compare(x),
    "compare.calibrations": lambda x: infimum.compare([OUT, OUT], [OUT, x], names=["a", "b"]),
    "compare_assessments": lambda x: infimum.compare_assessments([x, x]),
    "certify": lambda x: certify(x, target=0.9),
    "certify.operation": lambda x: certify(OUT, target=0.9, operation=x),
    "certify.calibration": lambda x: certify(OUT, target=0.9, operation=OUT, calibration=x),
    "Labelled.of": lambda x: Labelled.of(x),
    "Labelled.outputs": lambda x: Labelled(CORRECT, outputs=x),
    "Labelled.design": lambda x: Labelled(CORRECT, design=x),
    "plan.operation": lambda x: plan(target=0.9, operation=x, calibration=OUT),
    "plan.calibration": lambda x: plan(target=0.9, operation=OUT, calibration=x),
    "select": lambda x: select(x, OUT, 10),
    "exchangeability": lambda x: shift.exchangeability(OUT, x),
    "marginal_conformal": lambda x: bounds.marginal_conformal(x, LOGITS),
    "assert_reliable": lambda x: assert_reliable(x, 0.1),
    "assert_reliable.operation": lambda x: assert_reliable(OUT, 0.1, operation=x),
    "estimate": lambda x: estimators.estimate(x, OUT),
    "estimate.operation": lambda x: estimators.estimate(OUT, x),
    "average_confidence": lambda x: estimators.average_confidence(OUT, x),
    "select_manifold": lambda x: manifold.select_manifold(LOGITS, x, CAL),
}
MAY_BE = {
    ("assess.tuning", "None"), ("assess.head", "None"), ("certify.operation", "None"), ("certify.calibration", "None"),
    ("certify.calibration", "calibration"), ("Labelled.outputs", "None"), ("Labelled.design", "None"),
    ("plan.calibration", "calibration"), ("assert_reliable.operation", "None"), ("marginal_conformal", "calibration"),
}  # fmt: skip


def answer(call: Callable[[Any], Any], x: Any) -> tuple[str, Any]:
    """("right", result), ("refused", message) or ("broken", what was raised)."""
    try:
        return "right", call(x)
    except InputError as error:
        message = str(error)
        clear = len(message) <= 500 and "\n" not in message
        return ("refused" if clear else "broken"), message
    except BaseException as error:
        return "broken", f"{type(error).__name__}: {error}"


def violations() -> list[str]:
    """What is neither right nor refused as it should be."""
    found = []
    for case in CASES:
        expected = case.call(case.base)
        for name, x in alike(case.base).items():
            kind, got = answer(case.call, x)
            if kind != "right" or not np.array_equal(got, expected):
                found.append(f"{case.name} of {name}: {kind}, {got!r:.200}, not {expected!r:.80}")
        for name, x in refused(case.base).items():
            kind, got = answer(case.call, x)
            if kind == "broken" or (kind == "right" and name not in case.free):
                found.append(f"{case.name} of {name}: {kind}, {got!r:.200}, not InputError")
    for name, call in TAKE_OUTPUTS.items():
        for what, x in NO_OUTPUTS.items():
            kind, got = answer(call, x)
            if kind == "broken" or (kind == "right" and (name, what) not in MAY_BE):
                found.append(f"{name} of {what}: {kind}, {got!r:.200}, not InputError")
    return found


if __name__ == "__main__":
    for violation in violations():
        print(violation)
    print(len(CASES), len(TAKE_OUTPUTS), "functions")
