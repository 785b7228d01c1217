"""The study's twelve networks, as the benchmarks read them: a folder per network, written by `infimum reproduce`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infimum import Head, Outputs
from infimum.conformal import Calibration, calibrate
from infimum.io.files import read_arrays

DATASETS = ("mnist", "fashion_mnist", "cifar10", "ham10000")
LEVELS = ("best", "avg", "worst")


class StudyNetwork(NamedTuple):
    """A network, features that it was not trained on for manifolds, and its test outputs."""

    name: str
    head: Head
    features: np.ndarray
    test: Outputs

    def calibrated(self, seed: int) -> tuple[Calibration, np.ndarray]:
        """A calibration on a tenth of the test rows (a fifth of HAM10000's), and the rows that are left."""
        order = np.random.default_rng([seed, 0xCA]).permutation(len(self.test))
        n = len(order) // (10 if len(order) > 5000 else 5)
        rows = order[:n]
        return calibrate(self.test.logits[rows], self.test.known_labels[rows], seed=seed), order[n:]


def study_networks(study: Path) -> Iterator[StudyNetwork]:
    """All twelve, in the order of the paper's table."""
    for dataset in DATASETS:
        for level in LEVELS:
            folder = study / "nets" / f"{dataset}-{level}"
            yield StudyNetwork(
                f"{dataset} {level}",
                Head.load(folder / "head.npz"),
                read_arrays(folder / "manifold-recommended.npz")["features"],
                Outputs.load(folder / "test.npz"),
            )
