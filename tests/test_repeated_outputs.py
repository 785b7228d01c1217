"""Every bound, test and gate on inputs that have 40 distinct outputs: they keep their level as on any others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from trees import truth, world

from infimum import Outputs
from infimum.bounds import (
    anytime,
    betting,
    class_profile,
    clopper_pearson,
    clopper_pearson_per_class,
)
from infimum.bounds._registry import METHODS, Evidence
from infimum.certification._candidates import in_strata
from infimum.certification._design import Design
from infimum.certification._selection import select
from infimum.shift import _two_sample as two_sample
from infimum.shift import exchangeability
from infimum.shift._measured import measured_beside
from infimum.testing import assert_reliable

DRAWS = 100


def most(draws: int = DRAWS, miss: float = 0.05) -> int:
    """Misses that are exceeded with probability 1e-4 where each has probability `miss` at most."""
    return int(binom.ppf(1 - 1e-4, draws, miss))


@pytest.mark.usefixtures("without_type_checks")
def test_bounds_on_labels_hold() -> None:
    misses = dict.fromkeys(("clopper_pearson", "anytime", "betting", "class_profile", "per_class"), 0)
    whole = world(200_000, 999)
    share = np.bincount(whole.labels) / len(whole)
    each = [whole.correct[whole.labels == k].mean() for k in range(2)]
    for seed in range(DRAWS):
        rows = world(150, seed)
        right = rows.correct
        misses["clopper_pearson"] += clopper_pearson(right).value > truth()
        misses["anytime"] += anytime(right).value > truth()
        misses["betting"] += betting(right.astype(float)).value > truth()
        # Of 200,000 inputs, the shares of classes and of right ones in them are known to a tenth of the bounds' gap.
        misses["class_profile"] += class_profile(right, rows.labels, share).value > truth() + 0.003
        per_class = clopper_pearson_per_class(right, rows.labels, 2)
        misses["per_class"] += any(b.value > e + 0.005 for b, e in zip(per_class, each, strict=True))
    assert all(count <= most() for count in misses.values()), misses


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("method", ["stratified_chernoff", "stratified_e_process", "stratified_bonferroni"])
def test_labels_drawn_in_strata(method: str) -> None:
    """Inputs of equal outputs share a stratum; the bound is for the success rate of the operation at hand."""
    draws, missed = 60, 0
    for seed in range(draws):
        cal, ops = world(200, seed), world(600, seed + 5000)
        drawn = select(Outputs(ops.logits), cal, 80, seed=seed)
        strata, at, stratum = np.unique(drawn.stratum, return_index=True, return_inverse=True)
        assert len(strata) > 1
        design = Design(stratum, drawn.stratum_weight[at])
        missed += (
            METHODS[method].bound(in_strata(design, Evidence(seed=seed)), ops.correct[drawn.row], 0.95).value
            > ops.accuracy
        )
    assert missed <= most(draws)


@pytest.mark.usefixtures("without_type_checks")
def test_the_test_of_likeness_keeps_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_sample, "FREQUENCIES", 16)
    rejected = sum(
        exchangeability(
            world(60, seed), Outputs(world(90, seed + 9000).logits), level=0.05, permutations=39, seed=seed
        ).rejected
        for seed in range(DRAWS)
    )
    assert rejected <= most()


@pytest.mark.usefixtures("without_type_checks")
def test_gates_keep_their_level() -> None:
    """A network at .001 below the target passes in 5 % of draws at most; labels of the operation reject in 1 %."""
    passed = contradicted = 0
    for seed in range(DRAWS):
        rows, ops = world(150, seed), world(300, seed + 9000)
        try:
            assert_reliable(rows, truth() + 0.001)
            passed += 1
        except AssertionError:
            pass
        right, others = rows.correct, ops.correct
        contradicted += measured_beside(int(others.sum()), 300, int(right.sum()), 150).rejected
    assert passed <= most()
    assert contradicted <= most(miss=0.01)
