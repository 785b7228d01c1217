"""One table of random streams: numbers that stay, no two alike, and nothing drawn beside it."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

import infimum
from infimum._streams import Stream, branched
from infimum.conformal._draws import uniform_draws

PACKAGE = Path(infimum.__file__).parent
TABLE = PACKAGE / "_streams.py"

MAKERS = {
    "default_rng",
    "SeedSequence",
    "Philox",
    "PCG64",
    "MT19937",
    "SFC64",
    "RandomState",
    "Generator",
    "seed",
}
"""What begins a stream in numpy and in Python's random."""


def modules() -> list[tuple[Path, ast.Module]]:
    """Every module but the table, parsed: doctests are text, and draw what they like."""
    return [(p, ast.parse(p.read_text(encoding="utf-8"))) for p in PACKAGE.rglob("*.py") if p != TABLE]


def test_no_module_begins_a_stream_of_its_own() -> None:
    begun = [
        f"{path.name}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id) in MAKERS
    ]
    assert begun == []


def test_each_stream_is_drawn_from_in_one_module() -> None:
    where = defaultdict(set)
    for path, tree in modules():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "Stream"
            ):
                where[node.attr].add(path.name)
    assert {name: len(files) for name, files in where.items()} == {stream.name: 1 for stream in Stream}


def test_no_two_streams_are_alike() -> None:
    """Names and numbers differ, and so do the draws, also where one number serves two kinds."""
    assert len({stream.value for stream in Stream.__members__.values()}) == len(Stream.__members__)
    for seed in (0, 1, 2**40):
        drawn = [stream.generator(seed).random(4) for stream in Stream]
        assert not any((a == b).any() for a, b in combinations(drawn, 2))
    one, other = Stream.BOOTSTRAP.generator(0), Stream.BOOTSTRAP.generator(1)
    assert one.random() != other.random()
    assert Stream.PLAN_POWERED.generator(0, 5, 1).random() != Stream.PLAN_POWERED.generator(0, 5, 2).random()


def test_figures_of_a_seed_stay() -> None:
    """Draws of numpy with the words and the keys that are in the table, written out."""
    by_word = np.random.default_rng([7, 0xB007, 3]).random(3)
    assert (Stream.BOOTSTRAP.generator(7, 3).random(3) == by_word).all()
    by_key = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(0x5A,))).random(3)
    assert (Stream.MANIFOLD.generator(7).random(3) == by_key).all()
    key = np.random.SeedSequence(7, spawn_key=(1,)).generate_state(2, np.uint64)
    assert (
        uniform_draws(7, "operation", 9) == np.random.Generator(np.random.Philox(key=key)).random(9)
    ).all()
    parent = np.random.default_rng(0)
    assert (
        branched(parent).random()
        == np.random.default_rng(int(np.random.default_rng(0).integers(2**63))).random()
    )
    assert parent.random() != np.random.default_rng(0).random()  # it has gone on
