"""Outputs of a tree: few distinct ones, many times each, as of nearest neighbours, int8 heads and dead units."""

from __future__ import annotations

import numpy as np

from infimum import Outputs

DISTINCT = 40


def world(n: int, seed: int, distinct: int = DISTINCT) -> Outputs:
    """Inputs of a tree: 40 distinct outputs, each right with a probability of its own; about .74 on average."""
    leaf = np.random.default_rng(7)
    logits = np.stack([leaf.uniform(0, 6, distinct), np.zeros(distinct)], axis=1)
    chance = 1 / (1 + np.exp(-logits[:, 0] / 2))
    rng = np.random.default_rng([seed, 1])
    at = rng.integers(distinct, size=n)
    return Outputs(logits[at], (rng.random(n) > chance[at]).astype(np.int64))


def truth(distinct: int = DISTINCT) -> float:
    leaf = np.random.default_rng(7)
    return float((1 / (1 + np.exp(-leaf.uniform(0, 6, distinct) / 2))).mean())
