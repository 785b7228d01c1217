"""Conservative Bayes: against brute-force search over priors, the posterior itself, worked numbers, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import conservative_bayes, conservative_confidence, conservative_pfd


def worst_over_priors(
    objective: np.ndarray, p: np.ndarray, n: int, k: int, p0: float, theta: float
) -> tuple[float, float]:
    """Least and largest Σ f L π / Σ L π over priors π on the grid p with π(p ≤ p0) = θ.

    A linear-fractional programme; as a linear one (Charnes and Cooper 1962) in y = τπ with Σ L y = 1. L is
    scaled by its maximum, so that the numbers are of order 1.
    """
    likelihood = binom.pmf(k, n, p)
    likelihood = likelihood / likelihood.max()
    inside = (p <= p0).astype(float)
    equal = np.vstack(
        [
            np.append(likelihood, 0.0),
            np.append(inside, -theta),
            np.append(1 - inside, -(1 - theta)),
        ]
    )
    ends = []
    for sign in (1, -1):
        found = linprog(
            np.append(sign * objective * likelihood, 0.0), A_eq=equal, b_eq=[1, 0, 0], method="highs"
        )
        assert found.status == 0
        ends.append(sign * found.fun)
    return ends[0], ends[1]


@pytest.mark.parametrize(
    ("n", "k", "p0", "theta", "low", "claim"),
    [
        (100, 0, 0.01, 0.6, 0.0, 0.03),
        (100, 0, 0.0, 0.3, 0.0, 0.02),
        (10, 0, 0.05, 0.9, 0.0, 0.05),
        (200, 1, 0.01, 0.8, 0.002, 0.03),
        (200, 3, 0.01, 0.8, 0.002, 0.012),
        (50, 1, 0.1, 0.5, 0.01, 0.2),
    ],
)
def test_confidence_is_the_worst_of_all_priors(
    n: int, k: int, p0: float, theta: float, low: float, claim: float
) -> None:
    """The grid holds the ends p_l, p0, k/n and points just above p0 and the claim, where the worst priors sit."""
    special = [low, p0, claim, k / n, p0 + 1e-7, claim + 1e-7]
    p = np.unique(np.clip(np.r_[np.linspace(low, 1, 401), special], low, 1))
    least, _ = worst_over_priors((p <= claim).astype(float), p, n, k, p0, theta)
    ours = conservative_confidence(claim, n, k, prior_bound=p0, prior_confidence=theta, lowest=low)
    assert ours == pytest.approx(least, abs=2e-5)


@pytest.mark.parametrize(
    ("n", "p0", "theta"), [(100, 0.01, 0.6), (100, 0.0, 0.3), (5, 0.2, 0.9), (1000, 1e-4, 0.9)]
)
def test_pfd_is_the_worst_posterior_mean(n: int, p0: float, theta: float) -> None:
    p = np.unique(np.r_[p0, np.geomspace(1e-6, 1, 3000)])
    _, most = worst_over_priors(p, p, n, 0, p0, theta)
    ours = conservative_pfd(n, prior_bound=p0, prior_confidence=theta)
    assert most <= ours * (1 + 1e-9)
    assert ours == pytest.approx(most, rel=1e-4)


@pytest.mark.parametrize(
    ("n", "k", "low"), [(3000, 0, 0.0), (3000, 1, 5e-5), (3000, 5, 5e-5), (10_000, 0, 0.0)]
)
def test_bound_inverts_the_confidence(n: int, k: int, low: float) -> None:
    prior = {"prior_bound": 1e-4, "prior_confidence": 0.7, "lowest": low}
    claim = 1 - conservative_bayes(n, k, confidence=0.95, **prior).value
    assert conservative_confidence(claim * (1 + 1e-6), n, k, **prior) >= 0.95
    assert conservative_confidence(claim * (1 - 1e-4), n, k, **prior) < 0.95


def test_closed_form_without_failures() -> None:
    n, p0, theta, c = 2000, 1e-3, 0.6, 0.99
    expected = 1 - (1 - p0) * (theta * (1 - c) / ((1 - theta) * c)) ** (1 / n)
    bound = conservative_bayes(n, prior_bound=p0, prior_confidence=theta, confidence=c)
    assert 1 - bound.value == pytest.approx(expected, rel=1e-9)
    assert (bound.method, bound.n) == ("conservative_bayes", n)
    assert "Pr(pfd ≤ 0.001) = 0.6 was believed" in bound.assumptions[0]


def test_posterior_holds_for_priors_that_fit() -> None:
    """200,000 systems from each of 20 random priors with Pr(pfd ≤ p0) = θ: of those that pass n demands without a
    failure, at least 95 % have a pfd within the claim.

    Tolerance: 4 binomial standard errors; the worst prior itself comes to 95 % within the same.
    """
    rng = np.random.default_rng(4)
    n, p0, theta = 500, 1e-3, 0.7
    claim = 1 - conservative_bayes(n, prior_bound=p0, prior_confidence=theta).value

    def share_within(good: np.ndarray, bad: np.ndarray) -> tuple[float, float]:
        pfd = np.where(rng.random(200_000) < theta, rng.choice(good, 200_000), rng.choice(bad, 200_000))
        passed = pfd[rng.binomial(n, pfd) == 0]
        return (passed <= claim).mean(), 4 * np.sqrt(0.05 * 0.95 / len(passed))

    for _ in range(20):
        within, tolerance = share_within(
            p0 * rng.random(5), p0 + (1 - p0) * rng.random(5) ** rng.integers(1, 9)
        )
        assert within >= 0.95 - tolerance
    within, tolerance = share_within(np.array([p0]), np.array([claim * (1 + 1e-9)]))
    assert within == pytest.approx(0.95, abs=tolerance)


def test_what_demands_cannot_change() -> None:
    prior = {"prior_bound": 1e-3, "prior_confidence": 0.99}
    # Believed more than asked for: the prior bound itself; no number of demands goes below it.
    assert conservative_bayes(10**6, **prior).value == pytest.approx(0.999)
    assert conservative_confidence(9e-4, 10**6, **prior) == 0.0
    assert conservative_bayes(0, prior_bound=1e-3, prior_confidence=0.5).value == 0.0
    assert conservative_confidence(1, 10, **prior) == 1.0
    assert conservative_bayes(7, 7, prior_bound=0.5, prior_confidence=0.5, lowest=0.1).value == 0.0
    assert conservative_pfd(0, prior_bound=0.1, prior_confidence=0.5) == pytest.approx(0.55)
    values = [conservative_pfd(n, **prior) for n in (0, 10, 1000, 10**5, 10**8)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_demands": -1}, "n_demands"),
        ({"n_demands": 2.5}, "n_demands"),
        ({"failures": 11}, "more failures"),
        ({"failures": 1}, "lowest must be above 0"),
        ({"prior_confidence": 1}, "prior_confidence"),
        ({"prior_bound": 1}, "prior_bound"),
        ({"prior_bound": "x"}, "prior_bound"),
        ({"lowest": 0.2}, "must not be above prior_bound"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")  # the error is the one that users see
def test_refused(arguments: dict, message: str) -> None:
    usual = {"n_demands": 10, "failures": 0, "prior_bound": 0.1, "prior_confidence": 0.5}
    with pytest.raises(InputError, match=message):
        conservative_bayes(**{**usual, **arguments})
