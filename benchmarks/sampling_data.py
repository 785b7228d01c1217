"""A synthetic network's last two layers for the sampling benchmarks: ReLU features of ten classes and a linear head."""

from __future__ import annotations

import numpy as np

from infimum import Head

CLASSES = 10


def features(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) after a ReLU and their classes."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(0)
    centres = world.normal(size=(CLASSES, d))
    mixing = world.normal(size=(d, d)) / np.sqrt(d)
    labels = rng.integers(CLASSES, size=n)
    return np.maximum(0.4 * centres[labels] + rng.normal(size=(n, d)) @ mixing, 0), labels


def head(d: int) -> Head:
    """Least squares from features to classes, scaled to logits of a usual size."""
    x, labels = features(4000, d, seed=1)
    design = np.column_stack([x, np.ones(len(x))])
    weight = np.linalg.lstsq(design, np.eye(CLASSES)[labels] - 0.1, rcond=None)[0].T
    return Head(12 * weight[:, :-1], 12 * weight[:, -1])
