"""Tests and intervals of differences: against brute force, and their coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from conftest_types import Toy
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, t

from infimum import Outputs
from infimum.comparison._levels import levels_by
from infimum.comparison._statistics import (
    SIGN_SHARE,
    holm,
    mcnemar,
    paired_accuracies,
    paired_means,
    paired_weighted,
    unpaired_accuracies,
    unpaired_means,
)
from infimum.conformal import LAC, RAPS, calibrate

counts = st.integers(0, 60)


@given(counts, counts)
def test_mcnemar_is_the_binomial_test(a: int, b: int) -> None:
    expected = 1.0 if a + b == 0 else binomtest(a, a + b, 0.5).pvalue
    assert mcnemar(a, b) == pytest.approx(expected, abs=1e-12)
    assert mcnemar(a, b) == mcnemar(b, a)


@given(counts, counts, st.integers(0, 500), st.floats(1e-6, 0.5))
def test_the_interval_excludes_0_just_when_mcnemar_rejects(a: int, b: int, same: int, miss: float) -> None:
    n = a + b + same + 1
    found = paired_accuracies(a, b, n, miss)
    assert -1 <= found.low <= (a - b) / n + 1e-12
    assert (a - b) / n - 1e-12 <= found.high <= 1
    if abs(found.p - SIGN_SHARE * miss) > 1e-9:
        assert (found.low > 0 or found.high < 0) == (found.p < SIGN_SHARE * miss)
    mirrored = paired_accuracies(b, a, n, miss)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), abs=1e-12)


@pytest.mark.parametrize(("p_first", "p_second", "n"), [(0.02, 0.02, 150), (0.05, 0.02, 300), (0.3, 0.1, 40)])
def test_paired_intervals_cover_for_every_n(p_first: float, p_second: float, n: int) -> None:
    """Exactly, by summing over all counts: no simulation noise, no tolerance."""
    miss, covered, rejected = 0.1, 0.0, 0.0
    discordant = np.arange(n + 1)
    weight = binom.pmf(discordant, n, p_first + p_second)
    for d in discordant[weight > 1e-10].tolist():
        for a in range(d + 1):
            chance = weight[d] * binom.pmf(a, d, p_first / (p_first + p_second))
            if chance < 1e-12:
                continue
            low, high, p = paired_accuracies(a, d - a, n, miss)
            covered += chance * (low <= p_first - p_second <= high)
            rejected += chance * (p <= miss)
    assert covered >= 1 - miss - 1e-6
    if p_first == p_second:
        assert rejected <= miss + 1e-6


@pytest.mark.usefixtures("without_type_checks")
def test_unpaired_intervals_cover_however_the_networks_depend() -> None:
    """On the same inputs, errors that exclude one another are the worst case; then independent ones."""
    n, miss, rng = 200, 0.1, np.random.default_rng(0)
    exclusive = n - rng.multinomial(n, [0.05, 0.1, 0.85], 2000)[:, :2]
    independent = n - np.stack([rng.binomial(n, p, 2000) for p in (0.05, 0.1)], axis=1)
    for right in (exclusive, independent):
        pairs, times = np.unique(right, axis=0, return_counts=True)
        found = [unpaired_accuracies((int(a), int(b)), (n, n), miss) for a, b in pairs]
        covered = sum(k for f, k in zip(found, times, strict=True) if f.low <= 0.05 <= f.high) / 2000
        # 4 standard errors of 2,000 draws at coverage 0.9: 4 × sqrt(.09/2000) = 0.027.
        assert covered >= 1 - miss - 0.027


def test_unpaired_p_is_where_the_interval_begins_to_exclude_0() -> None:
    p = unpaired_accuracies((950, 900), (1000, 1000), 0.05).p
    assert 1e-6 < p < 0.05
    assert unpaired_accuracies((950, 900), (1000, 1000), p * 1.001).low > 0
    assert unpaired_accuracies((950, 900), (1000, 1000), p * 0.999).low <= 0
    assert unpaired_accuracies((90, 90), (100, 100), 0.05).p == 1.0
    assert unpaired_accuracies((10_000, 0), (10_000, 10_000), 0.05).p <= 1e-11


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p: list[float]) -> None:
    adjusted = holm(p)
    ordered = sorted(p)
    for value, own in zip(p, adjusted, strict=True):
        steps = [min(1.0, (len(p) - k) * ordered[k]) for k in range(len(p)) if ordered[k] <= value]
        assert own == pytest.approx(max(steps))
        assert own >= value


@pytest.mark.usefixtures("without_type_checks")
def test_differences_of_lambda_cover(toy: Toy) -> None:
    """Interval of λ_1 − λ_2, calibration and inputs drawn anew: a paired t from the inputs alone would miss.

    The truth is the mean over all draws, which itself is known to 1/20 of a draw's error.
    """
    rng, found, inputs_alone = np.random.default_rng(3), [], []
    values = []
    for seed in range(400):
        drawn = [toy.outputs(n, rng) for n in (120, 1500)]
        # The second network is the first with noise on its logits, so that the two are alike but differ.
        noisy = [Outputs(o.logits + rng.normal(size=o.logits.shape), o.labels) for o in drawn]
        a, b = (levels_by(*pair, RAPS(), True, seed) for pair in (drawn, noisy))
        values.append(a.value - b.value)
        found.append(paired_means((a.levels, b.levels), None, (a.exceeded, b.exceeded), 0.1)[:2])
        d = a.levels - b.levels
        half = t.isf(0.05, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
        inputs_alone.append((d.mean() - half, d.mean() + half))
    truth = np.mean(values)
    coverage = [np.mean([low <= truth <= high for low, high in i]) for i in (found, inputs_alone)]
    # 4 standard errors of 400 draws at 0.9: 0.06.
    assert abs(coverage[0] - 0.9) < 0.06, coverage
    assert coverage[1] < 0.8


def test_weighted_differences_cover() -> None:
    rng, covered = np.random.default_rng(1), []
    for _ in range(500):
        group = rng.random(600) < 0.5
        weights = np.where(group, 3.0, 1.0)
        first = rng.random(600) < np.where(group, 0.9, 0.7)
        second = rng.random(600) < np.where(group, 0.8, 0.7)
        low, high, _ = paired_weighted((first, second), weights, 0.1)
        covered.append(low <= 0.075 <= high)
    # 4 standard errors of 500 draws at 0.9: 0.054.
    assert abs(np.mean(covered) - 0.9) < 0.054


def test_standard_errors_that_add_up_bound_every_dependence() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(4000, 2))
    for correlation in (-1.0, 0.0, 0.9):
        second = correlation * noise[:, 0] + np.sqrt(1 - correlation**2) * noise[:, 1]
        difference = 0.02 * noise[:, 0] - 0.03 * second
        half = -unpaired_means(0.0, (0.02, 0.03), 0.1).low
        assert np.mean(np.abs(difference) <= half) >= 0.9 - 4 * np.sqrt(0.09 / 4000)


def test_no_spread_settles_nothing() -> None:
    one = np.ones(5)
    assert paired_means((one, one), None, (one, one), 0.05) == (0.0, 0.0, 1.0)
    assert paired_means((one, one * 0.5), None, (one, one), 0.05) == (-1.0, 1.0, 1.0)
    assert paired_means((one[:1], one[:1] * 0.5), None, (one, one), 0.05).p == 1.0


def test_exceeded_is_the_share_of_runners_up_above(toy: Toy) -> None:
    """G(s_i), by scoring every pair: 1 − λ is the mean over calibration rows and inputs (docs/method.md §3)."""
    rng = np.random.default_rng(5)
    cal, ops = toy.outputs(30, rng), toy.outputs(50, rng)
    found = levels_by(cal, ops, LAC(), False, 0)

    def scores(z: np.ndarray) -> np.ndarray:
        return np.array([[np.log(np.exp(np.delete(r, k) - r[k]).sum()) for k in range(len(r))] for r in z])

    own = scores(cal.logits)[np.arange(30), cal.labels]
    second = np.sort(scores(ops.logits), axis=1)[:, 1]
    np.testing.assert_allclose(found.exceeded, (second[None] > own[:, None]).mean(axis=1), atol=1e-12)
    made = calibrate(cal.logits, cal.labels, score=LAC())
    np.testing.assert_array_equal(found.levels, made.success_levels(ops.logits))
    assert found.value == pytest.approx(found.exceeded.sum() / 31)
