"""From figures and pairwise tests to rankings: who is above whom, and where that is not settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from infimum.assessment._diagnostics.collect import shortened
from infimum.bounds import Bound, clopper_pearson
from infimum.bounds._bound import LABELS_RIGHT
from infimum.bounds._label_errors import LabelErrors
from infimum.comparison._results import FIGURES, Comparison, Difference, FigureName, Network, Place, Ranking
from infimum.comparison._statistics import Found, holm
from infimum.io.findings import Finding, warning


class Test(NamedTuple):
    """What was found for one pair, how, and how many labelled inputs only the first, only the second has right."""

    found: Found
    method: str
    only: tuple[int, int] | None = None


UNSEEN = "the networks were not trained on them, nor these networks chosen by them from among others"

PairTest = Callable[[int, int, float], Test]
"""From the numbers of two networks and a chance of error to what was found."""


def assembled(
    networks: Sequence[Network],
    tests: Mapping[FigureName, PairTest],
    confidence: float,
    *,
    paired: bool,
    findings: Sequence[Finding],
    provenance: dict[str, Any],
) -> Comparison:
    """The comparison of these networks by these tests, figure by figure."""
    differing: list[Difference] = []
    for figure, test in tests.items():
        if len(order(networks, figure)) >= 2:
            differing += differences(networks, figure, test, confidence)
    rankings = [ranking(networks, figure, differing) for figure in FIGURES]
    return Comparison(
        networks=tuple(networks),
        differences=tuple(differing),
        rankings=tuple(r for r in rankings if r is not None),
        tau=rank_preservation(networks),
        paired=paired,
        confidence=confidence,
        findings=(*findings, *contradictions(networks, differing)),
        provenance=provenance,
    )


def certified(
    right: int, n: int, confidence: float, networks: int, errors: LabelErrors | None = None
) -> Bound:
    """Clopper–Pearson at 1 − (1 − confidence)/networks: the bounds of all networks hold together (Bonferroni).

    So that of a network picked afterwards holds too, which its bound at `confidence` alone would not. `errors`: how
    many of the labels may be wrong.
    """
    bound = clopper_pearson(np.arange(n) < right, 1 - (1 - confidence) / networks, errors)
    # Picking among these networks on these inputs is allowed for; having been trained on them is not.
    of_labels = LABELS_RIGHT if errors is None or not errors.any else bound.assumptions[-1]
    return replace(bound, assumptions=(bound.assumptions[0], UNSEEN, of_labels))


def order(networks: Sequence[Network], figure: FigureName) -> list[int]:
    """Numbers of the networks that have the figure, the highest first, ties as given."""
    having = [i for i, network in enumerate(networks) if network.value(figure) is not None]
    return sorted(having, key=lambda i: -(networks[i].value(figure) or 0.0))


def differences(
    networks: Sequence[Network], figure: FigureName, test: PairTest, confidence: float
) -> tuple[Difference, ...]:
    """All pairs, the higher network first; the chance of error is split over them."""
    pairs = list(combinations(order(networks, figure), 2))
    tests = [test(i, j, (1 - confidence) / len(pairs)) for i, j in pairs]
    adjusted = holm([t.found.p for t in tests])
    return tuple(
        Difference(
            figure=figure,
            first=networks[i].name,
            second=networks[j].name,
            value=(networks[i].value(figure) or 0.0) - (networks[j].value(figure) or 0.0),
            low=t.found.low,
            high=t.found.high,
            p=t.found.p,
            p_adjusted=p,
            settled=p <= 1 - confidence,
            method=t.method,
            first_only=None if t.only is None else t.only[0],
            second_only=None if t.only is None else t.only[1],
        )
        for (i, j), t, p in zip(pairs, tests, adjusted, strict=True)
    )


def ranking(
    networks: Sequence[Network], figure: FigureName, differing: Sequence[Difference]
) -> Ranking | None:
    """The networks by one figure, each with the ranks that the settled pairs leave it; None without any.

    All settled pairs are right together with the confidence of the comparison, so the ranks hold with it too.
    """
    ordered = order(networks, figure)
    if not ordered:
        return None
    settled = [d for d in differing if d.figure == figure and d.settled]
    places = []
    for i in ordered:
        name = networks[i].name
        above = sum(d.second == name for d in settled)
        below = sum(d.first == name for d in settled)
        places.append(Place(name, networks[i].value(figure) or 0.0, 1 + above, len(ordered) - below))
    return Ranking(figure, tuple(places), all(p.best == p.worst for p in places))


def rank_preservation(networks: Sequence[Network]) -> float | None:
    """Kendall's τ_b between λ and λ* over the networks (M2); None where one is missing or does not vary."""
    from scipy.stats import kendalltau

    pairs = [(n.lambda_, n.accuracy) for n in networks if n.lambda_ is not None and n.accuracy is not None]
    values = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    if len(values) < 2 or (np.ptp(values, axis=0) == 0).any():
        return None
    return float(kendalltau(values[:, 0], values[:, 1]).statistic)


def contradictions(networks: Sequence[Network], found: Sequence[Difference]) -> list[Finding]:
    """Warnings where labels settle that one network is better and λ says the opposite."""
    level = {network.name: network.lambda_ for network in networks}
    told = []
    for d in found:
        ours, theirs = level[d.first], level[d.second]
        if d.figure == "accuracy" and d.settled and ours is not None and theirs is not None and ours < theirs:
            told.append(
                warning(
                    "lambda-against-labels",
                    higher=shortened(d.second),
                    its=theirs,
                    other=shortened(d.first),
                    others=ours,
                )
            )
    return told
