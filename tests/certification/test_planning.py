"""plan(): against the exact power and a simulation of the certificate itself; seeds, JSON, text, SVG, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest_types import Toy

from infimum import InputError, Outputs
from infimum.bounds import anytime
from infimum.certification._planning import SUCCESSES, Plan, plan
from infimum.certification._power import power, sample_size
from infimum.certification._rehearsal import World, moved, rehearsed, stopping_times
from infimum.report.power_curve import to_svg


@pytest.fixture(scope="module")
def data(toy: Toy) -> tuple[Outputs, Outputs]:
    rng = np.random.default_rng(0)
    return toy.outputs(400, rng), Outputs(toy.outputs(1500, rng).logits)


def test_exact_part() -> None:
    made = plan(target=0.95, expected=0.99)
    first = made.methods[0]
    for need, success in zip(first.needs, SUCCESSES, strict=True):
        assert (need.low, need.labels) == sample_size(success, 0.95, 0.99)
    np.testing.assert_allclose(first.power, power(np.array(first.n), 0.95, 0.99))
    assert [m.method for m in made.methods] == ["clopper_pearson", "anytime"]
    assert plan(target=0.95, expected=0.99) == made
    assert plan(target=0.95, expected=0.99, seed=1) != made


@pytest.mark.usefixtures("without_type_checks")
def test_stopping_times_are_those_of_the_certificate() -> None:
    """Share of runs that have stopped by n labels, against 300 runs of `anytime`: within 4 standard errors."""
    stops = stopping_times(0.9, 0.95, 0.96, 20_000, 4000, 0)
    rng = np.random.default_rng(1)
    for n in (60, 120, 250):
        share = np.mean([anytime(rng.random(n) < 0.96).value >= 0.9 for _ in range(300)])
        expected = (stops <= n).mean()
        assert 0.05 < expected < 0.95
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 300)
    assert (stopping_times(0.9, 0.95, 1.0, 10, 1000, 0) < 100).all()


def test_levels_moved() -> None:
    levels = np.array([0.0, 0.3, 0.9, 1.0])
    for mean in (0.2, 0.55, 0.99):
        rates = moved(levels, mean)
        assert rates.mean() == pytest.approx(mean)
        assert (np.diff(rates) > 0).all()
    assert (moved(levels, 1.0) == 1).all()


@pytest.mark.usefixtures("without_type_checks")
def test_rehearsal_of_useless_levels_gives_the_power_of_the_binomial() -> None:
    """One level for all: one stratum, whose Chernoff bound is Clopper–Pearson's, so its power is known exactly."""
    world = World(np.full(500, 0.9), 0.96)
    rows = {name: (ns, found) for name, ns, found in rehearsed(world, [100, 200], 0.9, 0.95, 400, 0)}
    ns, found = rows["stratified_chernoff"]
    for n, reached in zip(ns, found, strict=True):
        exact = float(power(n, 0.9, 0.96))
        assert abs(reached.mean() - exact) < 4 * np.sqrt(exact * (1 - exact) / 400)


@pytest.mark.usefixtures("without_type_checks")
def test_rehearsal_with_levels(monkeypatch: pytest.MonkeyPatch, data: tuple[Outputs, Outputs]) -> None:
    monkeypatch.setattr("infimum.certification._planning.DRAWS", 20)
    monkeypatch.setattr("infimum.certification._planning.POINTS", 4)
    cal, ops = data
    made = plan(target=0.6, expected=0.75, operation=ops, calibration=cal)
    names = [m.method for m in made.methods]
    assert names[2:4] == ["prediction_powered", "prediction_powered_betting"]
    assert "stratified_chernoff" in names
    for m in made.methods:
        assert (np.diff(m.power) >= 0).all() or m.exact  # the saw-tooth alone may fall
        for need in m.needs:
            if need.labels is not None and need.low is not None and need.high is not None:
                assert need.low <= need.labels <= need.high
    assert Plan.from_dict(json.loads(made.to_json())) == made
    text = made.summary()
    assert "prediction-powered (PPI++)*" in text
    assert "mean level" in text
    root = ElementTree.fromstring(to_svg(made))  # noqa: S314
    lines = [e for e in root.iter() if e.tag.endswith("polygon")]
    assert len(lines) == len(made.methods) - 1
    without = plan(target=0.3, operation=ops, calibration=cal)
    assert 0.3 < without.expected < 1


def test_what_is_not_simulated_or_reached_is_said() -> None:
    made = plan(target=0.5, expected=0.52)
    assert [m.method for m in made.methods] == ["clopper_pearson"]
    assert "not simulated" in made.summary()
    near = Plan.from_dict(made.to_dict())
    need = replace(near.methods[0].needs[0], labels=None)
    near = replace(near, methods=(replace(near.methods[0], needs=(need,)),))
    assert f"> {near.methods[0].n[-1]}" in near.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 0.9}, "expected is needed"),
        ({"target": 0.9, "expected": 0.9}, "must be above target"),
        ({"target": 0.9, "expected": 0.5}, "must be above target"),
        ({"target": 1.0, "expected": 0.5}, "target"),
        ({"target": 0.9, "expected": float("nan")}, "expected"),
        ({"target": 0.9, "expected": 0.95, "confidence": 1.0}, "confidence"),
        ({"target": 0.9, "expected": 0.95, "seed": -1}, "seed"),
        ({"target": 0.9, "expected": 0.95, "operation": Outputs(np.eye(2))}, "needed together"),
    ],
)
def test_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)


def test_foreign_json() -> None:
    for document, message in (
        ({"schema": "x"}, "schema is 'x'"),
        ({"schema": "infimum/plan/2"}, "not a whole Plan"),
    ):
        with pytest.raises(InputError, match=message):
            Plan.from_dict(document)
