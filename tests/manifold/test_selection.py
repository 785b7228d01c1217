"""`select_manifold`: what the rule keeps and drops, and how often it drops a manifold that is right."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest_types import Toy
from scipy.stats import multivariate_normal

from infimum import Head, InputError
from infimum.conformal import Calibration, LambdaSummary, calibrate
from infimum.head import HeadFunction
from infimum.manifold import (
    ManifoldChoice,
    fit_class_gaussians,
    fit_gmm,
    log_density,
    select_manifold,
)
from infimum.manifold import _selection as selection
from infimum.manifold._selection import CANDIDATES, DEFAULT, FAR, _Directions, _Trial
from infimum.report.selection import verdict


@pytest.fixture(autouse=True)
def fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "SAMPLES", 20_000)


@pytest.fixture(scope="module")
def calibration(toy: Toy) -> Calibration:
    labelled = toy.outputs(400, np.random.default_rng(7))
    return calibrate(labelled.logits, labelled.labels)


def trial(x: np.ndarray, head: Head, calibration: Calibration, seed: int = 0) -> _Trial:
    made = _Trial.of(x, head.logits(x), head, calibration, seed)
    assert isinstance(made, _Trial), made
    return made


def test_the_chosen_one_has_the_largest_likelihood_of_those_whose_lambda_passes(
    toy: Toy, calibration: Calibration
) -> None:
    x = toy.features(1500, np.random.default_rng(0))
    law, found = select_manifold(x, toy.head, calibration)
    assert [candidate.name for candidate in found.candidates] == list(CANDIDATES)
    assert found.n == 1500
    for c in found.candidates:
        far = abs(c.difference) > max(FAR, 2 * c.standard_error)
        assert c.passed == (not far and c.log_likelihood is not None)
    passed = {c.name: c.log_likelihood for c in found.candidates if c.passed}
    assert found.chosen == max(passed, key=passed.__getitem__)
    assert law.fit.n == 1500  # fitted again, to all
    # The toy's features are a mixture of four Gaussians: a Gaussian law must win.
    assert found.chosen in ("gmm", "class-gaussians full", "class-gaussians shrunk")
    assert "for λ itself the kernel was at least as good" in str(found.why)
    again, same = select_manifold(x, toy.head, calibration)
    assert same == found
    rngs = np.random.default_rng(1), np.random.default_rng(1)
    np.testing.assert_array_equal(law.sample(9, rngs[0]), again.sample(9, rngs[1]))
    assert ManifoldChoice.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_manifold_whose_lambda_is_off_is_dropped_though_its_likelihood_is_largest(
    toy: Toy, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Class Gaussians of features drawn together towards the class means are surer than the data are."""
    x = toy.features(1500, np.random.default_rng(0))

    def narrow(x: np.ndarray, y: np.ndarray, _: np.ndarray):
        means = np.stack([x[y == k].mean(axis=0) for k in range(4)])
        return fit_class_gaussians(means[y] + 0.8 * (x - means[y]), y)

    monkeypatch.setattr(selection, "CANDIDATES", {DEFAULT: CANDIDATES[DEFAULT], "tree": narrow})
    law, found = select_manifold(x, toy.head, calibration)
    kernel, tree = found.candidates
    assert tree.log_likelihood > kernel.log_likelihood
    assert verdict(tree).startswith("out: λ differs by more than 0.01")
    assert (found.chosen, law.fit.name) == (DEFAULT, "kernel")
    assert str(found.why) == "manifold auto took kernel: the only one that passed"
    monkeypatch.setattr(selection, "CANDIDATES", {DEFAULT: narrow})
    _, found = select_manifold(x, toy.head, calibration)
    assert found.chosen == DEFAULT
    assert str(found.why) == "manifold auto took kernel: the default, as no candidate passed"


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.slow
def test_a_right_manifold_is_seldom_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two Gaussian classes, kept apart, and their kernel: |λ − λ held out| ≤ 2 errors in 95 % of 300 draws.

    At 95.4 % fewer than 274 would be a chance of 0.001 (binomial); that two errors cover by so much is claimed of every
    efficient fit, and the error must not be far too wide either: the largest difference is at least 1 error (of 300
    draws, each beyond 1 error with a chance of 0.3, none at all would be a chance of 1e-46).
    """
    monkeypatch.setattr(selection, "SAMPLES", 8000)
    head = Head(np.array([[1.0, 0.3], [-1.0, -0.3]]))
    ratios: dict[str, list[float]] = {"kernel": [], "class-gaussians full": []}
    for seed in range(300):
        rng = np.random.default_rng([seed, 9])
        y = rng.integers(2, size=600)
        x = rng.normal(size=(600, 2)) * [0.7, 1.0] + np.where(y == 0, 2.0, -2.0)[:, None] * [1, 0.1]
        z = head.logits(x[:200])
        labels = (rng.random(200) > 1 / (1 + np.exp(z[:, 1] - z[:, 0]))).astype(int)
        made = trial(x[200:], head, calibrate(z, labels, seed=seed), seed)
        for name, found in ratios.items():
            candidate = made.judged(name)
            found.append(abs(candidate.difference) / candidate.standard_error)
    for found in ratios.values():
        assert (np.array(found) <= 2).sum() >= 274
    assert max(ratios["class-gaussians full"]) > 1


def test_held_out_lambda_is_that_of_all_features(toy: Toy, calibration: Calibration) -> None:
    x = toy.features(500, np.random.default_rng(0))
    made = trial(x, toy.head, calibration)
    assert sorted(np.bincount(made.fold)) == [125] * 4
    real = LambdaSummary(calibration.n)
    real.add(calibration.top_two(toy.head.logits(x)))
    assert made.real.value == real.value
    assert abs(made.judged("kernel").difference) < 0.01


def test_copies_are_held_out_together(toy: Toy, calibration: Calibration) -> None:
    """Else a density that peaks at the features would know the copies: the kernel would win by likelihood."""
    x = np.repeat(toy.features(300, np.random.default_rng(0)), 4, axis=0)
    made = trial(x, toy.head, calibration)
    assert (made.fold.reshape(300, 4) == made.fold[::4, None]).all()
    assert select_manifold(x, toy.head, calibration)[1].chosen != "kernel"


def test_directions_keep_what_softmax_reads(toy: Toy) -> None:
    """Unit variance, K − 1 of them, blind to what all logits share; and densities differ by a constant Jacobian."""
    x = toy.features(800, np.random.default_rng(0))
    z = toy.head.logits(x)
    made = _Directions.of(z)
    t = made.logits(z)
    assert t.shape == (800, 3)
    np.testing.assert_allclose(np.cov(t.T, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(t.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(made.logits(z + np.arange(800)[:, None]), t, atol=1e-9)
    np.testing.assert_allclose(made.behind(toy.head).logits(x), t, atol=1e-9)
    law = fit_class_gaussians(x, np.zeros(800))
    ours = log_density(law.push_forward(made.behind(toy.head)), t)
    np.testing.assert_allclose(
        ours, multivariate_normal(np.zeros(3), np.eye(3)).logpdf(t), atol=1e-6
    )  # one Gaussian in its own coordinates
    assert _Directions.of(np.ones((9, 4))) is None
    assert _Directions.of(np.arange(9.0)[:, None] + np.zeros((9, 4))) is None  # all logits rise together
    two = _Directions.of(np.random.default_rng(0).normal(size=(50, 2)))
    assert two.weight.shape == (1, 2)


def test_what_is_not_tried(toy: Toy, calibration: Calibration, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    few = toy.features(99, rng)
    bent = HeadFunction(toy.head.logits, 6, 4)
    for x, head, why in (
        (few, toy.head, "fewer than 100 different features"),
        (np.repeat(few, 5, axis=0), toy.head, "fewer than 100 different features"),
        (toy.features(200, rng), bent, "not linear"),
        (toy.features(200, rng), Head(np.zeros((4, 6))), "same logits"),
    ):
        law, found = select_manifold(x, head, calibration)
        assert (law.fit.name, law.fit.n, found.chosen, found.candidates) == ("kernel", len(x), "kernel", ())
        assert str(found.why).startswith("manifold auto took kernel: the default, untried: ")
        assert why in str(found.why)
    monkeypatch.setattr(selection, "DEAREST", 1000)
    gmm = select_manifold(toy.features(200, rng), toy.head, calibration)[1].candidates[-1]
    assert (gmm.passed, gmm.difference, verdict(gmm)[:9]) == (False, None, "not tried")


def test_many_features_are_tried_by_a_part(
    toy: Toy, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MOST", 300)
    law, found = select_manifold(toy.features(800, np.random.default_rng(0)), toy.head, calibration)
    assert (law.fit.n, found.n) == (800, 300)


def test_classes_of_fewer_points_than_directions_have_no_density() -> None:
    """Thirty classes of five points in 29 directions: only what leans on the pooled covariance has a density there."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(30, 30))
    labels = np.arange(300) % 30
    x = means[labels] + rng.normal(size=(300, 30))
    head = Head(means, -0.5 * (means**2).sum(axis=1))
    found = select_manifold(x[:150], head, calibrate(head.logits(x[150:]), labels[150:]))[1]
    verdicts = {c.name: verdict(c) for c in found.candidates}
    assert verdicts["class-gaussians shrunk"] == "passed"
    for name in ("kernel", "class-gaussians full", "tree"):
        assert verdicts[name] == "out: some held-out logits have no density"
    assert verdicts["kernel, bandwidth auto"].startswith(
        "not possible: bandwidth='auto' needs a predicted class"
    )


def test_one_predicted_class(toy: Toy, calibration: Calibration) -> None:
    sure = Head(toy.head.weight, np.array([1000.0, 0, 0, 0]))
    _, found = select_manifold(toy.features(300, np.random.default_rng(0)), sure, calibration)
    assert all(c.difference is not None for c in found.candidates)


def test_collapsed_mixtures_are_out(
    toy: Toy, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    def collapsed(x: np.ndarray, y: np.ndarray, _: np.ndarray):
        law = fit_gmm(x, y)
        return replace(law, fit=replace(law.fit, collapsed=True))

    monkeypatch.setattr(selection, "CANDIDATES", {"gmm": collapsed, DEFAULT: CANDIDATES[DEFAULT]})
    found = select_manifold(toy.features(400, np.random.default_rng(0)), toy.head, calibration)[1]
    assert verdict(found.candidates[0]) == "out: its components no longer stand for the classes"


def test_refused(toy: Toy, calibration: Calibration) -> None:
    x = toy.features(200, np.random.default_rng(0))
    broken = x.copy()
    broken[3, 1] = np.nan
    for features, head, message in (
        (broken, toy.head, "manifold features: row 3, column 1 is nan"),
        (x[:, :3], toy.head, "3 columns, expected 6"),
        (x, Head(np.ones((3, 6))), "head has 3 classes, the calibration 4"),
    ):
        with pytest.raises(InputError, match=message):
            select_manifold(features, head, calibration)
    with pytest.raises(InputError, match="seed"):
        select_manifold(x, toy.head, calibration, seed=-1)
