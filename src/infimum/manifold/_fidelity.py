"""Does the manifold look like the data? Samples against real features that it was not fitted to.

A check, not a choice: a manifold that repeats the real features always passes. Three figures, all on the logits:
λ on samples against λ on the held-out features, how well a classifier tells the two apart (Lopez-Paz and Oquab,
2017), and the log-likelihood of the held-out logits where the manifold has one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infimum._arrays import effective_number
from infimum._checks import Array, check_matrix, check_seed
from infimum._streams import Stream
from infimum.conformal import Calibration, LambdaSummary
from infimum.conformal._summary import calibration_error_of_difference
from infimum.errors import InputError
from infimum.head import AnyHead, Head
from infimum.io.ranges import Count, Probability
from infimum.io.records import Record
from infimum.manifold._density import log_density
from infimum.manifold._manifold import Manifold

SAMPLES = 100_000
COMPARED = 2000
"""Rows of each that the classifier sees, at most."""

FOLDS = 5

BINS = 50

MOST_CLASSES = 200
"""A density of K logits costs about K³ for every component."""


@dataclass(frozen=True)
class Fidelity(Record):
    """How near samples of a manifold come to real features.

    `difference` is λ on `n_samples` samples minus λ on `n_real` held-out features, `standard_error` its standard
    error: both samples, the features the manifold was fitted to, and what of the calibration does not cancel. `auc`
    is the chance that a classifier tells a sample from a real one (0.5: it cannot), `auc_error` its standard error
    when it cannot; `log_likelihood` the mean over held-out logits, in nats, None without a density or with more
    than 200 classes. `levels_samples` and `levels_real` are the shares of λ(x) in 50 bins of 0.02.
    """

    COMPUTED = ("difference",)

    manifold: str
    lambda_samples: Probability
    lambda_real: Probability
    standard_error: Probability
    auc: Probability | None
    auc_error: Probability | None
    log_likelihood: float | None
    n_samples: Count
    n_real: Count
    n_fitted: Count
    levels_samples: tuple[Probability, ...]
    levels_real: tuple[Probability, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("levels_samples", "levels_real"):
            if (n := len(getattr(self, name))) != BINS:
                raise InputError(f"Fidelity.{name} has {n} entries, {BINS} are expected")

    @property
    def difference(self) -> float:
        """λ on samples − λ on held-out features."""
        return self.lambda_samples - self.lambda_real


def fidelity(
    manifold: Manifold,
    head: AnyHead,
    calibration: Calibration,
    held_out: Float[np.ndarray, "m d"],
    samples: int = SAMPLES,
    seed: int = 0,
    weights: Float[np.ndarray, " m"] | None = None,
) -> Fidelity:
    """Compare a manifold with real features `held_out` (m, d) that it was not fitted to. Same seed, same result.

    With `weights` (m,) of the held-out features, what the manifold was fitted to is taken to be weighted alike, its
    rows worth as much each. An estimate, not a test: a difference of more than two standard errors is likely to be
    the manifold's. Raises InputError when the features do not fit the head, or no weight is above 0.

    >>> from infimum.conformal import calibrate
    >>> from infimum.manifold import fit_kernel
    >>> x = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = x.argmax(axis=1)
    >>> found = fidelity(fit_kernel(x[:300], y[:300]), Head(np.eye(2)), calibrate(x, y), x[300:], samples=2000)
    >>> abs(found.difference) < 4 * found.standard_error, 0.3 < found.auc < 0.7
    (True, True)
    """
    real = head.logits(check_matrix(held_out, "held_out", head.n_features))
    rows = len(real)
    if weights is not None:
        if not weights.any():
            raise InputError("the weights of the features held out are all 0")
        real, weights = real[weights > 0], weights[weights > 0]
    rng = Stream.FIDELITY.generator(check_seed(seed))
    law = manifold.push_forward(head) if isinstance(head, Head) else manifold
    summaries = LambdaSummary(calibration.n), LambdaSummary(calibration.n)
    summaries[1].add(calibration.top_two(real), weights)
    kept: list[Array] = []
    while summaries[0].n < samples:
        drawn = law.sample(min(20_000, samples - summaries[0].n), rng)
        logits = drawn if isinstance(head, Head) else head.logits(drawn)
        summaries[0].add(calibration.top_two(logits, None, summaries[0].n, "samples"))
        if not kept:
            kept.append(logits[: max(COMPARED, 1)])
    # Kish's number of the rows fitted to: as many to a row as of those held out.
    fitted = summaries[1].sampling_error * math.sqrt(rows / manifold.fit.n)
    auc, auc_error = _auc(kept[0], real[:COMPARED], seed, None if weights is None else weights[:COMPARED])
    has_density = isinstance(head, Head) and head.n_classes <= MOST_CLASSES
    densities = log_density(law, real) if has_density else None
    likelihood = None if densities is None else float(np.average(densities, weights=weights))
    return Fidelity(
        manifold=manifold.fit.name,
        lambda_samples=summaries[0].value,
        lambda_real=summaries[1].value,
        standard_error=math.hypot(
            calibration_error_of_difference(*summaries),
            summaries[0].sampling_error,
            summaries[1].sampling_error,
            fitted,
        ),
        auc=auc,
        auc_error=auc_error,
        log_likelihood=likelihood if likelihood is not None and math.isfinite(likelihood) else None,
        n_samples=summaries[0].n,
        n_real=len(real),
        n_fitted=manifold.fit.n,
        levels_samples=_shares(summaries[0]),
        levels_real=_shares(summaries[1]),
    )


def _shares(summary: LambdaSummary) -> tuple[float, ...]:
    levels, weight = summary.level_distribution()
    # 1 − k/(n+1) may round below the edge it lies on.
    counts, _ = np.histogram(np.minimum(levels + 1e-12, 1.0), BINS, (0.0, 1.0), weights=weight)
    return tuple((counts / weight.sum()).tolist())


def _auc(samples: Array, real: Array, seed: int, weights: Array | None) -> tuple[float | None, float | None]:
    """Cross-validated AUC of a logistic regression on log-probabilities, their squares and probabilities.

    The squares show spreads, the probabilities the share of unsure inputs. None with fewer than 2 × FOLDS rows.
    """
    from scipy.special import log_softmax
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    a, b = len(samples), len(real)
    if min(a, b) < 2 * FOLDS:
        return None, None
    ours = np.ones(b) if weights is None else weights / weights.mean()
    weight = np.concatenate([np.ones(a), ours])
    logs = np.maximum(log_softmax(np.concatenate([samples, real]).astype(np.float64), axis=1), -30.0)
    columns = np.concatenate([logs, logs**2, np.exp(logs)], axis=1)
    is_sample = np.arange(a + b) < a
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    scores = cross_val_predict(
        model,
        columns,
        is_sample,
        cv=folds,
        method="decision_function",
        params={"logisticregression__sample_weight": weight},
    )
    # Mann and Whitney: the variance of the AUC of two samples of one law; b by Kish's number.
    effective = float(effective_number(b, (ours**2).sum()))
    error = math.sqrt((a + effective + 1) / (12 * a * effective))
    return float(roc_auc_score(is_sample, scores, sample_weight=weight)), error
