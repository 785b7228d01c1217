"""The random streams, one table: whatever infimum draws comes from (seed, stream), and no two streams are alike.

Figures of a seed stay what they are only as long as these numbers do: a stream that is given up keeps its number.
Libraries that take a seed of their own (k-means, folds, torch) are given the user's.
"""

from __future__ import annotations

from enum import Enum, unique

import numpy as np
from jaxtyping import UInt64


@unique
class Stream(Enum):
    """What is drawn, and its number; "key": spawned from the seed, "word": a second word of it."""

    CALIBRATION = ("key", 0x0)
    """u of calibration rows, of operation inputs, of samples: by row (`conformal/_draws.py`)."""
    OPERATION = ("key", 0x1)
    SAMPLES = ("key", 0x2)
    MANIFOLD = ("key", 0x5A)
    """Features from a density model, when λ is sampled."""
    HELD_OUT = ("key", 0x4E1D)
    FIDELITY = ("key", 0xF1D)
    CHOICE_FOLDS = ("key", 0x5E1)
    CHOICE_SAMPLES = ("key", 0x5E2)

    TUNING_SPLIT = ("word", 0x7E57)
    BOOTSTRAP = ("word", 0xB007)
    """Of estimates: calibration rows drawn again."""
    STRATIFIED_BOOTSTRAP = ("word", 0x57)
    BOUND_REHEARSAL = ("word", 0xBE57)
    COMPARED_ROWS = ("word", 0xE8)
    FREQUENCIES = ("word", 0xF0)
    PERMUTATIONS = ("word", 0xBE)
    CLASSIFIER_HALVES = ("word", 0xA0C)
    FLOW_ORDER = ("word", 0xF1)
    BY_WEIGHT = ("word", 0x3E1)
    KEPT_FEATURES = ("word", 0xFEA)
    PLAN_POWERED = ("word", 0x991)
    PLAN_STRATIFIED = ("word", 0x992)
    PLAN_STOPPING = ("word", 0x993)
    LABELS_TO_BUY = ("word", 0x5E1)

    STUDY_TRAINING_SHARE = ("word", 0x7A1)
    STUDY_TEST_SPLIT = ("word", 0x7E5)
    STUDY_REGION_MAP = ("word", 0x3A9)

    HASH = ("word", 0x0DD)
    """Odd numbers that rows are hashed with: of no seed (`fixed`)."""

    def generator(self, seed: int, *more: int) -> np.random.Generator:
        """The stream of this seed, and of each tuple of further whole numbers.

        >>> one, other = Stream.BOOTSTRAP.generator(0), Stream.PERMUTATIONS.generator(0)
        >>> bool(one.random() == other.random())
        False
        """
        kind, number = self.value
        if kind == "key":
            return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, *more)))
        return np.random.default_rng([seed, number, *more])

    def fixed(self) -> np.random.Generator:
        """The stream that is the same for every seed."""
        return np.random.default_rng(self.value[1])

    def key(self, seed: int) -> UInt64[np.ndarray, "2"]:
        """The key of a counter-based generator."""
        sequence = np.random.SeedSequence(entropy=seed, spawn_key=(self.value[1],))
        return sequence.generate_state(2, np.uint64)


def counted(key: UInt64[np.ndarray, "2"], skip: int) -> np.random.Generator:
    """A counter-based generator that begins `skip` counts later: each count holds four draws of 64 bits.

    Source: Philox 4x64 (Salmon et al., 2011).
    """
    bits = np.random.Philox(key=key)
    bits.advance(skip)
    return np.random.Generator(bits)


def branched(rng: np.random.Generator) -> np.random.Generator:
    """A stream of its own, from one draw of another: what takes it may draw as much as it likes."""
    return np.random.default_rng(int(rng.integers(2**63)))
