"""Where the warnings of an assessment begin: just above each limit there is one, just below there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from infimum import Head, Outputs, assess
from infimum.assessment import LambdaEstimate
from infimum.assessment._caveats import _samples, _wrong_head
from infimum.conformal import StandardError
from infimum.shift._findings import labels_contradict
from infimum.shift._measured import measured_beside


@pytest.mark.parametrize(("off", "told"), [(0.015, False), (0.03, True)])
def test_a_head_is_wrong_from_two_hundredths_of_the_logits_on(off: float, told: bool) -> None:
    """Logits 0 and -10: the largest is 10 away, so that 0.02 · (1 + 10) = 0.22 is what rounding may explain."""
    features = np.zeros((5, 2))
    logits = np.tile([0.0, -10.0], (5, 1))
    head = Head(np.eye(2), np.array([0.0, -10.0 - off * 11]))
    finding = _wrong_head(Outputs(logits, features=features), head)
    assert (finding is not None) == told


def estimate(value: float, sampling: float, source: str, manifold: float = 0.0) -> LambdaEstimate:
    error = StandardError(calibration=0.0, sampling=sampling, manifold=manifold)
    return LambdaEstimate(
        value=value,
        standard_error=error,
        source=source,  # type: ignore[arg-type]
        n=1000,
        effective_n=1000.0,
        never_singleton=0.0,
    )


@pytest.mark.parametrize(("sigmas", "told"), [(2.5, False), (3.5, True)])
def test_samples_are_far_from_three_standard_errors_on(sigmas: float, told: bool) -> None:
    """With manifold data, three standard errors of the difference (here 0.01 each of two: √2 · 0.01)."""
    gap = sigmas * np.sqrt(2) * 0.01
    found = _samples(estimate(0.5 + gap, 0.01, "manifold"), estimate(0.5, 0.01, "operation"), 0.5, False)
    assert ([f.code for f in found] == ["samples-far"]) == told


def test_labels_contradict_at_one_hundredth() -> None:
    """The number written here, not the constant: Fisher's exact p-value on both sides of 0.01."""
    p_values = {right: float(hypergeom.cdf(right, 200, 95 + right, 100)) for right in range(60, 96)}
    told = {right: labels_contradict(measured_beside(right, 100, 95, 100)) is not None for right in p_values}
    assert any(0.01 < p <= 0.05 for p in p_values.values())
    assert told == {right: p <= 0.01 for right, p in p_values.items()}


def test_a_p_value_is_a_probability_in_every_record() -> None:
    from infimum.errors import InputError
    from infimum.shift import Exchangeability

    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 3))
    found = assess(Outputs(z[:200], z[:200].argmax(axis=1)), Outputs(z[200:])).exchangeability
    assert found is not None
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(InputError, match="p_value"):
            Exchangeability.from_dict({**found.to_dict(), "p_value": wrong})
