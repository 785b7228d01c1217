"""`--manifold auto`: one manifold of several, by what needs no labels.

Every candidate is fitted four times, each time without a quarter of the features, and judged on that quarter. Then

1. λ is a check: a candidate whose λ on samples differs from λ on the held-out features by more than 0.01 and by more
   than two standard errors is out;
2. held-out log-likelihood of the logits chooses among the others;
3. where none is left, the default kernel is taken;
4. the chosen one is fitted again, to all features.

λ alone cannot choose: a kernel of bandwidth 0 repeats the features and always passes. Each feature is held out once,
so the held-out λ is that of all m features, and what chance puts into one quarter is missing in the other three. The
standard error is therefore that of a mean over m features: a right law, fitted efficiently, follows the mean that it is
compared with, and the variance of the difference is Var(mean) − Var(law's λ).

The likelihood is taken in coordinates t = A(z − z̄) of what varies in logits once their mean over classes, which softmax
does not read, is taken off: at most K − 1 directions, uncorrelated and of unit variance, so that no candidate is
singular only because the logits are.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from infimum._checks import Array, check_kind, check_matrix, check_seed
from infimum._streams import Stream
from infimum.conformal import Calibration, LambdaSummary
from infimum.conformal._summary import calibration_error_of_difference
from infimum.errors import InputError
from infimum.head import AnyHead, Head, HeadFunction
from infimum.io.findings import Finding, note
from infimum.io.hashing import row_hashes
from infimum.io.ranges import Count, Probability, Signed
from infimum.io.records import Record
from infimum.manifold._class_gaussians import fit_class_gaussians
from infimum.manifold._density import SINGULAR, choose_bandwidth, log_density
from infimum.manifold._gmm import fit_gmm
from infimum.manifold._kernel import fit_kernel
from infimum.manifold._manifold import Manifold
from infimum.manifold._tree import fit_tree

FOLDS = 4

SAMPLES = 100_000
"""Drawn of each candidate, over the folds."""

BATCH = 20_000

LEAST = 100
"""With fewer features, a quarter of them judges nothing."""

MOST = 10_000
"""Features that are tried, at most."""

FAR = 0.01
"""Differences of λ up to here pass whatever their standard error."""

JUDGED = 500
"""Held-out features of each quarter that the likelihood is taken of, at most."""

DIRECTIONS = 50
"""Directions of the logits that the likelihood reads, at most: those of largest variance."""

DEAREST = 10**10
"""Multiplications m C d² of one step of EM beyond which the mixture is not tried: seconds a step, minutes a fit."""

DEFAULT = "kernel"

logger = logging.getLogger("infimum")

Fit = Callable[[Array, Array, Array], Manifold]
"""Features (n, d), predicted classes (n,) and logits (n, K) to a manifold."""

CANDIDATES: dict[str, Fit] = {
    DEFAULT: lambda x, y, _: fit_kernel(x, y),
    "kernel, bandwidth auto": lambda x, y, z: fit_kernel(x, y, choose_bandwidth(z, y)),
    "class-gaussians full": lambda x, y, _: fit_class_gaussians(x, y),
    "class-gaussians shrunk": lambda x, y, _: fit_class_gaussians(x, y, "shrunk"),
    "tree": lambda x, y, _: fit_tree(x, y),
    "gmm": lambda x, y, _: fit_gmm(x, y),
}
"""Laws with a density of logits. `neighbors` and `flow` have none and cannot be compared."""


Verdict = Literal["passed", "not-possible", "too-dear", "collapsed", "lambda-differs", "no-density"]


@dataclass(frozen=True)
class Candidate(Record):
    """One manifold, judged on features that it was not fitted to.

    `difference`: λ on its samples − λ on the held-out features, with its `standard_error`. `log_likelihood`: mean over
    held-out features, in nats; None where one of them lies outside the law. `verdict`: whether it `passed`, or what
    was against it; `why` it was not possible.
    """

    name: str
    verdict: Verdict
    passed: bool = False
    difference: Signed | None = None
    standard_error: Probability | None = None
    log_likelihood: float | None = None
    why: str = ""


@dataclass(frozen=True)
class ManifoldChoice(Record):
    """Which manifold was `chosen` and `why`; the `candidates`, tried on `n` features, none where nothing was tried."""

    chosen: str
    why: Finding
    candidates: tuple[Candidate, ...] = ()
    n: Count = 0


def select_manifold(
    features: Float[np.ndarray, "m d"], head: AnyHead, calibration: Calibration, seed: int = 0
) -> tuple[Manifold, ManifoldChoice]:
    """The manifold that held-out features choose, fitted to all features (m, d), and the table of candidates.

    An estimate, with no guarantee; for λ itself the kernel was at least as good on the networks of the study. The
    kernel is taken untried with fewer than 100 different features, behind a head that is not linear, and where all
    logits are alike; of more than 10,000 features so many are tried, drawn by the seed. Copies of a feature are held
    out together. Same seed, same result. Raises InputError when features, head and calibration do not fit together.

    >>> from infimum.conformal import calibrate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=900)
    >>> x = rng.normal(size=(900, 3)) + 2 * y[:, None]
    >>> head = Head(np.array([[-1.0, -1, -1], [1, 1, 1]]), np.array([3.0, -3.0]))
    >>> law, selection = select_manifold(x[:600], head, calibrate(head.logits(x[600:]), y[600:]))
    >>> law.fit.n, selection.n, len(selection.candidates)
    (600, 600, 6)
    """
    check_kind(head, (Head, HeadFunction), "head", "a Head, for example Head(weight, bias)")
    x = check_matrix(features, "manifold features", head.n_features)
    if head.n_classes != calibration.n_classes:
        raise InputError(f"the head has {head.n_classes} classes, the calibration {calibration.n_classes}")
    logits = head.logits(x)
    trial = _Trial.of(x, logits, head, calibration, check_seed(seed))
    if isinstance(trial, str):
        return fit_candidate(DEFAULT, x, head), ManifoldChoice(
            DEFAULT, note("manifold-untried", chosen=DEFAULT, why=trial)
        )
    found = []
    for name in CANDIDATES:
        dear = name == "gmm" and len(x) * len(np.unique(logits.argmax(axis=1))) * x.shape[1] ** 2 > DEAREST
        found.append(Candidate(name, "too-dear") if dear else trial.judged(name))
        logger.info("manifold %s: %s", name, found[-1].verdict)
    passed = [candidate for candidate in found if candidate.passed]
    chosen = max(passed, key=_likelihood).name if passed else DEFAULT
    why = note("manifold-chosen", chosen=chosen, passed=len(passed), default=DEFAULT)
    selection = ManifoldChoice(chosen, why, tuple(found), len(trial.x))
    return fit_candidate(chosen, x, head), selection


def fit_candidate(name: str, features: Float[np.ndarray, "m d"], head: AnyHead) -> Manifold:
    """The candidate of this name, fitted to features (m, d); raises InputError where it cannot be.

    >>> fit_candidate("tree", np.eye(3), Head(np.eye(3))).fit.name
    'tree'
    """
    logits = head.logits(features)
    return CANDIDATES[name](features, logits.argmax(axis=1), logits)


@dataclass(frozen=True, eq=False)
class _Trial:
    """What every candidate is judged by: features (m, d), their logits, the quarter of each, λ of all of them."""

    x: Float[np.ndarray, "m d"]
    logits: Float[np.ndarray, "m K"]
    fold: Int[np.ndarray, " m"]
    head: Head
    calibration: Calibration
    real: LambdaSummary
    directions: _Directions
    seed: int

    @staticmethod
    def of(x: Array, logits: Array, head: AnyHead, calibration: Calibration, seed: int) -> _Trial | str:
        """The trial, or why there is none."""
        if not isinstance(head, Head):
            return "head-not-linear"
        rng = Stream.CHOICE_FOLDS.generator(seed)
        if len(x) > MOST:
            rows = np.sort(rng.choice(len(x), MOST, replace=False))
            x, logits = x[rows], logits[rows]
        # Copies stay together: a density that peaks at the features would know their copies.
        different, which = np.unique(row_hashes(x), return_inverse=True)
        if len(different) < LEAST:
            return "few-features"
        directions = _Directions.of(logits)
        if directions is None:
            return "logits-alike"
        fold = (rng.permutation(len(different)) % FOLDS)[which.reshape(-1)]
        real = LambdaSummary(calibration.n)
        real.add(calibration.top_two(logits))
        return _Trial(x, logits, fold, head, calibration, real, directions, seed)

    def judged(self, name: str) -> Candidate:
        """Fitted to three quarters and judged on the fourth, four times."""
        rng = Stream.CHOICE_SAMPLES.generator(self.seed)
        to_directions = self.directions.behind(self.head)
        drawn = LambdaSummary(self.calibration.n)
        densities, collapsed = [], False
        for k in range(FOLDS):
            out = self.fold == k
            try:
                law = fit_candidate(name, self.x[~out], self.head)
            except InputError as why:
                return Candidate(name, "not-possible", why=str(why))
            collapsed |= law.fit.collapsed
            pushed, end = law.push_forward(self.head), drawn.n + round(SAMPLES * out.mean())
            while drawn.n < end:
                logits = pushed.sample(min(BATCH, end - drawn.n), rng)
                drawn.add(self.calibration.top_two(logits, None, drawn.n, "samples"))
            held_out = self.directions.logits(self.logits[out][:JUDGED])
            density = log_density(law.push_forward(to_directions), held_out)
            densities.append(np.full(1, -np.inf) if density is None else density)
        likelihood = float(np.concatenate(densities).mean())
        difference = drawn.value - self.real.value
        error = math.hypot(
            calibration_error_of_difference(drawn, self.real), drawn.sampling_error, self.real.sampling_error
        )
        made = Candidate(
            name, "passed", True, difference, error, likelihood if likelihood > -math.inf else None
        )
        if collapsed:
            return replace(made, passed=False, verdict="collapsed")
        if abs(difference) > max(FAR, 2 * error):
            return replace(made, passed=False, verdict="lambda-differs")
        if made.log_likelihood is None:
            return replace(made, passed=False, verdict="no-density")
        return made


class _Directions(Head):
    """t = A(z − z̄) of logits z, z̄ their mean over classes: a linear map like a head's, but one row is enough."""

    def __post_init__(self) -> None:
        """Nothing to check: it was computed here."""

    @staticmethod
    def of(logits: Float[np.ndarray, "n K"]) -> _Directions | None:
        """Those in which these logits vary, of unit variance each; None where they do not vary."""
        centred = logits - logits.mean(axis=1, keepdims=True)
        mean = centred.mean(axis=0)
        centred -= mean
        if np.abs(centred).max() <= 1e-9 * np.abs(logits).max():
            return None
        values, vectors = np.linalg.eigh(centred.T @ centred / len(logits))
        kept = np.flatnonzero(values > SINGULAR * values[-1])[-DIRECTIONS:]
        weight = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
        return _Directions(weight - weight.mean(axis=1, keepdims=True), -weight @ mean, "directions")

    def behind(self, head: Head) -> _Directions:
        """The same map, of features."""
        return _Directions(
            self.weight @ head.weight, self.logits(np.asarray(head.bias)[None])[0], "directions"
        )


def _likelihood(candidate: Candidate) -> float:
    return -math.inf if candidate.log_likelihood is None else candidate.log_likelihood
