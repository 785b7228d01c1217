"""Exact power of Clopper–Pearson against every outcome added up; the saw-tooth; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import clopper_pearson
from infimum.bounds._clopper_pearson import binomial_lower
from infimum.certification._power import fewest_labels, power, sample_size


def brute(most: int, target: float, expected: float, confidence: float) -> np.ndarray:
    """Power of n = 1 … most: the probability of all k whose bound reaches the target."""
    found = []
    for n in range(1, most + 1):
        k = np.arange(n + 1)
        reached = binomial_lower(k, n, 1 - confidence) >= target
        found.append(binom.pmf(k[reached], n, expected).sum())
    return np.array(found)


@pytest.mark.parametrize(
    ("target", "expected", "confidence"),
    [
        (0.95, 0.99, 0.95),
        (0.9, 0.97, 0.9),
        (0.3, 0.6, 0.95),
        (0.8, 0.9, 0.99),
        (0.9, 1.0, 0.95),
        (0.05, 0.3, 0.5),
    ],
)
def test_power_is_exact(target: float, expected: float, confidence: float) -> None:
    most = 450
    exact = brute(most, target, expected, confidence)
    ours = power(np.arange(1, most + 1), target, expected, confidence)
    np.testing.assert_allclose(ours, exact, atol=1e-9)
    for success in (0.5, 0.8, 0.9):
        enough = exact >= success
        found = sample_size(success, target, expected, confidence)
        first = int(np.argmax(enough)) + 1
        always = int(np.flatnonzero(~enough)[-1]) + 2 if not enough.all() else 1
        if always < most - 100:  # else the brute search ends too early to know
            assert found == (first, always)


def test_saw_tooth() -> None:
    """With one label more the power may fall: the reason for two answers."""
    first, always = sample_size(0.9, 0.95, 0.99)
    assert first < always
    between = power(np.arange(first, always), 0.95, 0.99)
    assert between[0] >= 0.9
    assert between[-1] < 0.9
    assert (power(np.arange(always, 4 * always), 0.95, 0.99) >= 0.9).all()


def test_fewest_labels_is_where_the_bound_turns() -> None:
    for c, n in enumerate(fewest_labels(np.arange(30), 0.97, 0.95).tolist()):
        for size, met in ((n, True), (n - 1, False)):
            assert (clopper_pearson(np.arange(size) >= c).value >= 0.97) == met


def test_tight_plans_are_quick_and_closer_ones_refused() -> None:
    assert 80_000 < sample_size(0.9, 0.99, 0.991).always < 90_000
    with pytest.raises(InputError, match="so close"):
        sample_size(0.9, 0.99, 0.990001)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.9, 0.99, 0.98), "expected .* must be above target"),
        ((0.9, 0.99, 0.99), "expected .* must be above target"),
        ((0.9, 1.0, 0.99), "target"),
        ((0.9, 0.9, 1.2), "expected"),
        ((1.0, 0.9, 0.95), "success"),
        ((0.9, 0.9, 0.95, 1.0), "confidence"),
    ],
)
def test_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sample_size(*arguments)
