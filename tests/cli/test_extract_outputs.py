"""`infimum extract` never writes over what it reads, nor one output over the other."""

from __future__ import annotations

import os

import numpy as np
import pytest
from typer.testing import CliRunner

import infimum.models
from infimum import Head, InputError
from infimum.cli.app import app
from infimum.models import Cut, NetworkAdapter

W = np.eye(3, 4)


@pytest.fixture(autouse=True)
def _network(monkeypatch, tmp_path):
    cut = Cut(lambda x: (x @ W.T, x), Head(W), "hand-made", "head")
    monkeypatch.setattr(infimum.models, "load", lambda *_, **__: NetworkAdapter(cut))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.npz").write_bytes(b"model")
    np.savez("x.npz", x=np.ones((5, 4)))
    os.symlink("m.npz", "link.npz")


@pytest.mark.parametrize(
    ("out", "head", "message"),
    [
        ("o.npz", "o.npz", "as --out is"),
        ("o.npz", "./o.npz", "as --out is"),
        ("o.npz", "m.npz", r"m\.npz is an input too"),
        ("o.npz", "link.npz", r"link\.npz is an input too"),
        ("o.npz", "x.npz", r"x\.npz is an input too"),
    ],
)
def test_head_out_is_another_file(out, head, message):
    result = CliRunner().invoke(
        app, ["extract", "--model", "m.npz", "--data", "x.npz", "--out", out, "--head-out", head]
    )
    assert isinstance(result.exception, InputError)
    with pytest.raises(InputError, match=message):
        raise result.exception
    assert sorted(os.listdir()) == ["link.npz", "m.npz", "x.npz"]


def test_a_warning_is_one_line_and_said_once():
    image = pytest.importorskip("PIL.Image", reason="Images need Pillow")
    for name in ("1", "2", "3"):
        os.makedirs(f"d/{name}")
        image.new("RGB", (2, 2)).save(f"d/{name}/a.png")
    options = ["--images", "resize=none,crop=none", "--network", "preprocess=steps:flat"]
    with open("steps.py", "w") as file:
        file.write("def flat(x):\n    return x.reshape(len(x), -1)[:, :4]\n")
    result = CliRunner().invoke(
        app, ["extract", "--model", "m.npz", "--data", "d", "--out", "o.npz", *options]
    )
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.splitlines() if "warning" in line.lower()]
    assert lines == [line for line in lines if line.startswith("warning: d: the class folders are numbers")]
    assert len(lines) == 1
