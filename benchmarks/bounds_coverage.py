"""How often each bound misses, and how far below the truth it lies: one Markdown page, docs/coverage.md.

    python benchmarks/bounds_coverage.py [--draws 300] [--slow-draws 100] [--inputs 5000] [--seed 0]

A world is a pool of 20,000 inputs with logits and labels, drawn from with replacement, so the truth (the accuracy
on the pool) is known exactly. Informative λ(x): labels are drawn from the softmax of the logits, whose scale is set
to give the accuracy. Useless: the label is the predicted class with a probability that does not depend on the input.

To add a bound, write `method(draw, seed) -> Bound` (see `Draw`), or a tuple of one bound per class, and put it into
METHODS; it is to hold with confidence 0.95. Whether it is marked as approximate is read from the bound.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import binom

from infimum.bounds import (
    Bound,
    Estimate,
    Strata,
    allocate,
    anytime,
    betting,
    betting_sequence,
    class_profile,
    clopper_pearson,
    clopper_pearson_per_class,
    confidence_floor_of_counts,
    marginal_conformal_of_counts,
    prediction_powered,
    strata,
    stratified,
    wilson,
)

ACCURACIES = (0.6, 0.9, 0.99)
LABELLED = (50, 300, 2000)
CLASSES = (2, 10, 100)
POOL = 20_000
CALIBRATION = 1000
BOOTSTRAP = 199
"""Draws of the parametric bootstrap, fewer than its default of 2,000: as valid, but less smooth."""


@dataclass(frozen=True)
class Draw:
    """What one repetition gives to a method.

    `correct`, `labels`, `levels_labelled` (n,): labelled inputs drawn at random, with λ(x). `levels_operation` (m,):
    λ(x) of unlabelled inputs. λ(x) comes from 1,000 calibration rows that are not among these (LAC score).
    `second_counts` (n + 2,): runner-up counts of the unlabelled inputs when the labelled ones are the calibration.
    `correct_stratified`, `stratum` (n,): other inputs, drawn within the strata of λ(x), and `parts` these strata, with
    their shares of the pool. `profile` (K,): class probabilities of operation.
    """

    correct: np.ndarray
    labels: np.ndarray
    levels_labelled: np.ndarray
    levels_operation: np.ndarray
    second_counts: np.ndarray
    correct_stratified: np.ndarray
    stratum: np.ndarray
    parts: Strata
    profile: np.ndarray


Found = Bound | Estimate | tuple[Bound, ...]
Method = Callable[[Draw, int], Found]


def _stratified(method: Any) -> Method:
    return lambda draw, seed: stratified(
        draw.correct_stratified,
        draw.stratum,
        draw.parts.weights,
        method=method,
        levels=draw.parts.levels,
        draws=BOOTSTRAP,
        seed=seed,
    )


def _powered(method: Any) -> Method:
    return lambda draw, _: prediction_powered(
        draw.correct, draw.levels_labelled, draw.levels_operation, method=method
    )


def _at_every_time(draw: Draw, _: int) -> Found:
    """The last entry of the sequence, which never falls: it lies above the truth if any entry does."""
    return replace(betting(draw.correct), value=float(betting_sequence(draw.correct)[-1]))


METHODS: dict[str, Method] = {
    "Clopper–Pearson": lambda draw, _: clopper_pearson(draw.correct),
    "… of every class": lambda draw, _: clopper_pearson_per_class(
        draw.correct, draw.labels, len(draw.profile)
    ),
    "class profile": lambda draw, _: class_profile(draw.correct, draw.labels, draw.profile),
    "marginal conformal": lambda draw, _: marginal_conformal_of_counts(draw.second_counts),
    "confidence floor": lambda draw, _: confidence_floor_of_counts(draw.second_counts),
    "betting": lambda draw, _: betting(draw.correct),
    "betting, every time": _at_every_time,
    "anytime": lambda draw, _: anytime(draw.correct),
    "PPI betting": _powered("betting"),
    "stratified Bonferroni": _stratified("bonferroni"),
    "stratified e-process": _stratified("e_process"),
    "PPI++": _powered("asymptotic"),
    "stratified bootstrap": _stratified("bootstrap"),
    "stratified signed root": _stratified("signed_root"),
    "Wilson": lambda draw, _: wilson(draw.correct),
}
SLOW = ("betting, every time", "stratified bootstrap")


class World:
    """A pool of inputs and what a method may see of it."""

    def __init__(self, accuracy: float, n_classes: int, informative: bool, rng: np.random.Generator) -> None:
        noise = rng.normal(size=(POOL, n_classes))
        noise[np.arange(POOL), rng.integers(n_classes, size=POOL)] += 3.0
        logits = _scale_for(noise, accuracy) * noise
        predicted = logits.argmax(axis=1)
        if informative:
            cumulative = softmax(logits, axis=1).cumsum(axis=1)
            chosen = (cumulative < rng.random((POOL, 1))).sum(axis=1)
            self.labels = np.minimum(chosen, n_classes - 1)
        else:
            wrong = (predicted + rng.integers(1, n_classes, size=POOL)) % n_classes
            self.labels = np.where(rng.random(POOL) < accuracy, predicted, wrong)
        self.correct = self.labels == predicted
        self.truth = float(self.correct.mean())
        of_class = np.bincount(self.labels, minlength=n_classes)
        self.profile = of_class / POOL
        self.truth_of_class = np.bincount(self.labels, self.correct, minlength=n_classes) / of_class
        # LAC in the form that keeps its order: −log p of the true label, and of the runner-up.
        total = logsumexp(logits, axis=1)
        self.score = total - logits[np.arange(POOL), self.labels]
        self.second = total - np.partition(logits, -2, axis=1)[:, -2]
        scores = np.sort(self.score[rng.integers(POOL, size=CALIBRATION)])
        self.levels = np.searchsorted(scores, self.second, side="left") / (CALIBRATION + 1)
        self.parts = strata(self.levels)
        part = self.parts.assign(self.levels)
        self.members = [np.flatnonzero(part == s) for s in range(len(self.parts.weights))]

    def draw(self, n: int, m: int, sizes: np.ndarray, rng: np.random.Generator) -> Draw:
        """Labelled (n), unlabelled (m) and stratified inputs (`sizes` of each stratum), drawn independently."""
        labelled, unlabelled = rng.integers(POOL, size=n), rng.integers(POOL, size=m)
        chosen = np.concatenate(
            [rng.choice(rows, size) for rows, size in zip(self.members, sizes, strict=True)]
        )
        below = np.searchsorted(np.sort(self.score[labelled]), self.second[unlabelled], side="left")
        return Draw(
            correct=self.correct[labelled],
            labels=self.labels[labelled],
            levels_labelled=self.levels[labelled],
            levels_operation=self.levels[unlabelled],
            second_counts=np.bincount(n + 1 - below, minlength=n + 2),
            correct_stratified=self.correct[chosen],
            stratum=np.repeat(np.arange(len(sizes)), sizes),
            parts=self.parts,
            profile=self.profile,
        )

    def short_of_truth(self, found: Found) -> np.ndarray:
        """Truth − bound: one number, or one for each class where the bounds hold for all classes together."""
        if isinstance(found, tuple):
            return self.truth_of_class - [bound.value for bound in found]
        return np.array([self.truth - found.value])


def _scale_for(noise: np.ndarray, accuracy: float) -> float:
    """The scale at which the mean largest softmax probability is the accuracy, by bisection on 2,000 rows."""
    low, high = 0.01, 100.0
    for _ in range(25):
        middle = np.sqrt(low * high)
        sure = softmax(middle * noise[:2000], axis=1).max(axis=1).mean()
        low, high = (middle, high) if sure < accuracy else (low, middle)
    return low


@dataclass(frozen=True)
class Cell:
    """What one method did in one world: misses among its draws, and the mean of truth − bound."""

    misses: int
    draws: int
    gap: float
    proven: bool

    @property
    def too_many(self) -> bool:
        """More misses than a chance of 5 % explains: above the 99.9 % quantile of the binomial."""
        return bool(self.misses > binom.ppf(0.999, self.draws, 0.05))

    @property
    def share(self) -> str:
        """Of misses, in per cent, marked where they are too many."""
        return f"{100 * self.misses / self.draws:.1f}{'!' * self.too_many}"

    def __str__(self) -> str:
        return f"{self.share} / {self.gap:.4f}"


def measure(world: World, method: Method, draws: list[Draw]) -> Cell:
    """One method on every draw, which is also its seed."""
    found = [method(draw, seed) for seed, draw in enumerate(draws)]
    short = np.array([world.short_of_truth(f) for f in found])
    first = found[0][0] if isinstance(found[0], tuple) else found[0]
    proven = isinstance(first, Bound) and first.validity == "finite-sample"
    return Cell(int((short < 0).any(axis=1).sum()), len(draws), float(short.mean()), proven)


def rows(options: argparse.Namespace) -> Any:
    """Of every world and n: its description and a cell for each method."""
    for number, (accuracy, n_classes, informative) in enumerate(product(ACCURACIES, CLASSES, (True, False))):
        world = World(accuracy, n_classes, informative, np.random.default_rng([options.seed, number]))
        for n in LABELLED:
            rng = np.random.default_rng([options.seed, number, n])
            sizes = allocate(n, world.parts.weights, world.parts.levels)
            draws = [world.draw(n, options.inputs, sizes, rng) for _ in range(options.draws)]
            cells = {
                name: measure(world, method, draws[: options.slow_draws] if name in SLOW else draws)
                for name, method in METHODS.items()
            }
            kind = "informative" if informative else "useless"
            yield f"{world.truth:.3f} | {n_classes} | {kind} | {n}", cells


def main() -> None:
    """Print the page; progress and CPU time go to standard error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--draws", type=int, default=300, help="repetitions per row (300)")
    parser.add_argument("--slow-draws", type=int, default=100, help=f"of {' and '.join(SLOW)} (100)")
    parser.add_argument("--inputs", type=int, default=5000, help="unlabelled inputs (5000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings = (
        f"--draws {options.draws} --slow-draws {options.slow_draws} "
        f"--inputs {options.inputs} --seed {options.seed}"
    )
    table: list[tuple[str, dict[str, Cell]]] = []
    for row in rows(options):
        table.append(row)
        print(f"{row[0]}: {time.process_time():.0f} s of CPU", file=sys.stderr)
    print(page(table, settings, options.inputs))


def page(table: list[tuple[str, dict[str, Cell]]], settings: str, inputs: int) -> str:
    """The Markdown page: how it was made, every bound in one line, every cell."""
    heads = {name: name if cell.proven else f"≈ {name}" for name, cell in table[0][1].items()}
    lines = [INTRODUCTION.format(settings=settings, inputs=inputs, bootstrap=BOOTSTRAP), "## In short\n"]
    lines.append(
        "| bound | draws | misses %, all cells | worst cell | cells with ! | median gap ÷ Cl.–P.'s | narrower in |"
    )
    lines.append("| --- " * 7 + "|")
    for name, head in heads.items():
        cells = [row[name] for _, row in table]
        ratios = np.array([row[name].gap / row["Clopper–Pearson"].gap for _, row in table])
        worst = max(cell.misses / cell.draws for cell in cells)
        together = Cell(sum(c.misses for c in cells), sum(c.draws for c in cells), 0.0, cells[0].proven)
        lines.append(
            f"| {head} | {cells[0].draws} | {together.share} | {100 * worst:.1f} | {sum(c.too_many for c in cells)} | "
            f"{np.median(ratios):.2f} | {(ratios < 1).sum()} of {len(cells)} |"
        )
    lines += ["\n## Every cell\n", "| accuracy | K | λ(x) | n | " + " | ".join(heads.values()) + " |"]
    lines.append("| --- " * (4 + len(heads)) + "|")
    lines += [f"| {world} | " + " | ".join(map(str, cells.values())) + " |" for world, cells in table]
    return "\n".join(lines)


INTRODUCTION = """# How often the bounds miss, and how far below the truth they lie

    python benchmarks/bounds_coverage.py {settings} > docs/coverage.md

printed this page. A world is a pool of 20,000 inputs with logits and labels; its accuracy is the truth. Every
repetition draws n labelled and {inputs} unlabelled inputs from it with replacement, and computes each bound at
confidence 0.95. *Informative* λ(x): labels are drawn from the softmax of the logits. *Useless*: the prediction is right
with a chance that does not depend on the input. λ(x) comes from 1,000 calibration rows of their own and is not
recalibrated. The stratified bounds get n labels drawn within at most six strata of λ(x) whose shares of the pool are
known; the marginal conformal bound and the confidence floor take the n labelled inputs as their calibration.

A cell holds the misses (bound above the truth) in per cent, nominally at most 5, and the mean of truth − bound.

- No mark before its name: a bound with a proof for every n. ≈ marks an approximate or asymptotic one, or an estimate
  (Wilson): it promises nothing here, and is shown as it comes.
- "!" marks more misses than a chance of 5 % explains: above the 99.9 % quantile of the binomial of that many draws.
  Of 1,000 cells whose true chance is exactly 5 %, about one shows it by luck. All cells of a bound together are
  judged in the same way.
- "… of every class" misses when any class's bound does; its gap is the mean over the classes, to each class's accuracy.
- "betting, every time" misses when any of the bounds after 1, 2, …, n labels does.
- The bootstrap here draws {bootstrap} times.
- A slow bound sees the first draws only, so that its gap is noisier than the others'. Where it is near another's, more
  draws are needed to tell them apart.
- A belief has no share of repetitions: `conservative_bayes` is not in the table.
"""


if __name__ == "__main__":
    main()
