"""How far each label-free estimate is from the truth, without and with shift: the table of docs/estimators.md.

    python benchmarks/estimators.py [--data ../shared/data] [--cache build/shifted] [--draws 5]

Real data only: outputs of two networks that others trained, and of two small ones trained here (needs torch and
Pillow; minutes, once). In every draw 1,000 labelled rows as trained are the calibration; the operation is what is
left of them, or the same images shifted, so that no image is in both. Seeds are fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from shifted import network_outputs

from infimum import Outputs
from infimum.estimators import _estimate as base
from infimum.estimators import estimate

SHORT = {
    "success_level": "λ",
    "recalibrated_success_level": "λ recal.",
    "calibrated_confidence": "CBPE",
    "average_confidence": "avg conf.",
    "difference_of_confidences": "DoC",
    "atc_max_probability": "ATC max",
    "atc_negative_entropy": "ATC ent.",
}
PUBLISHED = {"CIFAR-10 VGG-16": "cifar10_vgg16", "CIFAR-100 DenseNet": "cifar100_densenet-bc-100"}
TRAINED = {"MNIST CNN": "mnist", "CIFAR-10 CNN": "cifar10"}
CALIBRATION = 1000


class Condition(NamedTuple):
    """A network as trained, and what it says under a condition."""

    network: str
    name: str
    trained: Outputs
    operation: Outputs
    same_images: bool = True
    classes: int = 10**9
    """Only labels below this are in the operation."""


def conditions(data: Path, cache: Path) -> Iterator[Condition]:
    """All rows of the table."""
    for network, file in PUBLISHED.items():
        with np.load(data / "outputs" / f"{file}.npz") as npz:
            outputs = Outputs.from_probabilities(npz["probs"], labels=npz["labels"])
        yield Condition(network, "as trained", outputs, outputs)
        yield Condition(network, "half the classes", outputs, outputs, classes=outputs.n_classes // 2)
    for network, file in TRAINED.items():
        found = network_outputs(data, cache, file)
        for name, outputs in found.items():
            yield Condition(network, name, found["as trained"], outputs, same_images=name != "USPS")


def rows_of(outputs: Outputs, rows: np.ndarray) -> Outputs:
    """Some rows, with their labels."""
    return Outputs(outputs.logits[rows], outputs.known_labels[rows])


def draw(condition: Condition, seed: int) -> tuple[np.ndarray, bool, float | None]:
    """Accuracy, then each estimate; whether the test rejected; its AUC."""
    order = np.random.default_rng(seed).permutation(len(condition.trained))
    calibration, rest = rows_of(condition.trained, order[:CALIBRATION]), order[CALIBRATION:]
    rest = rest if condition.same_images else np.arange(len(condition.operation))
    rest = rest[condition.operation.known_labels[rest] < condition.classes]
    found = estimate(calibration, rows_of(condition.operation, rest), seed=seed)
    values = [found.accuracy, *(e.value for e in found.estimates)]
    return np.array(values), found.exchangeability.rejected, found.exchangeability.auc


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("build/shifted"))
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    base.REPLICATES = 2  # standard errors are not in the table
    head = ["network", "condition", "λ*", *SHORT.values(), "differs", "AUC"]
    print(
        f"Mean absolute error over {options.draws} draws of {CALIBRATION} calibration rows; + or − where every draw"
    )
    print("errs to that side; how often the test says that the two differ, and the AUC of its classifier.\n")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    errors: dict[str, list[np.ndarray]] = {"mean without shift": [], "mean under shift": []}
    for condition in conditions(options.data, options.cache):
        values, rejected, auc = zip(*(draw(condition, seed) for seed in range(options.draws)), strict=True)
        table = np.array(values)
        signed = table[:, 1:] - table[:, :1]
        error = np.abs(signed).mean(axis=0)
        errors["mean without shift" if condition.name == "as trained" else "mean under shift"].append(error)
        side = np.where((signed > 0).all(axis=0), "+", np.where((signed < 0).all(axis=0), "−", ""))
        cells = [f"{s}{e:.3f}" for s, e in zip(side, error, strict=True)] + [
            f"{np.mean(rejected):.0%}",
            f"{np.mean(auc):.2f}",
        ]
        cells = [condition.network, condition.name, f"{table[:, 0].mean():.3f}", *cells]
        print(f"| {' | '.join(cells)} |", flush=True)
    for label, rows in errors.items():
        cells = [f"**{e:.3f}**" for e in np.mean(rows, axis=0)]
        print(f"| {label} | {len(rows)} conditions | | {' | '.join(cells)} | | |")


if __name__ == "__main__":
    main()
