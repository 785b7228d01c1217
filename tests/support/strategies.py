"""hypothesis strategies: logits full of ties, of tiny differences and of saturation."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from infimum.conformal import APS, LAC, RAPS, SAPS, Margin, TopK

scores = st.one_of(
    st.just(LAC()),
    st.just(APS()),
    st.builds(RAPS, st.sampled_from([0.0, 0.01, 0.1]), st.integers(0, 3)),
    st.builds(SAPS, st.sampled_from([0.0, 0.1, 0.25])),
    st.just(TopK()),
    st.just(Margin()),
)


@st.composite
def problems(draw: st.DrawFn) -> dict:
    """A calibration and an operation that share rows, with whole-number logits (ties) times some scale."""
    n_classes = draw(st.integers(2, 6))
    n, m = draw(st.integers(2, 25)), draw(st.integers(1, 12))
    scale = draw(st.sampled_from([1.0, 0.25, 7.3, 40.0]))
    whole = hnp.arrays(np.int8, (n + m, n_classes), elements=st.integers(-3, 3))
    rows = draw(whole).astype(np.float64) * scale
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    u = draw(hnp.arrays(np.float64, n + m, elements=st.sampled_from([0.0, 0.25, 0.5, 0.875, 1.0])))
    logits, operation = rows[:n], rows[n:].copy()
    shared = draw(st.integers(0, min(n, m)))
    operation[:shared] = logits[:shared]
    return {
        "logits": logits,
        "labels": labels,
        "score": draw(scores),
        "randomize": u[:n] if draw(st.booleans()) else False,
        "temperature": draw(st.sampled_from([1.0, 2.5])),
        "operation": operation,
        "u": u[n:],
    }
