"""A synthetic network's last two layers for the sampling benchmarks: ReLU features of ten classes and a linear head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infimum import Head
from infimum.conformal import Calibration, calibrate
from infimum.manifold import GaussianMixtureLaw, fit_gmm

CLASSES = 10


APART = {"easy": 0.4, "hard": 0.2}
"""Distance of the class centres: accuracies of about 0.99 and 0.74."""


def features(n: int, d: int, seed: int, apart: float = APART["easy"]) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) after a ReLU and their classes."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(0)
    centres = world.normal(size=(CLASSES, d))
    mixing = world.normal(size=(d, d)) / np.sqrt(d)
    labels = rng.integers(CLASSES, size=n)
    return np.maximum(apart * centres[labels] + rng.normal(size=(n, d)) @ mixing, 0), labels


def head(d: int, apart: float = APART["easy"]) -> Head:
    """Least squares from features to classes, scaled to logits of a usual size."""
    x, labels = features(4000, d, seed=1, apart=apart)
    design = np.column_stack([x, np.ones(len(x))])
    weight = np.linalg.lstsq(design, np.eye(CLASSES)[labels] - 0.1, rcond=None)[0].T
    return Head(12 * weight[:, :-1], 12 * weight[:, -1])


class World(NamedTuple):
    """A head, 1,000 calibration rows behind it, and a mixture of 5,000 features."""

    layer: Head
    logits: np.ndarray
    labels: np.ndarray
    calibration: Calibration
    law: GaussianMixtureLaw


def world(d: int, apart: float = APART["easy"]) -> World:
    """Features of d dimensions whose classes are so far apart."""
    layer = head(d, apart)
    x, _ = features(5000, d, seed=2, apart=apart)
    labelled, labels = features(1000, d, seed=3, apart=apart)
    logits = layer.logits(labelled)
    law = fit_gmm(x, layer.logits(x).argmax(axis=1))
    return World(layer, logits, labels, calibrate(logits, labels), law)
