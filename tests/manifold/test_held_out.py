"""Fidelity on features held out: no feature on both sides, what is refused, and that a bad manifold shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest_types import Toy

from infimum import Assessment, InputError, Outputs, Sampling, Stopping, assess
from infimum._checks import Array
from infimum.conformal import calibrate
from infimum.manifold import Fidelity, Manifold, fit_gmm, fit_kernel
from infimum.manifold import _held_out as held_out
from infimum.manifold._fidelity import fidelity
from infimum.manifold._held_out import HALF, drawn_by_weight, held_out_fidelity

STOP = Stopping("samples", max_samples=4000, batch=2000)


def test_no_feature_is_on_both_sides(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cal, features = toy.outputs(200, rng), toy.features(5000, rng)
    seen: list[np.ndarray] = []
    real = held_out.fidelity

    def fit(rows: Array) -> Manifold:
        seen.append(rows)
        return fit_kernel(rows, toy.head.logits(rows).argmax(axis=1))

    def look(law: Manifold, head: object, calibration: object, rows: Array, *others: Any) -> Fidelity:
        seen.append(rows)
        return real(law, head, calibration, rows, 2000, *others[1:])

    monkeypatch.setattr(held_out, "fidelity", look)
    conformal = calibrate(cal.logits, cal.labels)
    first = fit_kernel(features[:9], np.zeros(9)).fit
    for weights in (None, rng.random(5000) * (rng.random(5000) < 0.5)):
        seen.clear()
        found = held_out_fidelity(fit, first, features, weights, toy.head, conformal)
        ours, theirs = ({tuple(row) for row in rows} for rows in seen)
        assert not ours & theirs
        assert found.n_fitted == len(seen[0]) == len(seen[1]) == HALF
        positive = {tuple(row) for row in features[slice(None) if weights is None else weights > 0]}
        assert ours <= positive
        assert found.n_real == len(theirs & positive)


@pytest.mark.usefixtures("without_type_checks")
def test_weights_widen_the_standard_error(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of the features' own law, heavily weighted: ± 2 errors hold 0 in 95 % of 80 draws.

    Of 300 features in each half the weights leave some 30. Fewer than 68 of 80 would be a chance of 0.001 (binomial);
    features drawn by weight, copies as many independent ones, hold 0 in half of the draws, with an AUC ten errors up.
    The kernel itself, fitted to so few, is told from the features by one error on average; three are allowed.
    """
    monkeypatch.setattr(held_out, "SAMPLES", 3000)
    within, auc = 0, []
    for seed in range(80):
        rng = np.random.default_rng([seed, 3])
        cal, features = toy.outputs(200, rng), toy.features(600, rng)
        conformal = calibrate(cal.logits, cal.labels, seed=seed)
        weights = rng.gamma(0.1, size=600)
        first = fit_kernel(features, np.zeros(600)).fit
        found = held_out_fidelity(
            lambda rows: fit_kernel(rows, toy.head.logits(rows).argmax(axis=1)),
            first,
            features,
            weights,
            toy.head,
            conformal,
            seed,
        )
        within += abs(found.difference) <= 2 * found.standard_error
        auc.append((found.auc - 0.5) / found.auc_error)
    assert within >= 68
    assert abs(np.mean(auc)) < 3


def test_weights_all_alike_change_nothing(toy: Toy) -> None:
    rng = np.random.default_rng(1)
    cal, held = toy.outputs(100, rng), toy.features(200, rng)
    conformal, features = calibrate(cal.logits, cal.labels), toy.features(200, rng)
    law = fit_kernel(features, toy.head.logits(features).argmax(axis=1))
    plain = fidelity(law, toy.head, conformal, held, 2000)
    same = fidelity(law, toy.head, conformal, held, 2000, weights=np.full(200, 3.0))
    numbers = [np.hstack([v for k, v in f.to_dict().items() if k != "manifold"]) for f in (plain, same)]
    np.testing.assert_allclose(*numbers, rtol=1e-9)
    with pytest.raises(InputError, match="held out are all 0"):
        fidelity(law, toy.head, conformal, held, 2000, weights=np.zeros(200))


def test_drawn_by_weight_has_the_profile() -> None:
    """Systematic resampling: each row as often as its share of the weight says, rounded up or down."""
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 5.0], size=400)
    rows = np.random.default_rng(1).permutation(400)
    times = np.bincount(drawn_by_weight(rows, weights, seed=1), minlength=400)
    assert (np.abs(times - 400 * weights / weights.sum()) < 1).all()
    with pytest.raises(InputError, match="all 0"):
        drawn_by_weight(np.flatnonzero(weights == 0), weights, seed=1)


def test_slow_and_small_fits_are_refused(toy: Toy) -> None:
    rng = np.random.default_rng(0)
    cal, features = toy.outputs(200, rng), toy.features(99, rng)
    conformal = calibrate(cal.logits, cal.labels)
    fit = fit_kernel(features, toy.head.logits(features).argmax(axis=1)).fit

    def never(rows: Array) -> Manifold:
        raise AssertionError("fitted")

    with pytest.raises(InputError, match="too few"):
        held_out_fidelity(never, fit, features, None, toy.head, conformal)
    more = toy.features(400, rng)
    for slow in (replace(fit, name="flow"), replace(fit, name="gmm", covariance="full", n_features=2048)):
        with pytest.raises(InputError, match="take long"):
            held_out_fidelity(never, slow, more, None, toy.head, conformal)


def test_assessments_carry_it(toy: Toy) -> None:
    """In the JSON, in the text; of a single Gaussian for all classes it tells that samples are not like the data."""
    rng = np.random.default_rng(1)
    cal, ops = toy.outputs(300, rng), toy.outputs(1500, rng)
    good = assess(cal, ops, head=toy.head, sampling=Sampling(STOP))
    assert Assessment.from_dict(json.loads(good.to_json())) == good
    f = good.fidelity
    assert sum(f.levels_real) == pytest.approx(1)
    assert sum(f.levels_samples) == pytest.approx(1)
    assert abs(f.difference) < 4 * f.standard_error
    assert f"AUC {f.auc:.3f}" in " ".join(good.summary().split())
    bad = assess(cal, ops, head=toy.head, manifold="gmm:components=1", sampling=Sampling(STOP)).fidelity
    assert bad.auc > f.auc + 0.05
    d = good.to_dict()
    d["fidelity"]["levels_real"].pop()
    with pytest.raises(InputError, match="levels_real has 49"):
        Assessment.from_dict(d)
    few = assess(
        cal, Outputs(ops.logits[:60], features=ops.features[:60]), head=toy.head, sampling=Sampling(STOP)
    )
    assert few.fidelity is None
    assert any("not compared with features held out: 60 features" in note for note in few.notes)


def test_the_law_of_the_features_is_not_told_from_them(toy: Toy) -> None:
    """A manifold that is the features' own mixture, but for EM's error on 40,000: mean AUC of 20 draws near 0.5."""
    rng = np.random.default_rng(2)
    many = toy.features(40_000, rng)
    law, auc = fit_gmm(many, toy.head.logits(many).argmax(axis=1)), []

    def fit(_: Array) -> Manifold:
        return law

    for _ in range(20):
        cal, features = toy.outputs(100, rng), toy.features(600, rng)
        conformal = calibrate(cal.logits, cal.labels)
        found = held_out_fidelity(fit, fit(features).fit, features, None, toy.head, conformal)
        auc.append((found.auc - 0.5) / found.auc_error)
    assert abs(np.mean(auc)) < 4 / np.sqrt(20)  # four standard errors of the mean of 20 near-standard normals
