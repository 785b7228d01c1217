"""What marginal coverage alone says: Success(f) ≥ Pr(p_(2)(X) ≤ ε) − ε for every ε (METHOD §5)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from infimum.bounds.base import Estimate


def marginal_conformal_estimate(p_second: Float[np.ndarray, " bins"]) -> Estimate:
    """Plug-in value of sup_ε Pr(p_(2) ≤ ε) − ε, not certified.

    `p_second` is the share of the unlabelled inputs with (n+1)p_(2) = 0, 1, …, n+1
    (`LambdaSummary.p_second_distribution`). An error with p_(2) ≤ ε implies p_Y ≤ ε, of probability at most ε.

    >>> import numpy as np
    >>> marginal_conformal_estimate(np.array([0.0, 0.9, 0.1, 0.0, 0.0])).value
    0.65
    """
    n = len(p_second) - 2
    error = np.arange(n + 2) / (n + 1)
    gain = np.cumsum(p_second) - error
    best = int(np.argmax(gain))
    return Estimate(
        value=max(0.0, float(gain[best])),
        method="marginal_conformal",
        note=f"point estimate of a bound that needs only marginal coverage, at error level {error[best]:.4g}; "
        "the finite numbers of calibration and operation inputs are not allowed for",
    )
