"""One pass over the operation, block by block: everything an assessment says of it, in memory that does not grow.

Whether the operation lies in memory or is streamed, this is the one way to its figures, and no bit of them
depends on where blocks begin: draws are keyed by row, counts are whole numbers, and other sums are added input by
input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infimum._checks import Array
from infimum.assessment._diagnostics.collect import Collector
from infimum.assessment._diagnostics.sums import KeyedSums
from infimum.assessment._stream_features import StreamFeatures
from infimum.conformal import Calibration, LambdaSummary
from infimum.conformal._success import Empty, Step, level_by_code, level_codes, step_fraction
from infimum.identity.membership import Belonging, Membership
from infimum.identity.rows import Identity
from infimum.io.provenance import Fingerprint
from infimum.outputs._outputs import Outputs
from infimum.outputs._provenance import ARRAYS
from infimum.outputs._stream import OutputsStream
from infimum.shift._exchangeability import Exchangeability, compare_rows, rows_to_compare


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass over `n` operation inputs found.

    `weighted`: they do not all count alike. `accuracy` and `n_correct` are None without labels.
    Of the `independent` inputs, those that are no labelled rows and are not met
    again (`belonging`): `runner_up` (calibration rows + 2,), inputs with (n+1)p_(2) = 0, 1, …; `right`, how many are
    classified correctly, None without labels; `alike`, None where it was not asked for or none is left. `first` holds
    the first rows.
    """

    n: int
    weighted: bool
    summary: LambdaSummary
    runner_up: Int[np.ndarray, " bins"]
    collector: Collector
    accuracy: float | None
    n_correct: int | None
    independent: int
    right: int | None
    alike: Exchangeability | None
    belonging: Belonging
    saturated: int
    fingerprints: dict[str, str]
    first: Outputs

    @property
    def correct(self) -> float | None:
        """Mean success level of the correctly classified inputs; None without any."""
        return self._mean_level(self.collector.levels.groups.right)

    @property
    def incorrect(self) -> float | None:
        """Mean success level of the wrongly classified inputs; None without any."""
        groups = self.collector.levels.groups
        return self._mean_level(groups.weight - groups.right)

    def _mean_level(self, weight: Float[np.ndarray, " levels"]) -> float | None:
        if self.accuracy is None or weight.sum() <= 0:
            return None
        return float((weight * self.collector.levels.keys).sum() / weight.sum())

    @property
    def pearson(self) -> float | None:
        """M4: the correlation of λ(x) with the true label's position; None without labels, or where one is constant."""
        if self.accuracy is None:
            return None
        found = self.collector.levels
        levels, weight = found.keys, found.groups.weight
        position, position_squared = found.values
        total = weight.sum()
        if len(levels) < 2 or total <= 0:
            return None
        from_mean = levels - (weight * levels).sum() / total
        mean = position.sum() / total
        spread = position_squared.sum() - total * mean**2
        if spread <= 1e-12 * max(position_squared.sum(), 1.0):  # all at one position, but for rounding
            return None
        both = (from_mean * (position - weight * mean)).sum()
        return float(both / np.sqrt((weight * from_mean**2).sum() * spread))


def scan(
    operation: OutputsStream,
    calibration: Outputs,
    conformal: Calibration,
    step: Step,
    empty: Empty,
    seed: int,
    exchangeability: bool,
    kept: StreamFeatures | None = None,
    tuning: Outputs | None = None,
    identity: Identity = "ids",
) -> Scan:
    """Read the operation once, and add its features to those `kept`.

    Inputs that `identity` says are rows of the calibration or the tuning count in λ, and in nothing that needs
    inputs independent of these. Raises InputError where a block cannot be read or does not fit.
    """
    first, weights, n = operation.first, operation.weights, conformal.n
    summary = LambdaSummary(n, step, empty)
    # All inputs, those that are labelled rows, those met again: what is independent is known at the end only.
    runner_up, right_of, count_of = np.zeros((3, n + 2), dtype=np.int64), [0, 0, 0], [0, 0, 0]
    who = Membership([calibration] if tuning is None else [calibration, tuning], identity)
    scale = n + 1 if (delta := step_fraction(step)) is None else delta.denominator
    collector, right = Collector(first, level_by_code(n, step, empty), scale), KeyedSums(np.arange(2))
    beside = _Beside(operation, who)
    sample = _Sample(calibration, operation, seed) if exchangeability else None
    for row, block in operation.blocks(beside=beside.add):
        weight = None if weights is None else weights[row : row + len(block)]
        counts = conformal.top_two(block.logits, first_row=row)
        summary.add(counts, weight)
        everything = np.ones(len(block), dtype=bool)
        kinds = (everything, *who.among(block))
        correct = None if block.labels is None else counts.predicted == block.labels
        for kind, mask in enumerate(kinds):
            if kind == 0 or mask.any():
                runner_up[kind] += np.bincount(counts.count_second[mask], minlength=n + 2)
                count_of[kind] += int(mask.sum())
                right_of[kind] += 0 if correct is None else int(correct[mask].sum())
        code = level_codes(counts.count_top, counts.count_second, n, step, empty)
        collector.add(block, code, counts.predicted, weight, row)
        if correct is not None:
            right.add(correct.astype(np.int64), weight, None)
        if sample is not None:
            sample.add(block, row, kinds[1:])
        if kept is not None:
            kept.add(row, block)
    of_right = right.groups.weight
    left_out = [kind for kind, believed in enumerate(who.believed, 1) if believed]
    independent = count_of[0] - sum(count_of[kind] for kind in left_out)
    return Scan(
        n=operation.n,
        weighted=weights is not None and bool((weights != weights[0]).any()),
        summary=summary,
        runner_up=runner_up[0] - runner_up[left_out].sum(axis=0),
        collector=collector,
        accuracy=None if first.labels is None else float(of_right[1] / of_right.sum()),
        n_correct=None if first.labels is None else right_of[0],
        independent=independent,
        right=None if first.labels is None else right_of[0] - sum(right_of[kind] for kind in left_out),
        alike=None if sample is None or not independent else sample.compared(seed, left_out),
        belonging=who.found,
        saturated=beside.saturated,
        fingerprints=beside.fingerprints(),
        first=first,
    )


class _Beside:
    """What is found of blocks without scoring them, by the thread that reads them."""

    def __init__(self, operation: OutputsStream, who: Membership) -> None:
        self.saturated = 0
        self._weights, self._who = operation.weights, who
        arrays = {name: getattr(operation.first, name) for name in ARRAYS} | {"weights": self._weights}
        self._digests = {
            name: Fingerprint(operation.n, array) for name, array in arrays.items() if array is not None
        }

    def add(self, row: int, block: Outputs) -> None:
        self._who.compare(block)
        self.saturated += block.saturated
        for name, digest in self._digests.items():
            if name == "weights" and self._weights is not None:
                digest.add(self._weights[row : row + len(block)])
            else:
                digest.add(getattr(block, name))

    def fingerprints(self) -> dict[str, str]:
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


class _Sample:
    """The rows that the two-sample test compares, chosen beforehand and picked up as they pass."""

    def __init__(self, calibration: Outputs, operation: OutputsStream, seed: int) -> None:
        ours, self._rows = rows_to_compare(len(calibration), operation.n, operation.weights, seed)
        self._calibration = calibration if len(ours) == len(calibration) else calibration.taken(ours)
        self._picked: list[Outputs] = []
        self._kinds: list[Bool[np.ndarray, "2 rows"]] = []

    def add(self, block: Outputs, first_row: int, kinds: tuple[Array, Array]) -> None:
        begin, end = np.searchsorted(self._rows, [first_row, first_row + len(block)])
        if begin < end:
            rows = self._rows[begin:end] - first_row
            self._picked.append(block if len(rows) == len(block) else block.taken(rows))
            self._kinds.append(np.stack([mask[rows] for mask in kinds]))

    def compared(self, seed: int, left_out: list[int]) -> Exchangeability | None:
        """The test without the rows of the kinds `left_out`; None where none of those picked is left."""
        features: Array | None = None
        if self._picked[0].features is not None:
            features = np.concatenate(
                [picked.features for picked in self._picked if picked.features is not None]
            )
        operation = Outputs(np.concatenate([picked.logits for picked in self._picked]), features=features)
        kinds = np.concatenate(self._kinds, axis=1)
        out = np.any(kinds[[kind - 1 for kind in left_out]], axis=0)
        if out.all():
            return None
        return compare_rows(self._calibration, operation.taken(~out) if out.any() else operation, seed=seed)
