"""On two published networks, at equal labels, what must lie nearer to the truth than Clopper–Pearson does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from infimum.bounds import strata

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "labels_needed.py"


@pytest.mark.slow
@pytest.mark.parametrize("network", ["CIFAR-10 VGG-16", "CIFAR-100 DenseNet"])
def test_levels_save_labels(shared_data: Path, network: str) -> None:
    """Mean gaps over 30 samples of 300 labels; the benchmark prints what 300 samples say."""
    spec = importlib.util.spec_from_file_location("labels_needed", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    outputs = dict(benchmark.published(shared_data / "outputs"))[network]
    correct, raw, level = benchmark.levels(outputs)
    parts = strata(level)
    rows = [benchmark.one_draw(correct, raw, level, parts, 300, seed) for seed in range(30)]
    gap = {name: correct.mean() - np.mean([row[name] for row in rows]) for name in rows[0]}
    for name in (
        "prediction_powered asymptotic, recalibrated",
        "stratified bootstrap",
        "stratified signed_root",
    ):
        assert 0 < gap[name] < 0.9 * gap["clopper_pearson"], name
    assert gap["prediction_powered betting, recalibrated"] < gap["betting"]
    assert gap["stratified e_process"] < gap["stratified bonferroni"]
