"""With very many classes no step holds much more than its input: at most three times, the input counted."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import infimum
from infimum import Outputs
from infimum.estimators import estimate

N_CLASSES, ROWS = 20_000, 100
SIZE = 4 * N_CLASSES * 2 * ROWS


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder, rng = tmp_path_factory.mktemp("memory"), np.random.default_rng(0)
    for name in ("cal", "ops"):
        labels = rng.integers(0, N_CLASSES, ROWS)
        logits = rng.standard_normal((ROWS, N_CLASSES), dtype=np.float32)
        logits[np.arange(ROWS), labels] += np.float32(15)
        np.savez(folder / f"{name}.npz", logits=logits, labels=labels)
    return folder / "cal.npz", folder / "ops.npz"


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    "call",
    [
        lambda cal, ops: infimum.assess(cal, ops, levels="temperature=fit"),
        lambda cal, ops: estimate(cal, ops),
    ],
    ids=["assess", "estimate"],
)
def test_peak_is_at_most_three_times_the_input(
    call: Callable[[Outputs, Outputs], object], files: tuple[Path, Path]
) -> None:
    call(
        *(Outputs.load(path).taken(slice(0, 8)) for path in files)
    )  # what is imported on the way is no memory of data
    tracemalloc.start()
    try:
        call(*(Outputs.load(path) for path in files))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert SIZE < peak < 3 * SIZE
