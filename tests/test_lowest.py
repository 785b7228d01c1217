"""The dependencies' lower bounds: those tested (`make lowest`) are those promised; and one way through the program."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from command_line import call

from infimum import Head, Outputs
from infimum.cli.main import app

ROOT = Path(__file__).parents[1]


def lowest() -> dict[str, str]:
    """Name and version of each."""
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_lower_bounds_are_the_versions_that_are_tested() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert dict(text.split(">=") for text in declared) == lowest()


@pytest.mark.skipif("lowest" not in sys.prefix, reason="make lowest has an environment of its own")
def test_these_are_installed() -> None:
    for name, wanted in lowest().items():
        assert version(name).removesuffix(".0") == wanted


def test_help_of_every_command() -> None:
    for command in [None, *(c.callback.__name__ for c in app.registered_commands if c.callback)]:
        assert "Usage" in call(*([] if command is None else [command]), "--help").output


def test_assess_and_certify(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    z = 6 * np.eye(3)[y] + rng.normal(size=(600, 3))
    Outputs(z[:300], y[:300], z[:300]).save(tmp_path / "cal.npz")
    Outputs(z[300:], None, z[300:]).save(tmp_path / "ops.safetensors")
    Head(np.eye(3)).save(tmp_path / "head.npz")
    data = ("--calibration", tmp_path / "cal.npz", "--operation", tmp_path / "ops.safetensors")
    manifold = (
        "--head",
        tmp_path / "head.npz",
        "--manifold",
        "gmm",
        "--sampling",
        "se:draw=sobol",
        "--levels",
        "temperature=fit",
    )
    call("assess", *data, *manifold, "--target", 0.9, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "report.html").is_file()
    assert "met" in call("certify", "--labels", tmp_path / "cal.npz", "--target", 0.9).output
