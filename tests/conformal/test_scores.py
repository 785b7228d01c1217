"""The six scores against worked numbers, and their keys against 60 digits where float64 formulas fail."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from infimum import InputError
from infimum.conformal import APS, LAC, RAPS, SAPS, Margin, Score, TopK, calibrate, score_named
from infimum.conformal._scores import keys

# docs/method.md §2: figures on which TorchCP, MAPIE and puncc agree (penalty 0.1, u = 0.75).
P = np.array(
    [
        [0.5, 0.25, 0.15, 0.10],
        [0.4, 0.3, 0.2, 0.1],
        [0.1, 0.6, 0.2, 0.1],
        [0.05, 0.15, 0.3, 0.5],
        [0.25, 0.35, 0.3, 0.1],
        [0.7, 0.1, 0.15, 0.05],
    ]
)
Y = np.array([0, 1, 1, 2, 0, 3])


def score_values(score: Score, u: float) -> np.ndarray:
    """Calibration scores in their own units, one row at a time so that the order is kept."""
    values = []
    for p, y in zip(P, Y, strict=True):
        cal = calibrate(
            np.log([p, p]), np.array([y, y]), score=score, randomize=np.full(2, u) if u != 1 else False
        )
        values.append(score.value(cal.keys.real)[0])
    return np.array(values)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (RAPS(0.1, 1), [0.375, 0.725, 0.45, 0.825, 1.0375, 1.2875]),
        (RAPS(0.1, 2), [0.375, 0.625, 0.45, 0.725, 0.9375, 1.1875]),
        (APS(), [0.375, 0.625, 0.45, 0.725, 0.8375, 0.9875]),
    ],
)
def test_cross_check_with_other_packages(score: Score, expected: list[float]) -> None:
    np.testing.assert_allclose(score_values(score, 0.75), expected, atol=1e-14)


def naive(score: Score, p: np.ndarray, y: int, u: float) -> float:
    """The table of docs/method.md §2, letter by letter."""
    order = np.argsort(-p, kind="stable")
    o = int(np.flatnonzero(order == y)[0]) + 1
    rho = p[order[: o - 1]].sum()
    if isinstance(score, LAC):
        return 1 - p[y]
    if isinstance(score, APS):
        return rho + u * p[y]
    if isinstance(score, RAPS):
        return rho + u * p[y] + score.penalty * max(0, o - score.k_reg)
    if isinstance(score, SAPS):
        return u * p.max() if o == 1 else p.max() + (o - 2 + u) * score.weight
    if isinstance(score, TopK):
        return o - 1 + u
    return np.delete(p, y).max() - p[y]


@pytest.mark.parametrize("u", [1.0, 0.75, 0.0])
@pytest.mark.parametrize(
    "score", [LAC(), APS(), RAPS(0.1, 1), SAPS(0.2), TopK(), Margin()], ids=lambda s: s.name
)
def test_definition(score: Score, u: float) -> None:
    expected = [naive(score, p, y, u) for p, y in zip(P, Y, strict=True)]
    np.testing.assert_allclose(score_values(score, u), expected, atol=1e-14)


def exact_score(score: Score, p: list[Fraction], y: int) -> Fraction:
    """S(x, y), deterministic, in whole numbers, for two classes."""
    top = 0 if p[0] >= p[1] else 1
    rank = 1 if y == top else 2
    if isinstance(score, LAC):
        return 1 - p[y]
    if isinstance(score, APS | RAPS):
        penalty = Fraction(str(score.penalty)) * max(0, rank - score.k_reg) if isinstance(score, RAPS) else 0
        return (p[y] if rank == 1 else Fraction(1)) + penalty
    if isinstance(score, SAPS):
        return p[top] + (rank - 1) * Fraction(str(score.weight))
    return p[1 - y] - p[y]


@pytest.mark.parametrize("score", [LAC(), APS(), RAPS(0.01, 1), SAPS(0.2), Margin()], ids=lambda s: s.name)
def test_keys_keep_the_order_that_probabilities_lose(score: Score) -> None:
    """Odds of 2^k to 1 with k up to 300: from k = 54 on, float64 probabilities are 1 and most scores tie."""
    k = np.arange(0, 300, 3)
    z = np.stack([np.zeros(len(k)), -k * math.log(2)], axis=1)
    y = np.random.default_rng(1).integers(2, size=len(z))
    p = [[Fraction(2**e, 2**e + 1), Fraction(1, 2**e + 1)] for e in k.tolist()]
    cal = calibrate(z, y, score=score, randomize=False)
    exact = [exact_score(score, row, label) for row, label in zip(p, y.tolist(), strict=True)]
    counts = cal.p_value_counts(z)
    expected = [
        [1 + sum(e >= exact_score(score, row, label) for e in exact) for label in (0, 1)] for row in p
    ]
    np.testing.assert_array_equal(counts, expected)


def test_pairs_compare_as_exact_sums() -> None:
    rng = np.random.default_rng(2)
    fixed = rng.choice([0.0, 0.01, 0.02, 1.0], size=300)
    computed = -(10.0 ** rng.uniform(-40, 0, size=300))
    order = np.argsort(keys(fixed, computed), kind="stable")
    sums = [Fraction(float(fixed[i])) + Fraction(float(computed[i])) for i in order]
    assert sums == sorted(sums)


def test_scores_by_name() -> None:
    assert score_named("saps", weight=0.3) == SAPS(0.3)
    with pytest.raises(InputError, match="known are lac, aps"):
        score_named("thr")
    with pytest.raises(InputError, match="does not take"):
        score_named("lac", penalty=1)


@pytest.mark.parametrize(
    "make", [lambda: RAPS(-0.1), lambda: RAPS(math.nan), lambda: RAPS(k_reg=-1), lambda: SAPS(-1)]
)
def test_bad_parameters(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
