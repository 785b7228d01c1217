"""Bounds of labels some of which are wrong: they hold whichever those are, and cost what docs/method.md §9 says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from infimum import InputError, Outputs, assess
from infimum.bounds import (
    anytime,
    anytime_sequence,
    clopper_pearson,
    confidence_floor_of_counts,
    marginal_conformal,
    marginal_conformal_of_counts,
)
from infimum.bounds._bound import LABELS_RIGHT
from infimum.bounds._label_errors import LabelErrors
from infimum.certification._certify import certify
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._sequence import Sequence
from infimum.conformal import Margin, calibrate
from infimum.testing import assert_reliable

RUNS = 2000
MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)
"""A bound at 95 % may miss in so many of the runs: three standard errors above 5 %."""


@pytest.mark.parametrize(
    ("given", "count", "rate"),
    [(None, 0, 0), (0, 0, 0), (1, 1, 0), ("1", 1, 0), (np.int64(7), 7, 0), (0.02, 0, 0.02), ("2%", 0, 0.02),
     ("0.5%", 0, 0.005), ("1e-3", 0, 0.001), (1e-5, 0, 1e-5), (0.0, 0, 0), ("0.0", 0, 0)],
)  # fmt: skip
def test_a_whole_number_is_a_count_and_a_share_is_a_rate(given: object, count: int, rate: float) -> None:
    assert LabelErrors.of(given) == LabelErrors(count, float(rate))


@pytest.mark.parametrize(
    "given",
    [
        1.0,
        "1.0",
        "100%",
        -1,
        "-1",
        -0.1,
        True,
        "five",
        "",
        "1/2",
        "1.2.3",
        [1],
        float("nan"),
        np.inf,
        "9" * 40,
    ],
)
def test_what_is_neither_is_refused(given: object) -> None:
    with pytest.raises(
        InputError, match="label_errors must be how many labels are wrong at most, as 5, or which"
    ) as e:
        LabelErrors.of(given)
    assert len(str(e.value)) < 500


def test_the_figures_of_the_method() -> None:
    """100 of 100 right, five labels wrong: Clopper–Pearson of 95 of 100, .8977, not .9705 − .05."""
    right = np.ones(100, dtype=bool)
    bound = clopper_pearson(right, label_errors=5)
    assert round(bound.value, 4) == 0.8977
    assert bound.value == clopper_pearson(np.arange(100) < 95).value
    assert bound.n == 100
    assert bound.assumptions[-1] == "at most 5 of the 100 labels are wrong"
    assert LABELS_RIGHT not in bound.assumptions
    assert bound.details == {"label_errors": 5, "uncorrected": clopper_pearson(right).value}
    assert bound.successes == 100  # as labelled
    rate = clopper_pearson(right, label_errors=0.05)
    assert rate.value == clopper_pearson(right).value - 0.05
    assert rate.assumptions[-1] == "a label is wrong with probability at most 0.05"
    assert clopper_pearson(right, label_errors=100).value == 0.0
    assert clopper_pearson(right[:9], label_errors=0.9).value == 0.0
    assert clopper_pearson(right, label_errors=0) == clopper_pearson(right)
    assert clopper_pearson(right).assumptions[-1] == LABELS_RIGHT


@pytest.mark.usefixtures("without_type_checks")
def test_anytime_has_that_many_fewer_at_every_time() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        right = rng.random(60) < 0.9
        k, n = np.maximum(0, np.cumsum(right) - 3), np.arange(1, 61)
        by_hand = max(float(_bound(int(a), int(b))) for a, b in zip(k, n, strict=True))
        assert anytime(right, label_errors=3).value == pytest.approx(by_hand, abs=1e-9)


def _bound(k: int, n: int) -> float:
    from infimum.bounds._anytime import bound_of_counts

    return float(bound_of_counts(k, n, 0.95))


def test_anytime_grows_with_every_answer_that_is_right() -> None:
    """What the proof needs, on all counts up to 60."""
    for n in (1, 5, 20, 60):
        values = [_bound(k, n) for k in range(n + 1)]
        assert (np.diff(values) >= -1e-9).all()


def _flipped(right: np.ndarray, j: int, rng: np.random.Generator, adversarial: bool) -> np.ndarray:
    """What is seen where j labels of the n are wrong: j wrong answers look right, or any j rows are turned."""
    seen = right.copy()
    if adversarial:
        seen[np.flatnonzero(~right)[:j]] = True
    else:
        rows = rng.choice(len(right), j, replace=False)
        seen[rows] = ~seen[rows]
    return seen


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("adversarial", [True, False])
@pytest.mark.parametrize("make", [clopper_pearson, anytime])
def test_bounds_hold_whichever_labels_are_wrong(make: object, adversarial: bool) -> None:
    """Success .9, 120 labels, 4 of them wrong. Uncorrected, wrong labels of the worst kind break the bound."""
    rng = np.random.default_rng(1)
    runs = RUNS if make is clopper_pearson else RUNS // 8
    missed, naive = 0, 0
    for _ in range(runs):
        seen = _flipped(rng.random(120) < 0.9, 4, rng, adversarial)
        missed += make(seen, label_errors=4).value > 0.9  # type: ignore[operator]
        naive += make(seen).value > 0.9  # type: ignore[operator]
    assert missed <= runs * (0.05 + 3 * np.sqrt(0.05 * 0.95 / runs))
    if adversarial and make is clopper_pearson:
        assert naive > 0.2 * runs


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("adversarial", [True, False])
def test_a_rate_holds_whichever_labels_are_wrong(adversarial: bool) -> None:
    """Success .9, labels wrong with probability .03: of wrong answers only (three in ten), or of any."""
    rng = np.random.default_rng(2)
    right = rng.random((RUNS, 150)) < 0.9
    turned = rng.random(right.shape) < (np.where(right, 0.0, 0.3) if adversarial else 0.03)
    seen = right ^ turned
    missed = np.mean([clopper_pearson(row, label_errors=0.03).value > 0.9 for row in seen])
    assert missed <= MOST
    if adversarial:
        assert np.mean([clopper_pearson(row).value > 0.9 for row in seen]) > 0.2


class Forest:
    """A network with 40 distinct outputs, as a tree's leaves: rows repeat, and the truth of each is known."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.logits = rng.normal(size=(40, 3)) * 2
        p = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        self.p = p / p.sum(axis=1, keepdims=True)
        self.success = float(self.p.max(axis=1).mean())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        leaf = rng.integers(0, 40, n)
        labels = (self.p[leaf].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        return self.logits[leaf], labels.clip(0, 2)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("world", ["forty outputs", "continuous"])
@pytest.mark.parametrize("worst", [True, False])
def test_conformal_bounds_hold_with_wrong_calibration_labels(world: str, worst: bool) -> None:
    """j = 10 of 200 labels: turned where they make answers look right (the scores small), or at random."""
    rng = np.random.default_rng(3)
    forest, missed, runs = Forest(rng), np.zeros(2), 200
    for _ in range(runs):
        z, y = forest.draw(200, rng)
        ops, _ = forest.draw(2000, rng)
        if world == "continuous":
            z, ops = z + rng.normal(size=z.shape) * 1e-3, ops + rng.normal(size=ops.shape) * 1e-3
        rows = np.flatnonzero(z.argmax(axis=1) != y)[:10] if worst else rng.choice(200, 10, replace=False)
        y[rows] = z[rows].argmax(axis=1) if worst else rng.integers(0, 3, 10)
        calibration = calibrate(z, y, score=Margin())
        bounds = [marginal_conformal(calibration, ops, label_errors=10)]
        counts = np.bincount(calibration.top_two(ops).count_second, minlength=202)
        bounds.append(confidence_floor_of_counts(counts, label_errors=10))
        missed += [bound.value > forest.success for bound in bounds]
    assert (missed <= runs * (0.05 + 3 * np.sqrt(0.05 * 0.95 / runs))).all()


def test_conformal_bounds_cost_what_the_proof_says() -> None:
    counts = np.array([0, 5000, *[0] * 1000])
    plain, less = (marginal_conformal_of_counts(counts, label_errors=j) for j in (0, 5))
    assert less.value < plain.value
    assert less.details["uncorrected"] == plain.value
    floor, lower = (confidence_floor_of_counts(counts, label_errors=j) for j in (0, 5))
    n = len(counts) - 2
    assert lower.details["eta"] == pytest.approx(floor.details["eta"] + 5 / n)
    assert lower.value == pytest.approx(floor.value - 5 / n)
    rate = marginal_conformal_of_counts(counts, label_errors="1%")
    assert rate.value == pytest.approx(plain.value - 0.01)


def labelled_world(n: int = 400) -> tuple[Outputs, Outputs, Outputs]:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 2 * n + 800)
    logits = 4 * np.eye(3)[labels] + rng.normal(size=(len(labels), 3)) * 1.5
    return (
        Outputs(logits[:n], labels[:n]),
        Outputs(logits[n : 2 * n], labels[n : 2 * n]),
        Outputs(logits[2 * n :]),
    )


def test_certify_corrects_every_bound_or_withholds_it() -> None:
    labelled, calibration, operation = labelled_world()
    data = {"operation": operation, "calibration": calibration}
    plain = {b.method: b.value for b in certify(labelled, target=0.9, **data).bounds}
    for errors, cost in (("2%", 0.02), (0.02, 0.02)):
        made = certify(labelled, target=0.9, label_errors=errors, **data)
        assert {b.method for b in made.bounds} == set(plain)
        for bound in made.bounds:
            assert bound.value == pytest.approx(max(0.0, plain[bound.method] - cost))
            assert "a label is wrong with probability at most 0.02" in bound.assumptions
    made = certify(labelled, target=0.9, label_errors=5, **data)
    assert {b.method for b in made.bounds} == {
        *("clopper_pearson", "anytime", "marginal_conformal", "confidence_floor")
    }
    assert all(b.value < plain[b.method] for b in made.bounds)
    assert "which labels are wrong is not known" in str(made.withheld["prediction_powered"])
    with pytest.raises(InputError, match="method prediction_powered cannot judge: which labels are wrong"):
        certify(labelled, target=0.9, label_errors=5, method="prediction_powered", **data)
    best = certify(labelled, target=0.9, label_errors=5, method="auto", **data).judge
    assert best.value <= clopper_pearson(labelled.correct, label_errors=5).value
    for options in ({"per_class": True}, {"profile": [0.5, 0.25, 0.25]}):
        with pytest.raises(InputError, match="a wrong label puts its row into another class"):
            certify(labelled, target=0.9, label_errors="1%", **options)


def test_the_corrected_bound_decides() -> None:
    rows = Labelled(np.ones(100, dtype=bool))
    assert certify(rows, target=0.95).target.met
    made = certify(rows, target=0.95, label_errors=5)
    assert not made.target.met
    assert made.target.by == "clopper_pearson"
    assert "at most 5 of the 100 labels are wrong." in " ".join(made.summary().split())
    assert "their labels are right" in " ".join(certify(rows, target=0.95).summary().split())


def test_strata_take_a_rate() -> None:
    rng = np.random.default_rng(0)
    stratum = np.repeat([0, 1], 100)
    rows = Labelled(
        rng.random(200) < np.where(stratum, 0.8, 0.99),
        design=Design(stratum, np.array([0.7, 0.3]), np.array([0.9, 0.8])),
    )
    plain, less = (certify(rows, target=0.8, label_errors=e) for e in (0, "1%"))
    assert [b.value for b in less.bounds] == pytest.approx([b.value - 0.01 for b in plain.bounds])
    with pytest.raises(InputError, match="which labels are wrong is not known"):
        certify(rows, target=0.8, label_errors=2)


def test_sequential_bounds_are_corrected_at_every_time() -> None:
    state = Sequence("network", target=0.9, confidence=0.95)
    for first in (0, 100):
        ids = np.arange(first, first + 100).astype(str)
        state = state.with_rows(Labelled(np.ones(100, dtype=bool), ids=ids))
    made = state.certificate(5)
    assert made.bounds[0].value == pytest.approx(_bound(195, 200), abs=1e-9)
    assert state.certificate("2%").bounds[0].value == pytest.approx(_bound(200, 200) - 0.02, abs=1e-9)
    assert anytime_sequence(np.ones(200))[-1] == pytest.approx(_bound(200, 200), abs=1e-9)


def test_assess_judges_by_the_corrected_bound() -> None:
    labelled, tuning, operation = labelled_world()
    plain = assess(labelled, operation, tuning=tuning, target=0.5)
    for errors, by_hand in ((9, clopper_pearson), ("1.5%", clopper_pearson)):
        made = assess(labelled, operation, tuning=tuning, target=0.5, label_errors=errors)
        correct = np.concatenate([labelled.correct, tuning.correct])
        assert replace(made.judge, judges=False) == by_hand(correct, label_errors=errors)
        assert all(
            ours.value < theirs.value for ours, theirs in zip(made.certified, plain.certified, strict=True)
        )
        assert made.lambda_ == plain.lambda_
    target = (made.certified[0].value + plain.certified[0].value) / 2
    assert plain.certified[0].value > target > made.certified[0].value
    assert not assess(labelled, operation, tuning=tuning, target=target, label_errors="1.5%").target.met
    with pytest.raises(InputError, match="cannot judge: which labels are wrong"):
        assess(labelled, operation, target=0.5, method="prediction_powered_betting", label_errors=1)
    powered = assess(labelled, operation, target=0.5, method="prediction_powered_betting", label_errors="1%")
    assert powered.certified[0].details["label_error_rate"] == 0.01


def test_assert_reliable_says_what_wrong_labels_cost() -> None:
    labels = np.arange(100) % 2
    outputs = Outputs(np.eye(2)[labels], labels)
    assert assert_reliable(outputs, 0.89, label_errors=5).value == pytest.approx(0.8977, abs=1e-4)
    with pytest.raises(AssertionError, match=r"labels may be wrong, which costs 0\.05"):
        assert_reliable(outputs, 0.9, label_errors=5)
    with pytest.raises(AssertionError, match="No number of labels would do"):
        assert_reliable(outputs, 0.97, label_errors="5%")
