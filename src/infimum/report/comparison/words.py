"""What a comparison says, in sentences and table rows: one source for every format."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from infimum._rounding import estimated, floor4, percent, signed_interval
from infimum.assessment._diagnostics.collect import shortened
from infimum.comparison._results import Comparison, Difference, FigureName, Network, Place, Ranking

FIGURE_WORDS: dict[FigureName, str] = {
    "accuracy": "λ*, accuracy",
    "certified": "certified bound",
    "lambda": "λ, an estimate",
}

METHOD_WORDS = {
    "mcnemar_exact": "exact McNemar",
    "paired_t": "paired t",
    "weighted_paired_t": "paired t, weighted",
    "clopper_pearson_unpaired": "unpaired, Clopper–Pearson",
    "normal_unpaired": "unpaired, normal",
}

MANY = 6
"""Pairs that a sentence may name."""

NETWORK_HEAD = ("network", "rank", "λ*, accuracy", "labels", "at least", "λ ± s.e.", "rank by λ")

DIFFERENCE_HEAD = ("figure", "pair", "difference", "interval", "p, Holm", "settled", "test")


def headline(c: Comparison) -> str:
    """Which network is the most accurate, or that this is not settled. λ never enters."""
    by_accuracy = ranking_by(c, "accuracy")
    confidence = percent(c.confidence)
    if by_accuracy is None or len(by_accuracy.places) < 2:
        return "Without labels for two networks nothing can be said of which is the more accurate."
    first = [shortened(p.name) for p in by_accuracy.places if p.best == 1]
    if len(first) == 1:
        number = len(by_accuracy.places)
        return f"{first[0]} is the most accurate of the {number} networks, with {confidence} confidence."
    return f"Not settled which is the most accurate: {together(first)} cannot be told apart at {confidence} confidence."


def unsettled(c: Comparison) -> str:
    """The pairs of each figure whose order is not settled; of more than a few their number."""
    parts = []
    for figure in ("accuracy", "lambda"):
        of_figure = [d for d in c.differences if d.figure == figure]
        open_ = [_pair(d, "/") for d in of_figure if not d.settled]
        if not of_figure:
            continue
        if not open_:
            parts.append(f"By {FIGURE_WORDS[figure]}, the order of all pairs is settled.")
        elif len(open_) <= MANY:
            parts.append(f"By {FIGURE_WORDS[figure]}, the order of {together(open_)} is not settled.")
        else:
            parts.append(
                f"By {FIGURE_WORDS[figure]}, the order of {len(open_)} of {len(of_figure)} pairs is not settled."
            )
    return " ".join(parts) if parts else "Nothing was tested."


def preservation(c: Comparison) -> str:
    """M2: whether λ ranks the networks as their accuracies do."""
    if c.tau is None:
        return "Rank preservation (M2): needs λ and λ* of two networks or more that differ."
    kept = "λ ranks the networks as λ* does" if c.tau == 1 else "λ does not rank the networks as λ* does"
    return f"Rank preservation (M2): Kendall's τ between λ and λ* is {c.tau:.2f}: {kept}."


def multiplicity(c: Comparison) -> str:
    """What the confidence is of."""
    pairs = len([d for d in c.differences if d.figure == c.differences[0].figure]) if c.differences else 0
    tested = (
        f"For each figure by itself, the intervals of its {pairs} pairs hold together with {percent(c.confidence)} "
        "confidence (Bonferroni); a pair is settled by Holm's adjusted p-value, which settles slightly more. "
        if pairs > 1
        else f"Each interval holds with {percent(c.confidence)} confidence. "
        if pairs
        else ""
    )
    return (
        f"{tested}The certified bounds of all networks hold together with {percent(c.confidence)} confidence, so that "
        "of the network you pick afterwards holds too."
    )


def how(c: Comparison) -> str:
    """Input by input, or not."""
    if c.paired:
        return "Compared input by input, on the same inputs."
    return "NOT compared input by input: from the figures of each network alone."


def ranking_by(c: Comparison, figure: FigureName) -> Ranking | None:
    """The ranking by a figure, if there is one."""
    return next((r for r in c.rankings if r.figure == figure), None)


def ordered(c: Comparison) -> list[Network]:
    """The networks, the most accurate first, where there are no accuracies that of highest λ."""
    first = ranking_by(c, "accuracy") or ranking_by(c, "lambda")
    place = {} if first is None else {p.name: i for i, p in enumerate(first.places)}
    return sorted(c.networks, key=lambda n: place.get(n.name, len(place)))


def network_rows(c: Comparison) -> list[tuple[str, ...]]:
    """One row a network, under NETWORK_HEAD."""
    ranks = {figure: _ranks(ranking_by(c, figure)) for figure in FIGURE_WORDS}
    rows: list[tuple[str, ...]] = []
    for n in ordered(c):
        value = "–" if n.lambda_ is None else estimated(n.lambda_, n.lambda_error or 0.0)
        rows.append(
            (
                shortened(n.name),
                ranks["accuracy"].get(n.name, "–"),
                "–" if n.accuracy is None else f"{n.accuracy:.4f}",
                f"{n.n_labelled:,}" if n.n_labelled else "–",
                "–" if n.certified is None else floor4(n.certified.value),
                value,
                ranks["lambda"].get(n.name, "–"),
            )
        )
    return rows


def neighbours(c: Comparison) -> tuple[Difference, ...]:
    """The pairs of each figure that stand next to one another in its ranking, the best first."""
    pairs = []
    for figure in ("accuracy", "lambda"):
        found = {frozenset((d.first, d.second)): d for d in c.differences if d.figure == figure}
        ranking = ranking_by(c, figure)
        names = [] if ranking is None else [p.name for p in ranking.places]
        pairs += [found[frozenset(two)] for two in pairwise(names) if frozenset(two) in found]
    return tuple(pairs)


def difference_rows(differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """One row a tested pair, under DIFFERENCE_HEAD."""
    return [
        (
            FIGURE_WORDS[d.figure],
            _pair(d, "−"),
            f"{d.value:+.4f}",
            signed_interval(d.low, d.high),
            small(d.p_adjusted),
            "yes" if d.settled else "no",
            METHOD_WORDS.get(d.method, d.method) + _only(d),
        )
        for d in differences
    ]


def small(p: float) -> str:
    """A p-value with two digits.

    >>> small(0.0421), small(1e-9)
    ('0.042', '< 0.0001')
    """
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def together(names: list[str]) -> str:
    """Names in a row, the last after "and".

    >>> together(["a", "b", "c"])
    'a, b and c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _pair(d: Difference, sign: str) -> str:
    return f"{shortened(d.first)} {sign} {shortened(d.second)}"


def _only(d: Difference) -> str:
    if d.first_only is None:
        return ""
    return f" ({d.first_only} inputs only the first has right, {d.second_only} only the second)"


def _ranks(ranking: Ranking | None) -> dict[str, str]:
    def words(p: Place) -> str:
        return str(p.best) if p.best == p.worst else f"{p.best}–{p.worst}"

    return {} if ranking is None else {p.name: words(p) for p in ranking.places}
