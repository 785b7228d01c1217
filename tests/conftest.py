"""Shared fixtures: a network small enough to compute by hand, and where the real data lies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import type_checks

from infimum import Head, Outputs

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, which a fresh clone does not have."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("real data not here: ../shared/data is missing in a fresh clone")
    return folder


@pytest.fixture(scope="module")  # not longer: its event loop would be in the way of other tests' own
def browser() -> Iterator[Any]:
    """The machine's own Chromium; nothing is downloaded."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = os.environ.get("CHROMIUM") or next((p for p in map(shutil.which, CHROMIUM) if p), None)
    if found is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium, or set CHROMIUM)")
    with api.sync_playwright() as playwright:
        # Started as root, as in a container, Chromium needs its own sandbox off; the pages are our own.
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=120_000)
        yield opened
        opened.close()


@pytest.fixture
def without_type_checks() -> Iterator[None]:
    """For simulations; the types are checked by the other tests of the same functions."""
    with type_checks.without_type_checks():
        yield


class ToyNetwork:
    """Gaussian features around class means, a linear head, and labels drawn from its softmax: well specified."""

    def __init__(
        self, n_classes: int = 4, n_features: int = 6, sharpness: float = 2.0, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.means = rng.normal(size=(n_classes, n_features)) * 1.5
        self.head = Head(self.means * sharpness / 1.5, rng.normal(size=n_classes) * 0.2)

    def features(self, n: int, rng: np.random.Generator) -> np.ndarray:
        component = rng.integers(len(self.means), size=n)
        return self.means[component] + rng.normal(size=(n, self.means.shape[1]))

    def outputs(self, n: int, rng: np.random.Generator, *, name: str = "outputs") -> Outputs:
        features = self.features(n, rng)
        logits = self.head.logits(features)
        gumbel = rng.gumbel(size=logits.shape)
        return Outputs(logits, (logits + gumbel).argmax(axis=1), features, name=name)


@pytest.fixture(scope="session")
def toy() -> ToyNetwork:
    return ToyNetwork()
