"""The coverage benchmark: it covers every bound, its worlds are what they say, and misses are counted and marked."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from infimum import bounds
from infimum.bounds import allocate, clopper_pearson

ROOT = Path(__file__).parents[2]
NOT_IN_IT = {
    "best": "takes other bounds",
    "conservative_bayes": "a belief, not a share of repetitions",
}
OF_COUNTS = {"confidence_floor", "marginal_conformal"}


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "bounds_coverage", ROOT / "benchmarks" / "bounds_coverage.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_bound_is_in_the_table(benchmark: ModuleType) -> None:
    returned = {
        name: str(inspect.signature(thing).return_annotation)
        for name, thing in vars(bounds).items()
        if name in bounds.__all__ and inspect.isfunction(inspect.unwrap(thing))
    }
    found = {name for name, kind in returned.items() if "Bound" in kind}
    assert found > OF_COUNTS | NOT_IN_IT.keys()
    assert {name for name in found - NOT_IN_IT.keys() - OF_COUNTS if not hasattr(benchmark, name)} == set()


@pytest.mark.parametrize("informative", [True, False])
def test_a_world(benchmark: ModuleType, informative: bool) -> None:
    """Labels follow λ(x) in an informative world only; every method finds a bound below 1."""
    world = benchmark.World(0.9, 10, informative, np.random.default_rng(0))
    assert world.truth == pytest.approx(0.9, abs=0.01)
    assert world.profile @ world.truth_of_class == pytest.approx(world.truth)
    assert (np.corrcoef(world.levels, world.correct)[0, 1] > 0.3) == informative
    sizes = allocate(50, world.parts.weights, world.parts.levels)
    draw = world.draw(50, 500, sizes, np.random.default_rng(1))
    assert np.bincount(draw.stratum).tolist() == sizes.tolist()
    assert draw.second_counts.sum() == 500
    for name, method in benchmark.METHODS.items():
        short = world.short_of_truth(method(draw, 0))
        assert len(short) == (10 if "class" in name and "profile" not in name else 1), name
        assert (short > world.truth - 1.2).all(), name


def test_misses_are_counted_and_marked(benchmark: ModuleType) -> None:
    world = benchmark.World(0.9, 2, False, np.random.default_rng(0))
    sizes = allocate(50, world.parts.weights, world.parts.levels)
    draws = [world.draw(50, 50, sizes, np.random.default_rng(i)) for i in range(40)]

    def too_high(draw: object, seed: int) -> bounds.Bound:
        return clopper_pearson(np.ones(100_000 if seed < 8 else 1))

    cell = benchmark.measure(world, too_high, draws)
    assert (cell.misses, cell.draws, cell.proven) == (8, 40, True)
    assert str(cell).startswith("20.0! / ")
    assert benchmark.Cell(4, 40, 0.1, True).share == "10.0"


def test_the_page_has_a_column_for_each(benchmark: ModuleType) -> None:
    lines = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    head = next(line for line in lines if line.startswith("| accuracy"))
    assert [part.strip().removeprefix("≈ ") for part in head.split("|")[5:-1]] == list(benchmark.METHODS)
    worlds = len(benchmark.ACCURACIES) * len(benchmark.CLASSES) * 2 * len(benchmark.LABELLED)
    assert len(lines) - lines.index(head) - 2 == worlds
