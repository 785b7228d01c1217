"""Gates: the target's level and the baseline's false alarms, by simulation; what failures say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import binom

from infimum import Assessment, InputError, Outputs, assess, clopper_pearson
from infimum.bounds._clopper_pearson import labels_needed, successes_needed
from infimum.gates._gates import Gate, alike_gate, baseline_gate, false_alarm, gates_of, target_gate
from infimum.testing import assert_reliable


def of(right: int, n: int, a: Assessment, confidence: float = 0.95, **others: object) -> Assessment:
    """The assessment with another certified bound."""
    bound = replace(clopper_pearson(np.arange(n) < right, confidence), judges=True)
    return replace(a, certified=(bound, *a.certified[1:]), **others)


@pytest.fixture(scope="module")
def a(toy: Toy) -> Assessment:
    rng = np.random.default_rng(1)
    return assess(toy.outputs(300, rng), toy.outputs(900, rng), target=0.9, name="toy")


def test_fewest_correct_and_labels_needed_by_brute_force() -> None:
    for n in (1, 7, 58, 59, 200):
        bounds = np.array([clopper_pearson(np.arange(n) < k).value for k in range(n + 1)])
        for at_least in (0.0, 0.5, 0.9, 0.95):
            enough = np.flatnonzero(bounds >= at_least)
            assert successes_needed(at_least, n, 0.05) == (int(enough[0]) if len(enough) else None)
    needed = labels_needed(0.9, 0.95)
    assert clopper_pearson(np.arange(2 * needed) < 1.9 * needed).value > 0.9
    # Of the numbers of labels at which the accuracy is exactly 0.95, the first that is enough is the next one.
    enough = [n for n in range(20, 2000, 20) if clopper_pearson(np.arange(n) < n * 0.95).value >= 0.9]
    assert enough[0] - 20 < needed <= enough[0]
    assert labels_needed(0.9, 0.9) is None
    assert labels_needed(0.9, 0.9 + 1e-9) is None


def test_the_baseline_gate_is_about_the_claim(a: Assessment) -> None:
    released = of(970, 1000, a)
    same = baseline_gate(of(970, 1000, a), released, 0)
    assert same.passed
    assert any("larger tolerance" in note for note in same.notes)
    fewer = baseline_gate(of(97, 100, a), released, 0.01)  # as accurate, but a tenth of the labels
    assert not fewer.passed
    assert any("does not show that the network is worse" in note for note in fewer.notes)
    assert baseline_gate(of(960, 1000, a), released, 0.02).passed
    old = released.certified[0].value
    exact = replace(a, certified=(replace(released.certified[0], value=old),))
    assert baseline_gate(exact, released, 0.0).passed
    with pytest.raises(InputError, match="clopper_pearson at 99 %, this one clopper_pearson at 95 %"):
        baseline_gate(of(970, 1000, a), of(970, 1000, a, 0.99), 0.01)
    with pytest.raises(InputError, match="tolerance"):
        baseline_gate(a, released, -0.1)


@pytest.mark.parametrize(("n", "tolerance"), [(500, 0.0), (1000, 0.01), (2000, 0.0)])
def test_false_alarms_are_as_often_as_said(a: Assessment, n: int, tolerance: float) -> None:
    released = of(970, 1000, a)
    said = false_alarm(released.certified[0], n, tolerance)
    right = np.random.default_rng(n).binomial(n, 0.97, 4000)
    values, times = np.unique(right, return_counts=True)
    failed = [not baseline_gate(of(int(k), n, a), released, tolerance).passed for k in values]
    # 4 standard errors of 4,000 draws.
    assert abs(np.dot(failed, times) / 4000 - said) <= 4 * np.sqrt(said * (1 - said) / 4000) + 1e-9


def test_too_few_labels_always_fail(a: Assessment) -> None:
    assert false_alarm(of(970, 1000, a).certified[0], 10, 0.0) == 1.0


def test_the_same_labels_are_told(a: Assessment) -> None:
    assert any("choose between versions" in note for note in baseline_gate(a, a, 0.01).notes)
    old = replace(a, provenance={"inputs": "nonsense"})
    assert not any("choose between versions" in note for note in baseline_gate(a, old, 0.01).notes)


def test_target_gate(a: Assessment) -> None:
    gate = target_gate(a)
    assert gate.passed == a.target.met
    assert target_gate(replace(a, target=None)) is None
    failed = target_gate(replace(of(90, 100, a), target=replace(a.target, value=0.95, met=False)))
    assert not failed.passed
    assert "more labels alone will not help" in failed.notes[0]
    assert [f["code"] for f in failed.to_dict()["beside"]] == ["labels-that-would-do"]
    assert Gate.from_dict(failed.to_dict()) == failed


def test_what_is_met_under_a_refuted_assumption_says_so(toy: Toy, a: Assessment) -> None:
    rng = np.random.default_rng(2)
    cal, ops = toy.outputs(300, rng), toy.outputs(900, rng)
    shifted = assess(cal, replace(ops, logits=ops.logits * 0.5), target=0.5, name="toy")
    assert shifted.exchangeability.rejected
    assert not a.exchangeability.rejected
    # No gate of the bound fails by it, but each says that the bound may not hold.
    target, baseline = gates_of(shifted, shifted, 0.01)
    assert target.passed
    assert baseline.passed
    assert all("alike, which a test REJECTS" in gate.message for gate in (target, baseline))
    assert not any("REJECTS" in gate.message for gate in gates_of(a, a, 0.01))
    *others, alike = gates_of(shifted, shifted, 0.01, require_alike=True)
    assert [gate.name for gate in others] == ["target", "baseline"]
    assert (alike.name, alike.passed) == ("alike", False)
    assert "NOT alike (p ≤ 0.002" in alike.message
    assert "label a random sample" in alike.notes[0]
    kept = alike_gate(a)
    assert (kept.passed, kept.notes) == (True, ())
    assert "no proof" in kept.message
    with pytest.raises(InputError, match="no test of whether"):
        alike_gate(replace(a, exchangeability=None))


def test_gates_of_a_bound_that_is_not_binomial(toy: Toy) -> None:
    """Nothing is known then of how many labels would do, nor of how often the gate would fail by chance."""
    rng = np.random.default_rng(3)
    unlabelled = replace(toy.outputs(900, rng), labels=None)
    powered = assess(toy.outputs(300, rng), unlabelled, target=0.999, method="prediction_powered_betting")
    target = target_gate(powered)
    assert not target.passed
    assert "prediction-powered, betting, 300 labelled" in target.message
    assert target.notes == ()
    lower = replace(powered.certified[0], value=powered.certified[0].value / 2)
    baseline = baseline_gate(replace(powered, certified=(lower,)), powered, 0.0)
    assert not baseline.passed
    assert "does not show that the network is worse" in baseline.notes[0]


def outputs(wrong: int, n: int, **others: object) -> Outputs:
    labels = np.arange(n) % 3
    return Outputs(np.eye(3)[np.where(np.arange(n) < wrong, (labels + 1) % 3, labels)], labels, **others)


def test_assert_reliable() -> None:
    good = outputs(1, 400)
    assert assert_reliable(good, at_least=0.98) == clopper_pearson(good.correct)
    with pytest.raises(AssertionError) as caught:
        assert_reliable(outputs(20, 500, name="cats\x1b[2J"), at_least=0.95)
    text = str(caught.value)
    assert text.startswith("cats\N{REPLACEMENT CHARACTER}[2J: with 95 % confidence at least 0.9424")
    assert "but 0.95 was asked for" in text
    assert "20 of 500 labelled inputs were wrong (accuracy 0.9600): about 1,332 labels" in text
    assert "Without any error, 59 labels would do." in text
    with pytest.raises(AssertionError, match="more labels alone will not help"):
        assert_reliable(outputs(40, 500), at_least=0.95)
    for bad, message in (
        (lambda: assert_reliable(replace(good, labels=None), 0.9), "no 'labels'"),
        (lambda: assert_reliable(replace(good, weights=np.ones(400)), 0.9), "weights"),
        (lambda: assert_reliable(good, 1.0), "at_least"),
        (lambda: assert_reliable(good, 0.9, confidence=0), "confidence"),
    ):
        with pytest.raises(InputError, match=message):
            bad()


def test_an_unreliable_network_rarely_passes() -> None:
    """Level of the assertion at its worst, a true accuracy of exactly `at_least`: exact, over all counts."""
    for n in (60, 100, 400):
        passed = 0.0
        for wrong in range(n + 1):
            try:
                assert_reliable(outputs(wrong, n), 0.95)
            except AssertionError:
                break
            passed += binom.pmf(wrong, n, 0.05)
        assert 0 < passed <= 0.05


def test_assert_reliable_on_inputs_unlike_the_operation(toy: Toy) -> None:
    rng = np.random.default_rng(4)
    labelled, ops = toy.outputs(400, rng, name="toy"), replace(toy.outputs(900, rng), labels=None)
    assert assert_reliable(labelled, 0.3, operation=ops) == assert_reliable(labelled, 0.3)
    with pytest.raises(
        AssertionError, match="toy: the labelled inputs are not like the operational ones"
    ) as caught:
        assert_reliable(labelled, 0.3, operation=replace(ops, logits=ops.logits * 0.5))
    assert "Every bound holds for inputs like the labelled ones" in str(caught.value)
    with pytest.raises(InputError, match="classes"):
        assert_reliable(labelled, 0.3, operation=outputs(0, 30))
