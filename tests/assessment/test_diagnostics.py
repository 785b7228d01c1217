"""diagnose(): every figure against a slow, plain computation; bounded size; intervals that cover."""

from __future__ import annotations

import json
from functools import reduce
from itertools import pairwise
from operator import add
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infimum import InputError, Outputs
from infimum.assessment._diagnostics import Diagnostics, diagnose
from infimum.assessment._diagnostics.classes import runner_up
from infimum.assessment._diagnostics.collect import Collector
from infimum.assessment._diagnostics.proportions import binomial_interval
from infimum.assessment._diagnostics.records import MOST
from infimum.assessment._diagnostics.sums import KeyedSums
from infimum.conformal._success import level_by_code, level_codes


def outputs(n: int, n_classes: int, seed: int, **others: object) -> tuple[Outputs, np.ndarray]:
    """Outputs, and levels that rise with the margin, on a coarse grid so that there are ties."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    top = np.sort(logits, axis=1)
    levels = np.round(1 - np.exp(top[:, -2] - top[:, -1]), 2)
    return Outputs(logits, **{"labels": labels, **others}), levels


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 300), n_classes=st.integers(2, 6), seed=st.integers(0, 99), weighted=st.booleans())
@pytest.mark.usefixtures("without_type_checks")
def test_against_plain_computation(n: int, n_classes: int, seed: int, weighted: bool) -> None:
    weights = np.random.default_rng(seed + 1).integers(0, 4, n).astype(float) if weighted else np.ones(n)
    if not weights.any():
        weights[0] = 1.0
    ops, levels = outputs(n, n_classes, seed, **({"weights": weights} if weighted else {}))
    d = diagnose(ops, levels, target=0.83)
    kept = weights > 0
    w, x, right = weights[kept], levels[kept], ops.correct[kept]
    assert d.n == kept.sum()
    assert sum(b.share for b in d.levels) == pytest.approx(1)
    for b in d.levels:
        inside = (x >= b.low - 1e-9) & (x < b.high - 1e-9) | ((b.high == 1) & (x == 1))
        assert b.share == pytest.approx(w[inside].sum() / w.sum())
    assert sum(b.accuracy.n for b in d.reliability) == kept.sum()
    for b in d.reliability:
        inside = (x >= b.low - 1e-9) & (x < b.high - 1e-9) | ((b.high == 1) & (x == 1))
        assert b.accuracy.value == pytest.approx(np.average(right[inside], weights=w[inside]))
        assert b.level == pytest.approx(np.average(x[inside], weights=w[inside]))
    for point in d.risk_coverage:
        taken = x >= point.threshold
        assert point.coverage == pytest.approx(w[taken].sum() / w.sum())
        assert point.accuracy.value == pytest.approx(np.average(right[taken], weights=w[taken]))
        assert point.accuracy.n == taken.sum()
    assert d.risk_coverage[-1].coverage == pytest.approx(1)
    for wanted in d.wanted:
        reach = [t for t in np.unique(x) if np.average(right[x >= t], weights=w[x >= t]) >= wanted.wanted]
        assert (None if wanted.reached is None else wanted.reached.threshold) == (
            min(reach) if reach else None
        )
    assert 0.83 in [wanted.wanted for wanted in d.wanted]
    for c in d.classes:
        said, true = ops.predicted[kept] == c.index, ops.labels[kept] == c.index
        assert c.predicted == said.sum()
        if said.any():
            assert c.level == pytest.approx(np.average(x[said], weights=w[said]))
            assert c.precision.value == pytest.approx(np.average(right[said], weights=w[said]))
        if true.any():
            assert c.recall.value == pytest.approx(np.average(right[true], weights=w[true]))
        assert (c.level is None, c.recall is None) == (not said.any(), not true.any())
    assert [i.level for i in d.lowest] == sorted(x.tolist())[: len(d.lowest)]
    assert Diagnostics.from_dict(json.loads(json.dumps(d.to_dict(), allow_nan=False))) == d


def test_area_is_the_mean_risk_over_the_coverage() -> None:
    ops, levels = outputs(500, 3, 0)
    order = np.argsort(-levels, kind="stable")
    risk = np.cumsum(~ops.correct[order]) / np.arange(1, 501)
    # Inputs of one level are accepted together: each takes the risk at the end of its level.
    ends = np.array([np.flatnonzero(levels[order] == levels[i])[-1] for i in order])
    assert diagnose(ops, levels).aurc == pytest.approx(risk[ends].mean())


def test_slices_are_predicted_class_and_runner_up() -> None:
    ops, levels = outputs(2000, 3, 2, class_names=["a", "b", "c"])
    second = np.argsort(-ops.logits, axis=1)[:, 1]
    found = diagnose(ops, levels).slices
    assert len(found) == 6
    for s in found:
        rows = (ops.predicted == "abc".index(s.predicted)) & (second == "abc".index(s.runner_up))
        assert s.n == rows.sum()
        assert s.accuracy.value == pytest.approx(ops.correct[rows].mean())
        assert s.level == pytest.approx(levels[rows].mean())
    highs = [s.accuracy.high for s in found]
    assert highs == sorted(highs)


def test_without_labels_what_needs_them_is_empty() -> None:
    ops, levels = outputs(400, 3, 1, labels=None, ids=np.arange(400))
    d = diagnose(ops, levels)
    assert (d.labelled, d.reliability, d.risk_coverage, d.wanted, d.aurc) == (False, (), (), (), None)
    assert {b.correct for b in d.levels} == {None}
    assert all(s.accuracy is None for s in d.slices)
    assert d.lowest[0].id == str(d.lowest[0].row)
    assert d.lowest[0].label is None


def test_inputs_without_a_level_enter_no_figure() -> None:
    ops, levels = outputs(100, 3, 1)
    levels[:40] = np.nan
    d = diagnose(ops, levels)
    assert (d.n, d.undefined) == (60, 40)
    assert min(i.row for i in d.lowest) >= 40
    nothing = diagnose(ops, np.full(100, np.nan))
    assert (nothing.n, nothing.levels, nothing.lowest) == (0, (), ())


def test_all_correct_and_integer_logits() -> None:
    logits = np.array([[3, 1, 2]] * 30)
    d = diagnose(Outputs(logits, np.zeros(30, dtype=int)), np.full(30, 0.9))
    assert {b.incorrect for b in d.levels} == {None}
    assert d.aurc == 0
    assert d.classes[0].precision.high == 1
    assert [(s.predicted, s.runner_up) for s in d.slices] == [("0", "2")]


@pytest.mark.usefixtures("without_type_checks")
def test_size_is_bounded() -> None:
    n, n_classes = 20_000, 1500
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, n_classes)).astype(np.float32)
    names = [f"{k} " + "x" * 5000 for k in range(n_classes)]
    ops = Outputs(
        logits,
        rng.integers(0, n_classes, n),
        class_names=names,
        ids=np.array(["y" * 900 + str(i) for i in range(n)]),
    )
    d = diagnose(ops, rng.random(n), target=0.5)
    for part, most in MOST.items():
        assert len(getattr(d, part)) <= most
    assert len(d.classes) == 1000
    assert len(d.risk_coverage) > 150
    assert len(json.dumps(d.to_dict())) < 1_000_000
    long = d.to_dict()
    long["lowest"] = long["lowest"] * 2
    with pytest.raises(InputError, match="lowest has 40 entries"):
        Diagnostics.from_dict(long)


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (40, 0.93), (300, 0.995)])
def test_interval_covers(n: int, p: float) -> None:
    """2,000 draws. Clopper–Pearson covers at least .95: fewer than .95 − 4·√(.95·.05/2000) = .9305 would refute it."""
    k = np.random.default_rng(n).binomial(n, p, 2000).astype(float)
    low, high = binomial_interval(k, np.full(2000, float(n)))
    assert ((low <= p) & (p <= high)).mean() >= 0.9305
    # Neither side alone may miss more than .025 + 4·√(.025·.975/2000) = .039.
    assert (low > p).mean() <= 0.039
    assert (high < p).mean() <= 0.039


@settings(max_examples=40, deadline=None)
@given(
    n_classes=st.sampled_from([2, 5, 40]),
    cuts=st.lists(st.integers(0, 600), max_size=4),
    seed=st.integers(0, 99),
    empty=st.sampled_from(["argmax", "zero", "nan"]),
    step=st.sampled_from([None, "0.05"]),
    labelled=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@pytest.mark.usefixtures("without_type_checks")
def test_collectors_of_parts_add_up_to_the_whole(
    n_classes: int, cuts: list[int], seed: int, empty: str, step: str | None, labelled: bool, order: Random
) -> None:
    """The same bits however the rows are split, and in whatever order the parts are added."""
    n, calibration = 600, 30
    rng = np.random.default_rng(seed)
    ops, _ = outputs(n, n_classes, seed, **({} if labelled else {"labels": None}), ids=np.arange(n))
    top = rng.integers(1, calibration + 2, n)
    code = level_codes(top, rng.integers(1, top + 1), calibration, step, empty)
    table = level_by_code(calibration, step, empty)

    def of(start: int, stop: int) -> Collector:
        block = ops.taken(slice(start, stop)) if start < stop else None
        found = Collector(ops, table, calibration + 1 if step is None else 20)
        if block is not None:
            found.add(block, code[start:stop], block.predicted, None, start)
        return found

    edges = [0, *sorted(cuts), n]
    parts = [of(a, b) for a, b in pairwise(edges)]
    order.shuffle(parts)
    together = reduce(add, parts)
    assert together.diagnostics(target=0.8) == of(0, n).diagnostics(target=0.8)
    np.testing.assert_array_equal(together.levels.values, of(0, n).levels.values)


def test_collectors_of_different_things_are_not_added() -> None:
    ops, _ = outputs(20, 3, 0)
    of = Collector(ops, level_by_code(30), 31)
    for other in (
        Collector(ops, level_by_code(31), 32),
        Collector(ops, level_by_code(30, None, "nan"), 31),
        Collector(Outputs(ops.logits), level_by_code(30), 31),
        Collector(outputs(20, 4, 0)[0], level_by_code(30), 31),
    ):
        with pytest.raises(InputError, match="cannot be added"):
            of + other
    with pytest.raises(InputError, match="cannot be added"):
        KeyedSums(np.arange(2), 1) + KeyedSums(np.arange(2), 2)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 99), n_classes=st.sampled_from([2, 10, 32, 33, 300]))
def test_runner_up_is_the_second_of_a_stable_sort(seed: int, n_classes: int) -> None:
    logits = np.random.default_rng(seed).integers(0, 5, (200, n_classes)).astype(np.float32)  # many ties
    first, second = np.argsort(-logits, axis=1, kind="stable")[:, :2].T
    np.testing.assert_array_equal(runner_up(logits, first), second)
