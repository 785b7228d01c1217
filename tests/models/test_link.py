"""How a layer's output became the network's: each way is told from the others, and a wrong layer from the right one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infimum.models._link import find_link


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


WAYS = {
    "same": lambda z: z,
    "softmax": softmax,
    "log-softmax": lambda z: np.log(softmax(z)),
}


@pytest.mark.parametrize("kind", WAYS)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1.0, 0.25, 3.0]), classes=st.integers(2, 9))
@settings(max_examples=40, deadline=None)
def test_way_and_temperature_are_found(kind, seed, scale, classes):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(6, classes)) * 3
    link = find_link(z, WAYS[kind](z * scale), 1e-9)
    assert link is not None
    assert link.kind == kind
    assert link.scale == pytest.approx(scale, rel=1e-6)
    weight, bias, x = rng.normal(size=(classes, 4)), rng.normal(size=classes), rng.normal(size=(5, 4))
    head = link.head(weight, bias, "fc")
    np.testing.assert_allclose(head.logits(x), link.logits(x @ weight.T + bias), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", WAYS)
def test_another_layer_is_not_taken(kind):
    rng = np.random.default_rng(0)
    z, other = rng.normal(size=(2, 6, 3))
    assert find_link(other, WAYS[kind](z), 1e-5) is None
    assert find_link(-z, WAYS[kind](z), 1e-5) is None  # no temperature is negative
    assert find_link(z, WAYS[kind](z + 1e-3 * other), 1e-5) is None


def test_saturated_probabilities_keep_the_logits():
    z = np.array([[800.0, 0.0, -800.0], [0.0, 900.0, 0.0]])
    link = find_link(z, softmax(z), 1e-9)
    assert link is not None
    np.testing.assert_array_equal(link.logits(z), z)


def test_single_output():
    z = np.array([[-2.0], [0.5], [700.0]])
    for output, kind in ((z, "same"), (1 / (1 + np.exp(-z)), "sigmoid")):
        link = find_link(z, output, 1e-9)
        assert link is not None
        assert link.kind == kind
        np.testing.assert_array_equal(link.logits(z), np.hstack([np.zeros_like(z), z]))


def test_numbers_that_are_not_finite_explain_nothing():
    assert find_link(np.array([[np.nan, 1.0]]), np.array([[np.nan, 1.0]]), 1e-5) is None
    assert find_link(np.zeros((0, 2)), np.zeros((0, 2)), 1e-5) is None
