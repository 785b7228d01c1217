"""Labels of the operation that contradict the bound on the labelled inputs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from infimum import Assessment, Outputs, assess
from infimum.gates._gates import alike_gate, target_gate
from infimum.report.html import to_html
from infimum.shift._measured import LEVEL, measured_beside
from infimum.testing import assert_reliable


@pytest.fixture
def logits_and_labels() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 1500)
    return 5 * np.eye(4)[labels] + rng.normal(size=(1500, 4)), labels


@pytest.fixture
def contradicted(logits_and_labels: tuple[np.ndarray, np.ndarray]) -> Assessment:
    """The same inputs, but a third of the operation's labels are others: no test without labels can see it."""
    logits, labels = logits_and_labels
    wrong = np.where(np.arange(1500) % 3 == 0, (labels + 1) % 4, labels)
    return assess(
        Outputs(logits[:500], labels[:500]), Outputs(logits[500:], wrong[500:]), target=0.9, name="x"
    )


def test_the_p_value_is_that_of_fishers_test() -> None:
    found = measured_beside(170, 200, 280, 300)
    assert found.p_value == pytest.approx(fisher_exact([[170, 30], [280, 20]], "less").pvalue)
    assert (found.operation, found.labelled) == (0.85, 280 / 300)


def test_alike_inputs_are_contradicted_at_most_at_the_level() -> None:
    rng = np.random.default_rng(1)
    right = rng.binomial([200, 400], 0.9, (500, 2))
    found = sum(measured_beside(m, 400, k, 200).rejected for k, m in right.tolist())
    assert found <= binom.ppf(1 - 1e-4, 500, LEVEL)


def test_labels_that_contradict_the_bound_are_said_wherever_the_bound_is(contradicted: Assessment) -> None:
    a = contradicted
    assert a.target.met
    assert not a.exchangeability.rejected
    assert "which a test of their labels REJECTS (p < 0.0001)" in a.certified[0].assumptions[-1]
    assert "Target 0.9: met, but only if" in " ".join(a.summary().split())
    assert "the bound does not hold for this operation" in a.warnings[0]
    assert 'class="verdict doubt"' in to_html(a)
    assert "which a test REJECTS" in target_gate(a).message
    gate = alike_gate(a)
    assert not gate.passed
    assert "the accuracy of the operation (0.66" in gate.message
    assert Assessment.from_dict(json.loads(a.to_json())) == a


def test_labels_that_agree_are_no_matter(logits_and_labels: tuple[np.ndarray, np.ndarray]) -> None:
    logits, labels = logits_and_labels
    a = assess(Outputs(logits[:500], labels[:500]), Outputs(logits[500:], labels[500:]), target=0.9)
    assert not a.measured.rejected
    assert "REJECTS" not in a.summary()
    assert alike_gate(a).passed


def test_assert_reliable_reads_labels_of_the_operation(
    logits_and_labels: tuple[np.ndarray, np.ndarray],
) -> None:
    logits, labels = logits_and_labels
    cal = Outputs(logits[:500], labels[:500])
    wrong = np.where(np.arange(1000) % 3 == 0, (labels[500:] + 1) % 4, labels[500:])
    with pytest.raises(AssertionError, match=r"accuracy of the operation \(0.66"):
        assert_reliable(cal, 0.9, operation=Outputs(logits[500:], wrong))
    assert_reliable(cal, 0.9, operation=Outputs(logits[500:], labels[500:]))
    assert_reliable(cal, 0.9, operation=Outputs(logits[500:]))


def test_nothing_is_compared_without_what_it_takes(
    logits_and_labels: tuple[np.ndarray, np.ndarray],
) -> None:
    logits, labels = logits_and_labels
    cal = Outputs(logits[:500], labels[:500], ids=np.arange(500))
    assert assess(cal, Outputs(logits[500:])).measured is None
    weighted = Outputs(logits[500:], labels[500:], weights=np.ones(1000))
    assert assess(cal, weighted).measured is None
    # Rows that are labelled ones too are compared once.
    both = assess(cal, Outputs(logits, labels, ids=np.arange(1500)))
    assert both.measured.operation == np.mean(logits[500:].argmax(axis=1) == labels[500:])
    assert both.success.n == 1500
    assert assess(cal, cal).measured is None
