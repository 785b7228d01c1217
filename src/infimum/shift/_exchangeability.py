"""Are calibration and operation alike? Every guarantee needs it; a two-sample test can refute it, never prove it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, Real, check_seed, exact_fraction
from infimum._streams import Stream
from infimum.conformal._ranking import CHUNK, top_two
from infimum.errors import InputError
from infimum.identity.rows import Identity
from infimum.identity.shared import unlabelled_rows
from infimum.io.ranges import Confidence, Count, Probability, Size
from infimum.io.records import Record
from infimum.outputs._outputs import Outputs, check_one_network
from infimum.shift import _two_sample as two_sample

ROWS = 2000
"""Rows of each set that are compared at most: a difference that they do not show is small."""

PERMUTATIONS = 999

LEAST_LOG = -30.0
"""Log-probabilities below this say no more than this: probabilities from files are clipped in other places."""


@dataclass(frozen=True)
class Exchangeability(Record):
    """What the two-sample test of calibration against operation found.

    `p_value`: Bonferroni's of `p_classifier` and `p_confidence`, in (0, 1]; `rejected` when it is at most
    `level`. Effects: `auc`, how well a classifier tells an operation input from a calibration input (0.5: not
    at all; None with too few rows), and `distance`, the Kolmogorov–Smirnov distance of the confidences (0: none).
    """

    COMPUTED = ("rejected",)

    p_value: Probability
    p_classifier: Probability
    p_confidence: Probability
    auc: Probability | None
    distance: Probability
    n_calibration: Count
    n_operation: Count
    features: bool
    permutations: Size
    level: Confidence

    @property
    def rejected(self) -> bool:
        """Whether the two are found to differ."""
        return self.p_value <= self.level


def exchangeability(
    calibration: Outputs,
    operation: Outputs,
    *,
    level: Real = 0.01,
    max_rows: int = ROWS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    identity: Identity = "ids",
) -> Exchangeability:
    """Test whether calibration and operation inputs could come from one distribution, by what the network says.

    Two permutation tests, exact at every sample size if rows are independent, at half of `level` each: Fisher's
    discriminant on random Fourier features of the log-probabilities and probabilities (and of the features, where
    both sets hold them), and the Kolmogorov–Smirnov distance of the largest probability, which does not depend on the
    calibration as λ(x) does. At most `max_rows` of each set, drawn by `seed`; operation rows of weight w are
    kept with probability w / max w, so that those kept follow the operational profile. Labels refute at most that two
    rows are one input: operation inputs that `identity` says are calibration rows, or occur before, are left out.

    Not rejecting is no proof: a shift of the labels given the inputs cannot be seen here at all.
    Raises InputError when the number of classes differs, no operation input is left, or `permutations` cannot reach
    `level`.
    Sources: Lopez-Paz and Oquab (2017); Harchaoui, Bach and Moulines (2008).

    >>> import numpy as np
    >>> from infimum import Outputs
    >>> z = np.random.default_rng(0).normal(size=(600, 3))
    >>> alike = exchangeability(Outputs(z[:300]), Outputs(z[300:]))
    >>> shifted = exchangeability(Outputs(z[:300]), Outputs(z[300:] + [1.0, 0.0, 0.0]))
    >>> alike.rejected, shifted.rejected, shifted.p_value
    (False, True, 0.002)
    """
    check_one_network(calibration, operation)
    level, seed = float(exact_fraction(level, "level")), check_seed(seed)
    if max_rows < 1 or permutations < 1:
        raise InputError("max_rows and permutations must be at least 1")
    if 2 / (permutations + 1) > level:
        raise InputError(
            f"{permutations} permutations cannot give a p-value of {level:g} or less; use {round(2 / level)} or more"
        )
    others, weights = unlabelled_rows([calibration], operation, identity), operation.weights
    if not others.any():
        raise InputError(
            f"every input of {operation.name} is a row of {calibration.name} too: none is left to compare"
        )
    if not others.all():
        operation, weights = operation.taken(others), None if weights is None else weights[others]
    ours, theirs = rows_to_compare(len(calibration), len(operation), weights, seed, max_rows)
    return compare_rows(calibration.taken(ours), operation.taken(theirs), level, permutations, seed)


def exchangeability_of_others(
    calibration: Outputs, operation: Outputs, *, seed: int = 0, identity: Identity = "ids"
) -> Exchangeability | None:
    """The same; None where every operation input is a calibration row, so that there is nothing to compare."""
    if not unlabelled_rows([calibration], operation, identity).any():
        return None
    return exchangeability(calibration, operation, seed=seed, identity=identity)


def rows_to_compare(
    n_calibration: int, n_operation: int, weights: Array | None, seed: int, most: int = ROWS
) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    """Row numbers of calibration and operation that `exchangeability` compares; `weights` are the operation's."""
    rng = Stream.COMPARED_ROWS.generator(seed)
    return _drawn_rows(n_calibration, None, most, rng), _drawn_rows(n_operation, weights, most, rng)


def compare_rows(
    calibration: Outputs,
    operation: Outputs,
    level: float = 0.01,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    strata: Int[np.ndarray, " rows"] | None = None,
) -> Exchangeability:
    """The test itself, on all rows given; see `exchangeability`.

    `strata`: of the calibration's rows, then the operation's. Rows are then compared, and permuted, within their
    stratum only, which is exact where the chance of being drawn is equal there.
    """
    ours, theirs = len(calibration), len(operation)
    second = np.arange(ours + theirs) >= ours
    logits = (calibration.logits, operation.logits)
    features = _common_features(calibration, operation)
    blocks = _log_probabilities(logits)
    if features is not None:
        blocks.append(_columns(features))
    embedded = two_sample.fourier_features(blocks, seed)
    contrasts = two_sample.contrasts(second, permutations, seed, strata)
    # The mass besides the largest probability orders confident rows where 1 − p_max has lost their order.
    rest = np.concatenate([top_two(z, 1.0)[1].rest for z in logits])
    distances = two_sample.distance_statistics(rest, contrasts)
    p_classifier = two_sample.p_value(two_sample.discriminant_statistics(embedded, contrasts))
    p_confidence = two_sample.p_value(distances)
    return Exchangeability(
        p_value=min(1.0, 2 * min(p_classifier, p_confidence)),
        p_classifier=p_classifier,
        p_confidence=p_confidence,
        auc=None if strata is not None else two_sample.held_out_auc(embedded, second, seed),
        distance=float(distances[0]) / float(np.maximum(contrasts[0], 0.0).sum()),
        n_calibration=ours,
        n_operation=theirs,
        features=features is not None,
        permutations=permutations,
        level=level,
    )


def _drawn_rows(
    n: int, weights: Array | None, most: int, rng: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """Row numbers, ascending: at most `most`, without replacement; by weight where there are weights."""
    if weights is None:  # the numbers of all rows need not be written down
        return np.sort(rng.choice(n, most, replace=False)) if n > most else np.arange(n)
    rows = np.flatnonzero(rng.random(n) < weights / weights.max())
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows


def _columns(parts: tuple[Array, Array]) -> two_sample.Columns:
    """The columns of two arrays, one below the other."""

    def some(which: slice) -> Array:
        return np.concatenate([part[:, which].astype(np.float64) for part in parts])

    return two_sample.Columns(sum(map(len, parts)), parts[0].shape[1], some)


def _log_probabilities(logits: tuple[Array, Array]) -> list[two_sample.Columns]:
    """Log-probabilities and probabilities: those show other degrees of sureness best, these another class mix."""
    pooled = _columns(logits)
    highest = np.concatenate([z.max(axis=1) for z in logits]).astype(np.float64)[:, None]
    total = np.concatenate([_log_sums(z) for z in logits])[:, None]

    def some(which: slice) -> Array:
        z = pooled.some(which)
        z -= highest
        z -= total
        np.maximum(z, LEAST_LOG, out=z)
        return z

    return [
        two_sample.Columns(pooled.rows, pooled.width, part)
        for part in (some, lambda which: np.exp(some(which)))
    ]


def _log_sums(logits: Array) -> Float[np.ndarray, " n"]:
    """Logarithm of each row's sum of exp(z − z_max), in chunks."""
    log_sums = np.empty(len(logits))
    for start in range(0, len(logits), size := max(1, CHUNK // logits.shape[1])):
        z = logits[start : start + size].astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        log_sums[start : start + size] = np.log(np.exp(z, out=z).sum(axis=1))
    return log_sums


def _common_features(calibration: Outputs, operation: Outputs) -> tuple[Array, Array] | None:
    ours, theirs = calibration.features, operation.features
    if ours is None or theirs is None or ours.shape[1] != theirs.shape[1]:
        return None
    return ours, theirs
