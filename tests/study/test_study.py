"""The study from end to end on a small data set in MNIST's form; training; the literal loop of the paper."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from study_data import digits, write_digits
from type_checks import without_type_checks

pytest.importorskip("torch", reason="the study trains with PyTorch, an optional extra")
pytest.importorskip("matplotlib", reason="the study draws with matplotlib, an optional extra")

from infimum import InputError, Outputs
from infimum.models import load
from infimum.study import tables
from infimum.study.datasets import LEVELS, Images
from infimum.study.measuring import FIDELITY, MODES, prepare
from infimum.study.networks import recipe
from infimum.study.study import reproduce
from infimum.study.training import to_pixels, train, trained


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """Data, the study's folder, and what was reported."""
    base = tmp_path_factory.mktemp("study")
    data = write_digits(base / "data", 3000, 2000)
    said: list[str] = []
    with without_type_checks():
        reproduce(data, base / "out", quick=True, n_repetitions=2, report=said.append)
    return data, base / "out", said


@pytest.mark.slow
def test_everything_is_written(study: tuple[Path, Path, list[str]]) -> None:
    _, out, _ = study
    table = json.loads((out / "table.json").read_text())
    assert table["schema"] == "infimum/study/1"
    found = {(r["dataset"], r["level"], r["mode"]) for r in table["networks"]}
    assert found == {("mnist", level, mode) for level in LEVELS for mode in MODES}
    for row in table["networks"]:
        assert {*tables.FIGURES, *(f"{name}_sd" for name in tables.FIGURES)} <= set(row)
        assert (row["repetitions"], row["n_calibration"]) == (2, 20)
    page = (out / "README.md").read_text()
    for mode in MODES:
        assert tables.markdown(table["networks"], mode) in page
    assert tables.latex(table["networks"]) == (out / "table.tex").read_text()
    for name in ("convergence", "positions", "histogram", "reliability"):
        for mode in MODES:
            assert (out / "figures" / f"{name}-{mode}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_nothing_is_done_twice(study: tuple[Path, Path, list[str]]) -> None:
    data, out, _ = study
    (out / "networks" / "mnist-avg" / "recommended-1.json").unlink()
    before = {p: p.stat().st_mtime_ns for p in (out / "networks").rglob("*.npz")}
    table = (out / "table.json").read_text()
    said: list[str] = []
    reproduce(data, out, quick=True, n_repetitions=2, report=said.append)
    assert [text for text in said if "repetition" in text] == ["mnist avg: recommended, repetition 2 of 2"]
    assert {p: p.stat().st_mtime_ns for p in (out / "networks").rglob("*.npz")} == before
    again = json.loads((out / "table.json").read_text())
    assert again["networks"] == json.loads(table)["networks"]


@pytest.mark.slow
def test_another_run_is_not_mixed_in(study: tuple[Path, Path, list[str]]) -> None:
    data, out, _ = study
    with pytest.raises(InputError, match="take another folder"):
        reproduce(data, out, quick=True, seed=1)


def test_bad_names_and_missing_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="datasets must be among"):
        reproduce(tmp_path, tmp_path / "out", datasets=["imagenet"])
    with pytest.raises(InputError, match="levels must be among"):
        reproduce(tmp_path, tmp_path / "out", levels=[])
    with pytest.raises(InputError, match=r"train\.npz does not exist"):
        reproduce(tmp_path, tmp_path / "out", datasets=["mnist"])


@pytest.fixture(scope="module")
def small() -> tuple[Images, object]:
    images, labels = digits(300, 5)
    return Images(images, labels.astype(np.int64)), replace(recipe("mnist"), epochs=2)


@pytest.mark.slow
def test_training_is_deterministic_and_kept(small: tuple[Images, object], tmp_path: Path) -> None:
    import torch

    images, how = small
    first, facts = trained(tmp_path, images, how, 10)  # type: ignore[arg-type]
    again, _ = train(images, how, 10)  # type: ignore[arg-type]
    other, _ = train(images, how, 10, seed=1)  # type: ignore[arg-type]
    kept, read = trained(tmp_path, images, how, 10)  # type: ignore[arg-type]
    assert read == json.loads(json.dumps(facts))
    weights = [network.state_dict()["0.weight"] for network in (first, again, kept, other)]
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[3])
    with pytest.raises(InputError, match="another run"):
        trained(tmp_path, images, how, 10, seed=1)  # type: ignore[arg-type]
    (tmp_path / "weights.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(InputError, match="remove it to train again"):
        trained(tmp_path, images, how, 10)  # type: ignore[arg-type]


@pytest.mark.slow
def test_levels_are_those_of_the_literal_loop(small: tuple[Images, object]) -> None:
    """Algorithm 1 as the paper writes it, ε = δ, 2δ, …, on a trained network."""
    images, how = small
    network, _ = train(images, how, 10)  # type: ignore[arg-type]
    test_images, labels = digits(400, 6)
    pixels = to_pixels(test_images).numpy().astype(np.float32) / 255
    # Noise, so that the network is wrong now and then and the levels are not all the highest.
    logits = load(network, example=pixels[:2]).outputs(pixels).logits
    logits = logits + np.random.default_rng(0).normal(size=logits.shape) * 2
    rep = prepare(Outputs(logits, labels.astype(np.int64)), FIDELITY, seed=0)
    p_values = rep.conformal.p_values(rep.evaluation.logits)
    step, expected = Fraction("0.01"), np.full(len(p_values), np.nan)
    for k in range(1, 100):
        epsilon = k * step
        # p-values are whole multiples of 1/(n+1): compared as whole numbers, not as rounded ones
        counts = np.rint(p_values * (rep.conformal.n + 1)).astype(int)
        size = (counts * epsilon.denominator > epsilon.numerator * (rep.conformal.n + 1)).sum(axis=1)
        expected[(size == 1) & np.isnan(expected)] = float(1 - epsilon)
    resolved = ~np.isnan(expected)
    assert resolved.mean() > 0.5
    assert len(np.unique(expected[resolved])) > 5
    np.testing.assert_array_equal(rep.levels[resolved], expected[resolved])
