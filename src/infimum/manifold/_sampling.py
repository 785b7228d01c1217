"""The sampling process: features from a manifold, through the head, to λ, until a stopping rule holds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from infimum._checks import Array, check_seed
from infimum._streams import Stream
from infimum._threads import read_ahead
from infimum.conformal import Calibration, LambdaSummary
from infimum.conformal._success import Empty, Step
from infimum.errors import InputError
from infimum.head import AnyHead, Head
from infimum.io.ranges import Count, Probability
from infimum.io.records import Record
from infimum.manifold._manifold import Manifold
from infimum.manifold._stopping import Draw, Stopping

Progress = Callable[["RunningLambda"], None]

REPLICATES = 8
"""Sobol batches before the rule "se" may end: the error is seen between them only."""

HISTORY = 1000
"""Points kept of the history; beyond, every second one is dropped."""

logger = logging.getLogger("infimum")


@dataclass(frozen=True)
class RunningLambda(Record):
    """λ after so many samples, and the sampling part of its standard error."""

    n: Count
    value: Probability
    standard_error: Probability


@dataclass(frozen=True)
class SampledLambda:
    """What a sampling run gave; `interrupted` when Ctrl-C ended it, which is not `converged`.

    `sampling_error` is the sampling part of λ's standard error: by the summary's formula for independent samples,
    from the spread of the batches for Sobol points.
    """

    summary: LambdaSummary
    sampling_error: float
    stopping: Stopping
    history: tuple[RunningLambda, ...]
    converged: bool
    interrupted: bool = False


def sample_lambda(
    manifold: Manifold,
    head: AnyHead,
    calibration: Calibration,
    stopping: Stopping | None = None,
    seed: int = 0,
    step: Step = None,
    empty: Empty = "argmax",
    progress: Progress | None = None,
    draw: Draw = "independent",
) -> SampledLambda:
    """λ over samples of the manifold; same seed, same result. A linear head is sampled behind, in logit space.

    `draw="sobol"` takes batches of scrambled Sobol points (their number rounded down to a power of two) instead of
    independent samples: fewer are needed for a small error, which is then estimated from the spread of at least
    eight batches. Memory is that of two batches. `progress` is called after every batch. Ctrl-C ends the run after
    the last whole batch and keeps it. Raises InputError when head, manifold and calibration do not fit together.

    >>> import numpy as np
    >>> from infimum.conformal import calibrate
    >>> from infimum.manifold import fit_kernel
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> run = sample_lambda(fit_kernel(x, x.argmax(axis=1)), Head(np.eye(2)), calibrate(x, x.argmax(axis=1)))
    >>> run.converged, len(run.history) >= 2
    (True, True)
    """
    stopping = Stopping() if stopping is None else stopping
    if draw not in get_args(Draw):
        raise InputError(f"draw must be one of {', '.join(get_args(Draw))}, not {draw!r}")
    if head.n_features != manifold.fit.n_features:
        raise InputError(
            f"the head reads {head.n_features} features, the manifold has {manifold.fit.n_features}"
        )
    if head.n_classes != calibration.n_classes:
        raise InputError(f"the head has {head.n_classes} classes, the calibration {calibration.n_classes}")
    law = manifold.push_forward(head) if isinstance(head, Head) else manifold
    rng = Stream.MANIFOLD.generator(check_seed(seed))
    summary = LambdaSummary(calibration.n, step, empty)
    history: list[RunningLambda] = []
    began = time.monotonic()
    converged = interrupted = False
    every, batches, last = 1, 0, np.inf
    spread = _Spread()
    try:
        for drawn, u in read_ahead(_batches(law, stopping, draw, rng), most=1):
            logits = drawn if isinstance(head, Head) else head.logits(drawn)
            batch = LambdaSummary(calibration.n, step, empty)
            batch.add(calibration.top_two(logits, u if calibration.randomize else None, summary.n, "samples"))
            summary = summary + batch
            spread.add(batch)
            batches += 1
            error = spread.error if draw == "sobol" else summary.sampling_error
            now = RunningLambda(summary.n, summary.value, error)
            enough = batches >= (REPLICATES if draw == "sobol" else 2)
            converged = _holds(stopping, now, last, enough, batches, time.monotonic() - began)
            last = now.value
            if batches % every == 0 or converged:
                history.append(now)
            if len(history) > HISTORY:
                history, every = history[1::2], every * 2
            logger.debug("sampled %d: λ %.4f ± %.4f", now.n, now.value, now.standard_error)
            if progress is not None:
                progress(now)
            if converged:
                break
    except KeyboardInterrupt:
        interrupted = True
        if summary.n == 0:
            raise
    error = spread.error if draw == "sobol" else summary.sampling_error
    return SampledLambda(summary, error, stopping, tuple(history), converged and not interrupted, interrupted)


def _batches(
    law: Manifold, stopping: Stopping, draw: Draw, rng: np.random.Generator
) -> Iterator[tuple[Array, Array | None]]:
    """Batches of samples, and the draws u that belong to Sobol points, up to the most that is allowed."""
    n = 0
    while n < stopping.max_samples:
        size = min(stopping.batch, stopping.max_samples - n)
        if draw == "sobol":
            size = 1 << (size.bit_length() - 1)
            yield law.sample_evenly(size, rng)
        else:
            yield law.sample(size, rng), None
        n += size


class _Spread:
    """Standard error of λ from the spread of batches of equal law: no assumption on what is inside a batch.

    It is multiplied by t/z at 95 %, so that ± 1.96 of it covers with few batches too.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self.sizes: list[int] = []

    def add(self, batch: LambdaSummary) -> None:
        self.values.append(batch.value)
        self.sizes.append(batch.n)

    @property
    def error(self) -> float:
        """At most 0.5, which is the most there is; that for a single batch."""
        from scipy.special import ndtri, stdtrit

        if len(self.values) < 2:
            return 0.5
        weight = np.array(self.sizes) / sum(self.sizes)
        values = np.array(self.values)
        free = len(values) - 1
        square = (weight**2 * (values - weight @ values) ** 2).sum() * len(values) / free
        return min(0.5, float(np.sqrt(square) * stdtrit(free, 0.975) / ndtri(0.975)))


def _holds(
    stopping: Stopping, now: RunningLambda, last: float, enough: bool, batches: int, seconds: float
) -> bool:
    if stopping.rule == "se":
        return enough and now.standard_error <= stopping.tolerance
    if stopping.rule == "difference":
        return batches >= 2 and abs(now.value - last) <= stopping.tolerance
    if stopping.rule == "samples":
        return now.n >= stopping.max_samples
    return seconds >= stopping.seconds
