"""Prediction-powered bounds: published numbers, coverage, and narrower than without the unlabelled inputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.bounds import betting, clopper_pearson, prediction_powered


def worked() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.arange(40), np.arange(400)
    correct = (i * 7) % 11 != 0
    labelled = np.clip(0.55 + 0.4 * np.sin(i) ** 2 - 0.2 * ~correct + 0.05 * correct, 0, 1)
    return correct, labelled, np.clip(0.6 + 0.4 * np.sin(0.37 * j) ** 2, 0, 1)


@pytest.mark.parametrize(
    ("confidence", "power", "expected"),
    [
        (0.95, 0, 0.82197774),
        (0.95, 1, 0.85531371),
        (0.95, 0.5, 0.84180974),
        (0.9, 0, 0.83921067),
        (0.9, 1, 0.87086292),
        (0.9, 0.5, 0.85750196),
    ],
)
def test_asymptotic_is_that_of_ppi_python(confidence: float, power: float, expected: float) -> None:
    """Numbers of ppi_mean_ci(..., alternative="larger") of ppi-python 0.2.3, the authors' package."""
    bound = prediction_powered(*worked(), confidence=confidence, power=power)
    assert bound.value == pytest.approx(expected, abs=1e-7)
    assert bound.validity == "asymptotic"


def test_power_tuning_is_that_of_ppi_python() -> None:
    """Its tuned interval is two-sided at this call, so 0.1 there is 0.05 here: .85497233 − .99559706 at alpha .1."""
    assert prediction_powered(*worked(), confidence=0.95).value == pytest.approx(0.85497233, abs=1e-7)
    assert prediction_powered(*worked(), confidence=0.975).value == pytest.approx(0.84150234, abs=1e-7)


def sample(k: float, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated levels 1 − u^k: success 1 − 1/(k + 1)."""
    level = 1 - rng.random(n + m) ** k
    return rng.random(n) < level[:n], level[:n], level[n:]


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("k", [1.5, 99])
@pytest.mark.parametrize("useful", [True, False])
def test_betting_covers(n: int, k: float, useful: bool) -> None:
    """At most 5 % of 200 runs miss, within the 1 − 1e-4 quantile of the binomial; useless levels are uniform."""
    rng = np.random.default_rng([n, int(k)])
    missed = 0
    for _ in range(200):
        correct, labelled, unlabelled = sample(k, n, 1000, rng)
        if not useful:
            labelled, unlabelled = rng.random(n), rng.random(1000)
        missed += prediction_powered(correct, labelled, unlabelled, method="betting").value > 1 - 1 / (k + 1)
    assert missed <= binom.ppf(1 - 1e-4, 200, 0.05)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("n", [20, 100])
def test_betting_covers_with_few_unlabelled(n: int) -> None:
    """As many unlabelled as labelled: the error of their mean counts in full."""
    rng = np.random.default_rng(n)
    missed = [
        prediction_powered(*sample(1, n, n, rng), method="betting", confidence=0.8).value > 0.5
        for _ in range(300)
    ]
    assert sum(missed) <= binom.ppf(1 - 1e-4, 300, 0.2)


@pytest.mark.usefixtures("without_type_checks")
def test_levels_that_tell_right_from_wrong_pay() -> None:
    """Mean gaps of 60 runs, n = 300: asymptotic below Clopper–Pearson's, betting below plain betting's."""
    rng = np.random.default_rng(8)
    gaps = []
    for _ in range(60):
        c, g, u = sample(8, 300, 5000, rng)
        bounds = (
            clopper_pearson(c),
            prediction_powered(c, g, u),
            betting(c),
            prediction_powered(c, g, u, method="betting"),
        )
        gaps.append([8 / 9 - b.value for b in bounds])
    exact, asymptotic, plain, powered = np.mean(gaps, axis=0)
    assert asymptotic < 0.8 * exact
    assert powered < 0.85 * plain


@pytest.mark.usefixtures("without_type_checks")
def test_asymptotic_misses_are_near_nominal_where_errors_are_many() -> None:
    """A loose check: 100 errors of 250 labels; it promises nothing, so three times the nominal rate is the limit."""
    rng = np.random.default_rng(4)
    missed = [prediction_powered(*sample(1.5, 250, 2000, rng)).value > 0.6 for _ in range(300)]
    assert 0 < np.mean(missed) < 0.15


def test_no_error_seen_never_gives_more_than_clopper_pearson() -> None:
    rng = np.random.default_rng(0)
    levels = rng.random(500)
    bound = prediction_powered(np.ones(20), levels[:20], levels[20:])
    assert bound.value <= clopper_pearson(np.ones(20)).value
    assert any("no error was seen" in text for text in bound.assumptions)


def test_power_zero_is_betting() -> None:
    """Without the levels what is left is betting at 98 % of the error."""
    c, g, u = worked()
    mine = prediction_powered(c, g, u, method="betting", power=0).value
    assert mine == pytest.approx(betting(c, 1 - 0.98 * 0.05).value, abs=1e-9)


def test_extremes_stay_inside() -> None:
    g = np.linspace(0, 1, 50)
    for method in ("asymptotic", "betting"):
        for c in (np.zeros(50), np.ones(50)):
            for levels in (g, np.zeros(50), np.ones(50)):
                value = prediction_powered(c, levels, levels, method=method).value
                assert 0 <= value < 1


def test_bad_input() -> None:
    c, g, u = worked()
    for args, kwargs, message in (
        ((c, g[:-1], u), {}, "predicted_labelled has 39"),
        ((c, g, u + 1), {}, "predicted_unlabelled: row 0"),
        ((c, g, []), {}, "predicted_unlabelled .* not empty"),
        (([], [], u), {}, "correct"),
        ((c + 1, g, u), {}, "correct"),
        ((c, g, u), {"power": 2}, "power"),
        ((c, g, u), {"confidence": 1.0}, "confidence"),
        ((c[:1], g[:1], u), {}, "two labels"),
    ):
        with pytest.raises(InputError, match=message):
            prediction_powered(*args, **kwargs)
