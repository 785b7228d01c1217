"""How often each bound misses, and how far below the truth it lies: one Markdown table over a grid of worlds.

    python benchmarks/bounds_coverage.py [--draws 200] [--inputs 5000] [--seed 0]

A world is a pool of 20,000 inputs with logits and labels, drawn from with replacement, so the truth (the accuracy
on the pool) is known exactly. Informative λ(x): labels are drawn from the softmax of the logits, whose scale is set
to give the accuracy. Useless: the label is the predicted class with a probability that does not depend on the input.

A cell holds the share of misses (bound above the truth) in per cent, and the mean of truth − bound. "!" marks more
misses than 5 % explains (above the 99.9 % quantile of the binomial). To add a bound, write `method(draw, rng) ->
float` (see `Draw`) and put it into METHODS; it is to hold with confidence 0.95.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import binom

from infimum.bounds import (
    class_profile,
    clopper_pearson,
    confidence_floor_of_counts,
    marginal_conformal_of_counts,
    wilson,
)

ACCURACIES = (0.6, 0.9, 0.99)
LABELLED = (50, 300, 2000)
CLASSES = (2, 10, 100)
POOL = 20_000
CALIBRATION = 1000


@dataclass(frozen=True)
class Draw:
    """What one repetition gives to a method.

    `correct`, `labels`, `levels_labelled` (n,): labelled inputs drawn at random, with λ(x). `levels_operation` (m,):
    λ(x) of unlabelled inputs; `correct_operation` (m,) is for methods that choose which n of them to have labelled,
    and may be read there only. λ(x) comes from 1,000 calibration rows that are not among these (LAC score).
    `second_counts` (n + 2,): runner-up counts of the unlabelled inputs when the labelled ones are the calibration.
    `profile` (K,): class probabilities of operation.
    """

    correct: np.ndarray
    labels: np.ndarray
    levels_labelled: np.ndarray
    levels_operation: np.ndarray
    correct_operation: np.ndarray
    second_counts: np.ndarray
    profile: np.ndarray


Method = Callable[[Draw, np.random.Generator], float]

METHODS: dict[str, Method] = {
    "Clopper–Pearson": lambda draw, _: clopper_pearson(draw.correct).value,
    "class profile": lambda draw, _: class_profile(draw.correct, draw.labels, draw.profile).value,
    "marginal conformal": lambda draw, _: marginal_conformal_of_counts(draw.second_counts).value,
    "confidence floor": lambda draw, _: confidence_floor_of_counts(draw.second_counts).value,
    "Wilson (display only)": lambda draw, _: wilson(draw.correct).value,
}


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
        self.profile = np.bincount(self.labels, minlength=n_classes) / POOL
        # LAC in the form that keeps its order: −log p of the true label, and of the runner-up.
        total = logsumexp(logits, axis=1)
        self.score = total - logits[np.arange(POOL), self.labels]
        self.second = total - np.partition(logits, -2, axis=1)[:, -2]
        scores = np.sort(self.score[rng.integers(POOL, size=CALIBRATION)])
        self.levels = np.searchsorted(scores, self.second, side="left") / (CALIBRATION + 1)

    def draw(self, n: int, m: int, rng: np.random.Generator) -> Draw:
        """Labelled (n) and unlabelled (m) inputs, drawn independently."""
        labelled, unlabelled = rng.integers(POOL, size=n), rng.integers(POOL, size=m)
        below = np.searchsorted(np.sort(self.score[labelled]), self.second[unlabelled], side="left")
        return Draw(
            correct=self.correct[labelled],
            labels=self.labels[labelled],
            levels_labelled=self.levels[labelled],
            levels_operation=self.levels[unlabelled],
            correct_operation=self.correct[unlabelled],
            second_counts=np.bincount(n + 1 - below, minlength=n + 2),
            profile=self.profile,
        )


def _scale_for(noise: np.ndarray, accuracy: float) -> float:
    """The scale at which the mean largest softmax probability is the accuracy, by bisection on 2,000 rows."""
    low, high = 0.01, 100.0
    for _ in range(25):
        middle = np.sqrt(low * high)
        sure = softmax(middle * noise[:2000], axis=1).max(axis=1).mean()
        low, high = (middle, high) if sure < accuracy else (low, middle)
    return low


def _cell(values: np.ndarray, truth: float) -> str:
    misses = int((values > truth).sum())
    mark = "!" if misses > binom.ppf(0.999, len(values), 0.05) else ""
    return f"{100 * misses / len(values):.1f}{mark} / {truth - values.mean():.4f}"


def main() -> None:
    """Print the table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--draws", type=int, default=200, help="repetitions per row (200)")
    parser.add_argument("--inputs", type=int, default=5000, help="unlabelled inputs (5000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(
        f"misses in % / mean gap; {options.draws} draws, {options.inputs} unlabelled inputs, confidence 0.95\n"
    )
    print("| accuracy | K | λ(x) | n | " + " | ".join(METHODS) + " |")
    print("| --- " * (4 + len(METHODS)) + "|")
    for row, (accuracy, n_classes, informative) in enumerate(product(ACCURACIES, CLASSES, (True, False))):
        world = World(accuracy, n_classes, informative, np.random.default_rng([options.seed, row]))
        for n in LABELLED:
            rng = np.random.default_rng([options.seed, row, n])
            draws = [world.draw(n, options.inputs, rng) for _ in range(options.draws)]
            cells = []
            for number, method in enumerate(METHODS.values()):
                own = np.random.default_rng([options.seed, row, n, number])
                cells.append(_cell(np.array([method(draw, own) for draw in draws]), world.truth))
            kind = "informative" if informative else "useless"
            print(
                f"| {world.truth:.3f} | {n_classes} | {kind} | {n} | " + " | ".join(cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
