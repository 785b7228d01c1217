"""The ladder of all networks: every figure of each on one axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from infimum._rounding import estimated, floor4
from infimum.assessment._diagnostics.collect import shortened
from infimum.assessment._diagnostics.proportions import binomial_interval
from infimum.comparison._results import Comparison, Network
from infimum.report.charts.ladder import axis, strip
from infimum.report.charts.scale import probability_axis
from infimum.report.comparison.words import ordered
from infimum.report.rungs import KINDS, Rung


class Group(NamedTuple):
    """A network's name and its figures, each with what it is and its strip."""

    name: str
    rows: tuple[tuple[Rung, str, Markup], ...]


class Ladder(NamedTuple):
    """The axis, and the networks under it in the order of the table."""

    axis: Markup
    groups: tuple[Group, ...]


def network_ladder(c: Comparison) -> Ladder:
    """Strips of all networks on an axis that holds all of them."""
    found = [(shortened(n.name), _rungs(n)) for n in ordered(c)]
    scale = probability_axis([r.value for _, rungs in found for r in rungs])
    groups = tuple(
        Group(name, tuple((r, KINDS[r.kind], strip(r, scale, None)) for r in rungs)) for name, rungs in found
    )
    return Ladder(axis(scale), groups)


def _rungs(n: Network) -> list[Rung]:
    found = []
    if n.certified is not None:
        found.append(Rung("at least", "certified", n.certified.value, floor4(n.certified.value), None, ""))
    if n.accuracy is not None:
        # Weighted accuracies have no certified bound, and no binomial interval either.
        low, high = binomial_interval(np.array([n.accuracy * n.n_labelled]), np.array([float(n.n_labelled)]))
        interval = None if n.certified is None else (float(low[0]), float(high[0]))
        found.append(Rung("λ*, accuracy", "measured", n.accuracy, f"{n.accuracy:.4f}", interval, ""))
    if n.lambda_ is not None:
        error = n.lambda_error or 0.0
        interval = (max(0.0, n.lambda_ - error), min(1.0, n.lambda_ + error))
        found.append(Rung("λ", "estimate", n.lambda_, estimated(n.lambda_, error), interval, ""))
    return found
