"""certify(): which bound judges, which are withheld and why, what is refused; coverage of select → certify."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import binom

from infimum import InputError, Outputs
from infimum.bounds import clopper_pearson, prediction_powered
from infimum.bounds._registry import METHODS, Evidence
from infimum.certification._candidates import in_strata
from infimum.certification._certificate import Certificate
from infimum.certification._certify import certify
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._levels import fit_levels
from infimum.certification._selection import select
from infimum.conformal import calibrate


@pytest.fixture(scope="module")
def data(toy: Toy) -> dict[str, Outputs]:
    rng = np.random.default_rng(1)
    return {name: toy.outputs(n, rng, name=name) for name, n in (("cal", 300), ("lab", 250), ("ops", 2000))}


def labelled(drawn, truth: Outputs) -> Labelled:
    """The selection, as if a person had looked every input up."""
    correct = truth.correct[drawn.row]
    _, first = np.unique(drawn.stratum, return_index=True)
    levels = np.bincount(drawn.stratum, drawn.level) / np.bincount(drawn.stratum)
    return Labelled(correct, design=Design(drawn.stratum, drawn.stratum_weight[first], levels))


def test_every_bound_and_one_judge(data: dict[str, Outputs]) -> None:
    made = certify(data["lab"], target=0.6, operation=data["ops"], calibration=data["cal"])
    assert [b.method for b in made.bounds] == [
        *("clopper_pearson", "anytime", "marginal_conformal", "confidence_floor"),
        *("prediction_powered", "prediction_powered_betting"),
    ]
    assert made.judge == replace(clopper_pearson(data["lab"].correct), judges=True)
    assert [b.judges for b in made.bounds] == [True, *[False] * 5]
    assert made.target.met == (made.judge.value >= 0.6)
    assert made.target.by == "clopper_pearson"
    levels = fit_levels(data["cal"])
    direct = prediction_powered(
        data["lab"].correct, levels.of(data["lab"]), levels.of(data["ops"], first_row=250)
    )
    assert made.bounds[4] == direct
    assert made.bounds[2].details["unlabelled"] == 2000
    assert Certificate.from_dict(json.loads(made.to_json())) == made
    assert {*made.withheld} == {*METHODS} - {b.method for b in made.bounds}


def test_labels_alone(data: dict[str, Outputs]) -> None:
    made = certify(data["lab"], target=0.6, per_class=True)
    assert [b.method for b in made.bounds] == ["clopper_pearson", "anytime"]
    assert len(made.per_class) == 4
    assert "--operation" in str(made.withheld["prediction_powered"])
    # The labelled rows may calibrate the two bounds that need no further label.
    with_operation = certify(data["lab"], target=0.6, operation=data["ops"])
    (marginal,) = (b for b in with_operation.bounds if b.method == "marginal_conformal")
    assert marginal.n == 250
    assert "--calibration" in str(with_operation.withheld["prediction_powered"])


def test_labelled_rows_among_the_operation_are_left_out(data: dict[str, Outputs]) -> None:
    lab, ops = replace(data["lab"], ids=np.arange(len(data["lab"]))), data["ops"]
    joined = Outputs(
        np.concatenate([ops.logits, lab.logits]), ids=np.concatenate([np.arange(len(ops)) + 1000, lab.ids])
    )
    one = certify(lab, target=0.6, operation=joined, calibration=data["cal"], method="prediction_powered")
    other = certify(lab, target=0.6, operation=ops, calibration=data["cal"], method="prediction_powered")
    assert one.judge == other.judge


def test_what_cannot_be_compared_is_said(data: dict[str, Outputs]) -> None:
    lab, cal = data["lab"], data["cal"]
    finished = calibrate(lab.logits, lab.labels)  # of the very rows
    said = "whether these labelled rows are among the calibration's cannot be checked"
    only_right = Labelled(lab.correct)
    assert any(said in w for w in certify(lab, target=0.6, calibration=finished).warnings)
    assert any(said in w for w in certify(only_right, target=0.6, calibration=cal).warnings)
    assert not any(said in w for w in certify(lab, target=0.6, calibration=cal).warnings)


def test_equal_outputs_are_a_hint(data: dict[str, Outputs]) -> None:
    lab = data["lab"]
    twice = np.concatenate([np.arange(250), np.arange(40)])
    made = certify(Outputs(lab.logits[twice], lab.labels[twice]), target=0.6)
    assert made.n == 290
    assert "80 of the 290 labelled rows have the outputs of another" in made.warnings[0]
    assert "warning: 80 of the 290 labelled rows" in made.summary()
    # Ids that differ settle it.
    assert (
        certify(Outputs(lab.logits[twice], lab.labels[twice], ids=np.arange(290)), target=0.6).warnings == ()
    )
    assert certify(lab, target=0.6).warnings == ()


def test_no_digit_is_lost() -> None:
    said = certify(Labelled(np.ones(9)), target=0.99999999, confidence=0.9999999999999).summary()
    assert "Target 0.99999999: NOT met" in said
    assert "99.99999999999 %" in said


def test_profile_of_another_network(data: dict[str, Outputs]) -> None:
    with pytest.raises(InputError, match="profile has 2 probabilities, but lab has 4 classes"):
        certify(data["lab"], target=0.6, profile=[0.5, 0.5])


def test_levels_never_see_the_labels_they_certify_with(data: dict[str, Outputs]) -> None:
    lab, cal = data["lab"], data["cal"]
    half = Outputs(
        np.concatenate([cal.logits, lab.logits[:9]]),
        np.concatenate([cal.labels, lab.labels[:9]]),
        ids=np.concatenate([np.arange(len(cal)) + 1000, np.arange(9)]),
    )
    lab = replace(lab, ids=np.arange(len(lab)))
    with pytest.raises(InputError, match="9 rows of lab are calibration rows too"):
        certify(lab, target=0.6, operation=data["ops"], calibration=half)
    ids = Outputs(cal.logits, cal.labels, ids=np.arange(300))
    with pytest.raises(InputError, match="1 rows of table are calibration rows too"):
        certify(Labelled(np.ones(2), ids=np.array([299, 300]), name="table"), target=0.6, calibration=ids)


def test_a_finished_calibration_serves_as_well(data: dict[str, Outputs]) -> None:
    made = calibrate(data["cal"].logits, data["cal"].labels)
    found = certify(data["lab"], target=0.6, operation=data["ops"], calibration=made)
    assert "prediction_powered_betting" in {b.method for b in found.bounds}
    with pytest.raises(InputError, match="4 classes, the outputs have 3"):
        certify(Outputs(np.eye(3), np.arange(3)), target=0.6, calibration=made)


def test_asymptotic_bounds_judge_only_when_named(data: dict[str, Outputs]) -> None:
    base = {"target": 0.6, "operation": data["ops"], "calibration": data["cal"]}
    auto = certify(data["lab"], **base, method="auto")
    assert auto.judge.method in ("clopper_pearson", "prediction_powered_betting")
    assert "split over all" in auto.judge.assumptions[-1]
    assert auto.judge.confidence == 0.95
    # The choice is paid for: the same bound, named beforehand, is higher.
    assert certify(data["lab"], **base, method=auto.judge.method).judge.value > auto.judge.value
    named = certify(data["lab"], **base, method="prediction_powered")
    assert named.judge.validity == "asymptotic"
    assert any("limit" in w for w in named.warnings)
    assert "in the limit of many labels" in named.summary()


def test_class_probabilities(data: dict[str, Outputs]) -> None:
    made = certify(data["lab"], target=0.6, profile=[0.7, 0.1, 0.1, 0.1], operation=data["ops"])
    assert [b.method for b in made.bounds] == ["class_profile"]
    assert made.exchangeability is None
    with pytest.raises(InputError, match="class shares"):
        certify(data["lab"], target=0.6, profile=[0.7, 0.1, 0.1, 0.1], method="clopper_pearson")
    with pytest.raises(InputError, match="sums to"):
        certify(data["lab"], target=0.6, profile=[0.7, 0.1, 0.1, 0.2])


def test_shift_stands_in_every_bound(data: dict[str, Outputs]) -> None:
    shifted = Outputs(data["ops"].logits * 3)
    made = certify(data["lab"], target=0.6, operation=shifted)
    assert made.exchangeability.rejected
    assert all("REJECTS" in b.assumptions[-1] for b in made.bounds)
    assert "not alike" in made.warnings[0]


def test_rows_in_strata(data: dict[str, Outputs]) -> None:
    drawn = select(data["ops"], data["cal"], 120, seed=3)
    made = certify(labelled(drawn, data["ops"]), target=0.6)
    assert made.judge.method == "stratified_chernoff"
    assert {b.method for b in made.bounds} == {name for name, m in METHODS.items() if "strata" in m.needs}
    with pytest.raises(InputError, match="drawn in strata, not as one random sample"):
        certify(labelled(drawn, data["ops"]), target=0.6, method="clopper_pearson")
    auto = certify(labelled(drawn, data["ops"]), target=0.6, method="auto")
    assert auto.judge.validity == "finite-sample"


def test_selection(data: dict[str, Outputs]) -> None:
    ops = data["ops"]
    drawn = select(ops, data["cal"], 120, seed=3)
    again = select(ops, data["cal"], 120, seed=3)
    assert (drawn.row == again.row).all()
    assert len(np.unique(drawn.row)) == 120
    assert not (drawn.row == select(ops, data["cal"], 120, seed=4).row).all()
    np.testing.assert_array_equal(drawn.predicted, ops.predicted[drawn.row])
    assert (1 / drawn.sampling_probability).sum() == pytest.approx(2000)
    # Any part from the top holds about its share of every stratum.
    whole = np.bincount(drawn.stratum)
    assert (np.abs(np.bincount(drawn.stratum[:40], minlength=len(whole)) - whole / 3) <= 1).all()
    everything = select(ops, data["cal"], 2000)
    assert sorted(everything.row.tolist()) == list(range(2000))


def test_selection_refused(data: dict[str, Outputs]) -> None:
    ops, cal = data["ops"], data["cal"]
    for call, message in (
        (lambda: select(ops, cal, 2001), "from 1 to 2000"),
        (lambda: select(ops, cal, 0), "from 1 to 2000"),
        (lambda: select(Outputs(ops.logits, weights=np.ones(2000)), cal, 9), "has weights"),
        (lambda: select(Outputs(cal.logits), cal, 9), "300 operation inputs are calibration rows"),
        (lambda: select(Outputs(ops.logits, ids=np.zeros(2000)), cal, 9), "id occurs twice"),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("method", ["stratified_chernoff", "stratified_e_process"])
def test_coverage_of_select_then_certify(toy: Toy, method: str) -> None:
    """200 selections of 60 inputs, labels looked up, at 80 %; the truth is the accuracy on these operation inputs.

    Allowed misses: the 1 − 1e-4 quantile of Binomial(200, 0.2). Only the first 40 rows count as labelled, in
    every other draw.
    """
    rng = np.random.default_rng(5)
    cal, ops = toy.outputs(200, rng), toy.outputs(1500, rng)
    misses = 0
    for seed in range(200):
        rows = labelled(select(ops, cal, 60, n_strata=3, seed=seed), ops)
        n = 60 if seed % 2 else 40
        design = rows.design.first(n)
        misses += (
            METHODS[method].bound(in_strata(design, Evidence(seed=0)), rows.correct[:n], 0.8).value
            > ops.accuracy
        )
    assert misses <= binom.ppf(1 - 1e-4, 200, 0.2)


@pytest.mark.parametrize("right", [0, 1])
def test_all_right_and_all_wrong(right: int) -> None:
    made = certify(Labelled(np.full(50, right)), target=0.9)
    assert made.judge.value == pytest.approx(0.05 ** (1 / 50) if right else 0.0)
    assert any("no labelled row is right" in w for w in made.warnings) != bool(right)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 1.0}, "target"),
        ({"target": float("nan")}, "target"),
        ({"target": 0}, "target"),
        ({"target": 0.9, "confidence": 1.0}, "confidence"),
        ({"target": 0.9, "method": "magic"}, "method must be one of"),
        ({"target": 0.9, "method": "prediction_powered"}, "cannot judge: no unlabelled"),
        ({"target": 0.9, "method": "stratified_bootstrap"}, "plan --select"),
        ({"target": 0.9, "per_class": True}, "logits and labels"),
        ({"target": 0.9, "profile": [0.5, 0.5]}, "not only what is right|labels of the rows are not known"),
    ],
)
def test_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        certify(Labelled(np.ones(20)), **options)


def test_no_label_at_all(data: dict[str, Outputs]) -> None:
    with pytest.raises(InputError, match="no 'labels'"):
        certify(Outputs(data["ops"].logits), target=0.9)
    with pytest.raises(InputError, match="not empty"):
        Labelled(np.zeros(0))


def test_what_is_no_certificate() -> None:
    with pytest.raises(InputError, match="schema is 'x'"):
        Certificate.from_dict({"schema": "x"})
    with pytest.raises(InputError, match="lacks 'network': not a whole Certificate"):
        Certificate.from_dict({"schema": "infimum/certificate/2"})
