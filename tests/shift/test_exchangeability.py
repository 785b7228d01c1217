"""The two-sample test: its exact level by simulation, its power, and what it must not depend on."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from conftest_types import Toy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binom

from infimum import InputError, Outputs
from infimum.shift import Exchangeability, exchangeability
from infimum.shift import _two_sample as two_sample


@pytest.fixture
def few_frequencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is as exact with 16 random frequencies as with 128, and quicker."""
    monkeypatch.setattr(two_sample, "FREQUENCIES", 16)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.usefixtures("few_frequencies")
def test_level(toy: Toy) -> None:
    """Alike sets of 25 and 40 rows, 400 times, by 39 permutations: each test rejects in k of 40 cases, exactly.

    p ≤ 4/40 has probability 0.1 without ties, so the count lies between the 1e-4 and 1 − 1e-4 quantiles of
    Binomial(400, 0.1) but for a chance of 2e-4; Bonferroni's p ≤ 0.05 has probability at most 0.05.
    """
    found = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        cal, ops = (Outputs(toy.outputs(n, rng).logits) for n in (25, 40))
        found.append(exchangeability(cal, ops, level=0.05, permutations=39, seed=seed))
    low, high = binom.ppf([1e-4, 1 - 1e-4], 400, 0.1)
    assert low <= sum(e.p_classifier <= 0.1 for e in found) <= high
    assert low <= sum(e.p_confidence <= 0.1 for e in found) <= high
    assert sum(e.rejected for e in found) <= binom.ppf(1 - 1e-4, 400, 0.05)
    # 400 means of two halves: a chance classifier has AUC 0.5 ± about 0.1/√400.
    assert np.mean([e.auc for e in found]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.usefixtures("few_frequencies")
def test_power(toy: Toy) -> None:
    rng = np.random.default_rng(0)
    cal, ops = toy.outputs(400, rng), toy.outputs(600, rng)
    cal, same = Outputs(cal.logits), Outputs(ops.logits)
    often = np.bincount(ops.predicted).argmax()
    classes = Outputs(ops.logits[(ops.predicted != often) | (rng.random(600) < 0.4)])
    unsure = Outputs(ops.logits * 0.5)
    assert not exchangeability(cal, same).rejected
    for other in (classes, unsure):
        found = exchangeability(cal, other)
        assert found.rejected
        assert found.auc > 0.53
    assert exchangeability(cal, unsure).distance > 0.1


@pytest.mark.usefixtures("few_frequencies")
def test_a_shift_of_features_alone_is_seen(toy: Toy) -> None:
    rng = np.random.default_rng(1)
    cal, ops = toy.outputs(300, rng), toy.outputs(300, rng)
    moved = Outputs(ops.logits, features=ops.features + 0.7)
    assert exchangeability(cal, moved).rejected
    assert exchangeability(cal, moved).features
    blind = exchangeability(Outputs(cal.logits), moved)
    assert not blind.rejected
    assert not blind.features


def test_mnist_to_usps(shared_data: Path) -> None:
    """Distances to MNIST's class means as logits: USPS is seen to be other, more MNIST is not."""
    load = runpy.run_path(str(shared_data / "load.py"))["load"]
    images, labels = load("mnist", "test")
    mixed = np.random.default_rng(0).permutation(len(images))  # the second half of the file is harder
    images, labels = images[mixed], labels[mixed]
    x = images.reshape(len(images), -1) / 255.0
    means = np.stack([x[:5000][labels[:5000] == k].mean(axis=0) for k in range(10)])
    usps, _ = load("usps", "test")
    usps = np.kron(usps / 255.0, np.ones((1, 5, 5))).reshape(len(usps), 20, 4, 20, 4).mean(axis=(2, 4))
    usps = np.pad(usps, ((0, 0), (4, 4), (4, 4))).reshape(len(usps), -1)
    cal, more, other = (
        Outputs(z @ means.T - (means**2).sum(axis=1) / 2) for z in (x[5000:6000], x[6000:7000], usps[:1000])
    )
    assert not exchangeability(cal, more).rejected
    assert exchangeability(cal, other).auc > 0.75
    assert exchangeability(cal, other).p_value == 0.002


@settings(deadline=None)
@given(
    hnp.arrays(np.int8, st.integers(2, 30), elements=st.integers(-3, 3)),
    st.integers(1, 20),
)
def test_distance_is_that_of_kolmogorov_and_smirnov(values: np.ndarray, first: int) -> None:
    first = min(first, len(values) - 1)
    second = np.arange(len(values)) >= first
    contrasts = two_sample.contrasts(second, 3, seed=0)
    found = two_sample.distance_statistics(values.astype(float), contrasts)
    scale = first * (len(values) - first)
    np.testing.assert_array_equal(contrasts[0] < 0, second)
    for row, statistic in zip(contrasts, found, strict=True):
        ours, theirs = values[row > 0], values[row < 0]
        gaps = [abs((ours <= value).mean() - (theirs <= value).mean()) for value in range(-3, 4)]
        assert statistic / scale == pytest.approx(max(gaps), abs=1e-12)


def test_discriminant_is_refitted_for_every_permutation() -> None:
    """T by solving with the pooled covariance, the samples relabelled by hand."""
    rng = np.random.default_rng(0)
    block = rng.normal(size=(30, 3))
    x = two_sample.fourier_features([two_sample.Columns(30, 3, lambda which: block[:, which])], seed=0)
    second = np.arange(30) >= 12
    contrasts = two_sample.contrasts(second, 5, seed=0)
    pooled = x.T @ x / 30
    ridged = pooled + two_sample.RIDGE * np.trace(pooled) / len(pooled) * np.eye(len(pooled))
    for row, found in zip(contrasts, two_sample.discriminant_statistics(x, contrasts), strict=True):
        assert (row < 0).sum() == 18
        gap = x[row > 0].mean(axis=0) - x[row < 0].mean(axis=0)
        assert found / (12 * 18) ** 2 == pytest.approx(gap @ np.linalg.solve(ridged, gap), rel=1e-9)


@pytest.mark.usefixtures("few_frequencies")
def test_what_must_not_matter(toy: Toy) -> None:
    """Labels, a constant added to a row of logits, and probabilities instead of logits."""
    rng = np.random.default_rng(3)
    cal, ops = toy.outputs(60, rng), toy.outputs(80, rng)
    plain = exchangeability(Outputs(cal.logits), Outputs(ops.logits))
    assert exchangeability(Outputs(cal.logits, cal.labels), Outputs(ops.logits, ops.labels)) == plain
    p = np.exp(ops.logits) / np.exp(ops.logits).sum(axis=1, keepdims=True)
    for other in (Outputs(ops.logits + rng.normal(size=(80, 1))), Outputs.from_probabilities(p)):
        found = exchangeability(Outputs(cal.logits), other)
        assert found.p_value == plain.p_value
        assert found.auc == pytest.approx(plain.auc, abs=1e-3)


@pytest.mark.usefixtures("few_frequencies")
def test_weights_are_followed(toy: Toy) -> None:
    """An operation in which class 0 is four times too frequent, and weights that undo it."""
    rng = np.random.default_rng(4)
    cal, ops = toy.outputs(400, rng), toy.outputs(1500, rng)
    rare = (ops.predicted == 0) | (rng.random(1500) < 0.25)
    logits, often = ops.logits[rare], ops.predicted[rare] == 0
    assert exchangeability(Outputs(cal.logits), Outputs(logits)).rejected
    found = exchangeability(Outputs(cal.logits), Outputs(logits, weights=np.where(often, 0.25, 1.0)))
    assert not found.rejected
    assert found.n_operation < len(logits)


@pytest.mark.usefixtures("few_frequencies")
def test_rows_are_capped_and_seeded(toy: Toy) -> None:
    rng = np.random.default_rng(5)
    cal, ops = Outputs(toy.outputs(300, rng).logits), Outputs(toy.outputs(2500, rng).logits)
    found = exchangeability(cal, ops, max_rows=100, permutations=199)
    assert (found.n_calibration, found.n_operation) == (100, 100)
    assert exchangeability(cal, ops, max_rows=100, permutations=199) == found
    assert exchangeability(cal, ops, max_rows=100, permutations=199, seed=1) != found
    assert exchangeability(cal, ops).n_operation == 2000
    assert Exchangeability.from_dict(found.to_dict()) == found


def test_degenerate_sets_are_not_called_different() -> None:
    rows = np.tile([2.0, 1.0], (20, 1))
    same = exchangeability(Outputs(rows), Outputs(rows))
    assert (same.p_value, same.auc, same.distance) == (1.0, 0.5, 0.0)
    one = exchangeability(Outputs(rows[:1]), Outputs(np.array([[0.0, 5.0]])))
    assert one.p_value == 1.0
    assert one.auc is None
    huge = np.random.default_rng(0).normal(size=(20, 2)) * 1e299
    assert 0 < exchangeability(Outputs(rows, features=huge), Outputs(rows, features=huge)).p_value <= 1


def test_refused() -> None:
    two, three = Outputs(np.eye(2)), Outputs(np.eye(3))
    for call, message in (
        (lambda: exchangeability(two, three), "2 classes, operation has 3"),
        (lambda: exchangeability(two, two, level=0), "level"),
        (lambda: exchangeability(two, two, permutations=99), "use 200 or more"),
        (lambda: exchangeability(two, two, max_rows=0), "max_rows"),
        (lambda: exchangeability(two, two, seed=-1), "seed"),
    ):
        with pytest.raises(InputError, match=message):
            call()
