"""Σ w_c a_c from labels of other class shares: coverage, known special cases, tightness, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import class_profile, clopper_pearson_per_class

WORLDS = {
    "proportional": ([0.5, 0.3, 0.2], [100, 60, 40], [0.9, 0.95, 0.6]),
    "lopsided": ([0.9, 0.1], [40, 360], [0.97, 0.7]),
    "tiny class": ([0.5, 0.5], [200, 10], [0.9, 0.6]),
    "ten classes": ([0.46, *[0.06] * 9], [20] * 10, np.linspace(0.75, 0.99, 10)),
}


def rows(right: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labelled rows with these counts."""
    labels = np.repeat(np.arange(len(n)), n)
    start = np.cumsum(n) - n
    return np.arange(len(labels)) - start[labels] < right[labels], labels


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("world", WORLDS)
def test_misses_no_more_than_it_says(world: str) -> None:
    """300 draws at 80 %; allowed misses: the 1 − 1e-4 quantile of Binomial(300, 0.2).

    Nor is it empty talk: at least one draw in fifty comes within two standard deviations of the statistic.
    """
    profile, n, accuracy = (np.array(a) for a in WORLDS[world])
    truth = float(profile @ accuracy)
    rng = np.random.default_rng(7)
    values = np.array(
        [class_profile(*rows(rng.binomial(n, accuracy), n), profile, 0.8).value for _ in range(300)]
    )
    assert (values > truth).sum() <= binom.ppf(1 - 1e-4, 300, 0.2)
    spread = np.sqrt((profile**2 * accuracy * (1 - accuracy) / n).sum())
    assert (values > truth - 2 * spread).mean() > 0.02


def test_tighter_than_bounds_per_class() -> None:
    profile, n, accuracy = (np.array(a) for a in WORLDS["ten classes"])
    correct, labels = rows(np.round(n * accuracy).astype(int), n)
    per_class = sum(
        w * b.value for w, b in zip(profile, clopper_pearson_per_class(correct, labels, 10), strict=True)
    )
    assert class_profile(correct, labels, profile).value > per_class + 0.05


def test_proportional_labels_give_nearly_the_chernoff_bound_of_one_binomial() -> None:
    """With class shares equal to the profile the worst a are all equal (Hoeffding 1956): kl(k/n, v) = log(1/α)/n.

    The box can only raise the bound, and its share of α costs log(1/0.9)/n of the divergence.
    """
    correct, labels = rows(np.array([90, 57, 28]), np.array([100, 60, 40]))
    value = class_profile(correct, labels, [0.5, 0.3, 0.2]).value
    seen = correct.mean()

    def divergence(v: float) -> float:
        return seen * np.log(seen / v) + (1 - seen) * np.log((1 - seen) / (1 - v))

    assert divergence(value) <= np.log(1 / (0.9 * 0.05)) / 200 * (1 + 1e-6)
    assert divergence(value) > 0.5 * np.log(1 / 0.05) / 200


def test_all_correct_and_all_wrong() -> None:
    n = np.array([30, 30])
    right, labels = rows(n, n)
    # Both classes at v^30 each: v^60 = 0.045 at equal weights.
    assert class_profile(right, labels, [0.5, 0.5]).value == pytest.approx(0.045 ** (1 / 60), abs=2e-4)
    assert class_profile(~right, labels, [0.5, 0.5]).value == 0.0


def test_classes_without_labels_count_as_never_correct() -> None:
    correct, labels = np.ones(100, dtype=bool), np.zeros(100, dtype=int)
    bound = class_profile(correct, labels, [0.7, 0.3, 0.0])
    assert 0.6 < bound.value < 0.7
    assert bound.details["without_labels"] == pytest.approx(0.3)
    assert "class 1 of the profile (probability 0.3 in all)" in " ".join(bound.assumptions)
    assert class_profile(correct, labels, [0.0, 1.0]).value == 0.0


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ([0.5, 0.6], "sums to 1.1"),
        ([1.5, -0.5], "negative"),
        ([np.nan, 1], "not a finite number"),
        ([1.0], "2 or more classes"),
        ([[0.5, 0.5]], "2 or more classes"),
    ],
)
def test_bad_profile(profile: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        class_profile([1, 0], [0, 1], profile)
