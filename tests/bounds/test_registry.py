"""One entry per method: what it says of itself is what its bounds say, and every other list is this one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from infimum.bounds._judges import JUDGES
from infimum.bounds._label_errors import LabelErrors
from infimum.bounds._registry import METHODS, SAMPLE, Evidence, needs
from infimum.report import wording

RNG = np.random.default_rng(0)
CORRECT = RNG.random(300) < 0.9
EVIDENCE = {
    "sample": Evidence(),
    "levels": Evidence(levels=RNG.random(300), unlabelled_levels=RNG.random(900)),
    "p_values": Evidence(runner_up=np.array([0, 800, 100, *[0] * 300])),
    "classes": Evidence(classes=np.arange(300) % 2, profile=[0.7, 0.3]),
    "strata": Evidence(
        stratum=np.arange(300) % 2, weights=np.array([0.7, 0.3]), rates=np.array([0.95, 0.8]), seed=1
    ),
}


def evidence_for(name: str) -> Evidence:
    """The evidence that meets the rarest need of the method."""
    return next(EVIDENCE[need] for need in reversed(EVIDENCE) if need in METHODS[name].needs)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_as_its_bounds_say(name: str) -> None:
    method, evidence = METHODS[name], evidence_for(name)
    assert method.needs <= evidence.at_hand
    bound = method.bound(evidence, CORRECT, 0.95)
    assert (bound.method, bound.validity, bound.judges) == (name, method.validity, False)
    assert bound.weighted == bool(method.needs & {"strata", "classes"})
    counted = "p_values" not in method.needs
    assert bound.successes == (CORRECT.sum() if counted else None)
    assert 0 < bound.value < (CORRECT.mean() if counted else 1)


@pytest.mark.parametrize("name", METHODS)
def test_wrong_labels_lower_a_bound_or_it_says_why_not(name: str) -> None:
    method, evidence = METHODS[name], evidence_for(name)
    right = method.bound(evidence, CORRECT, 0.95)
    for errors, corrected in (
        (LabelErrors(count=3), method.by_count),
        (LabelErrors(rate=0.01), method.by_rate),
    ):
        assert (method.why_not(errors) is None) == corrected
        if corrected:
            lower = method.bound(replace(evidence, label_errors=errors), CORRECT, 0.95)
            assert lower.value < right.value
            assert lower.successes == right.successes
    assert method.why_not(LabelErrors()) is None


@pytest.mark.parametrize("name", METHODS)
def test_inputs_drawn_in_another_way_do_not_do(name: str) -> None:
    drawn = METHODS[name].needs & {"sample", "classes", "strata"}
    assert len(drawn) <= 1
    for need, evidence in EVIDENCE.items():
        if need in ("classes", "strata") and drawn and need not in drawn:
            assert not METHODS[name].needs <= evidence.at_hand


def test_every_list_of_methods_is_this_one() -> None:
    assert set(JUDGES.kinds) == {name for name, method in METHODS.items() if method.judges_assessments}
    assert METHODS.keys() <= wording.METHODS.keys()
    assert not any(m.contends and m.validity == "asymptotic" for m in METHODS.values())
    assert needs("of my own") == SAMPLE
