"""`infimum assess` and `infimum report` with pictures: asked for, at hand, unwanted, and wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import call

import infimum.models
from infimum import Assessment, Head, InputError, Outputs
from infimum.models import Cut, NetworkAdapter

pytest.importorskip("PIL", reason="pictures are made with Pillow")

W = np.random.default_rng(0).normal(size=(3, 64)) * 0.02


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Images, and the outputs of a linear network on them, which `--model` gives too."""

    def run(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
        return flat @ W.T, flat

    monkeypatch.setattr(
        infimum.models, "load", lambda *_, **__: NetworkAdapter(Cut(run, Head(W), "hand-made", "head"))
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").write_bytes(b"model")
    rng = np.random.default_rng(1)
    for name, n in (("cal", 150), ("ops", 120)):
        images = rng.integers(0, 256, size=(n, 8, 8), dtype=np.uint8)
        logits = run(images)[0]
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        np.save(f"{name}_images.npy", images)
        np.save(f"{name}_labels.npy", labels)
        Outputs(logits, labels).save(f"{name}.npz")
    return tmp_path


OUTPUTS = ("--calibration", "cal.npz", "--operation", "ops.npz", "--out", "r")
NETWORK = (
    *("--model", "model", "--calibration", "cal_images.npy", "--labels", "calibration=cal_labels.npy"),
    *("--operation", "ops_images.npy", "--out", "r", "--manifold", "none"),
)


def shown(folder: Path) -> int:
    page = (folder / "r" / "report.html").read_text(encoding="utf-8")
    assert len(page) < 2_000_000
    return page.count('src="data:image/png;base64,')


def test_asked_for(folder: Path) -> None:
    call("assess", *OUTPUTS)
    assert shown(folder) == 0
    call("assess", *OUTPUTS, "--pictures", "ops_images.npy")
    lowest = Assessment.load(folder / "r").diagnostics.lowest
    assert shown(folder) == len(lowest) > 10
    call("report", "r")
    assert shown(folder) == 0
    call("report", "r", "--pictures", "ops_images.npy")
    assert shown(folder) == len(lowest)


def test_at_hand(folder: Path) -> None:
    call("assess", *NETWORK)
    assert shown(folder) > 10
    call("assess", *NETWORK, "--pictures", "none")
    assert shown(folder) == 0


def test_absence_of_what_is_at_hand_is_a_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    result = call("assess", *NETWORK)
    assert "note: no pictures in the report" in result.stderr
    assert "infimum[images]" in result.stderr
    assert shown(folder) == 0
    assert "no pictures" not in call("assess", *NETWORK, "--quiet").stderr


def test_wrong_images_are_named_before_the_run_or_after_it_is_saved(folder: Path) -> None:
    np.save("rows.npy", np.zeros((120, 4)))
    with pytest.raises(InputError, match="holds no pictures"):
        call("assess", *OUTPUTS, "--pictures", "rows.npy")
    with pytest.raises(InputError, match="--out"):
        call("assess", *OUTPUTS[:4], "--pictures", "ops_images.npy")
    assert not (folder / "r").exists()
    with pytest.raises(InputError, match="holds 150 inputs, but 120 were assessed"):
        call("assess", *OUTPUTS, "--pictures", "cal_images.npy")
    assert shown(folder) == 0
