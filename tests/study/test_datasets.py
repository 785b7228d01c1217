"""The study's data: files with images or JPEG streams, and the paper's splits."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError
from infimum.study.datasets import read_images, split_test, split_training


@pytest.mark.parametrize(
    ("dataset", "n", "train", "held"),
    [
        ("mnist", 60_000, (50_000, 25_000, 500), 10_000),
        ("fashion_mnist", 60_000, (50_000, 25_000, 500), 10_000),
        ("cifar10", 50_000, (40_000, 20_000, 4_000), 10_000),
        ("ham10000", 4_487, (3_590, 1_795, 359), 897),
    ],
)
def test_training_split_is_the_papers(dataset: str, n: int, train: tuple[int, ...], held: int) -> None:
    split = split_training(dataset, n, seed=3)
    assert tuple(len(rows) for rows in split.train.values()) == train
    assert len(split.manifold) == held
    assert sorted(np.concatenate([split.train["best"], split.manifold])) == list(
        range(n)
    )  # disjoint, nothing lost
    assert set(split.train["worst"]) < set(split.train["avg"]) < set(split.train["best"])
    inside = dataset == "ham10000"  # the paper's D_gaus lies in D_train there
    assert (set(split.manifold_fidelity) <= set(split.train["best"])) is inside


def test_test_split_is_drawn_anew_by_seed() -> None:
    first, again, other = (split_test(10_000, seed) for seed in (0, 0, 1))
    assert sorted(np.concatenate(first)) == list(range(10_000))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_images_are_read(tmp_path: Path) -> None:
    images = np.arange(2 * 784, dtype=np.uint8).reshape(2, 28, 28)
    np.savez(tmp_path / "a.npz", images=images, labels=np.array([3, 9], dtype=np.uint8))
    found = read_images(tmp_path / "a.npz", "mnist")
    assert (found.images == images).all()
    assert found.labels.tolist() == [3, 9]
    assert len(found[:1]) == 1


def test_jpeg_streams_are_read(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="JPEG needs Pillow, an optional extra")
    streams = []
    for grey in (10, 200):
        buffer = BytesIO()
        image.new("RGB", (32, 32), (grey, grey, grey)).save(buffer, "JPEG")
        streams.append(np.frombuffer(buffer.getvalue(), np.uint8))
    offsets = np.cumsum([0, *(len(s) for s in streams)])
    np.savez(tmp_path / "a.npz", jpeg=np.concatenate(streams), offsets=offsets, labels=[0, 1])
    found = read_images(tmp_path / "a.npz", "cifar10")
    assert found.images.shape == (2, 32, 32, 3)
    assert [int(round(float(i.mean()), -1)) for i in found.images] == [10, 200]
    np.savez(tmp_path / "cut.npz", jpeg=np.concatenate(streams)[:-300], offsets=offsets, labels=[0, 1])
    with pytest.raises(InputError, match="offsets"):
        read_images(tmp_path / "cut.npz", "cifar10")
    np.savez(tmp_path / "bad.npz", jpeg=np.zeros(20, np.uint8), offsets=[0, 20], labels=[0])
    with pytest.raises(InputError, match="image 0 is no JPEG"):
        read_images(tmp_path / "bad.npz", "cifar10")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"images": np.zeros((2, 28, 28), np.uint8)}, "must hold 'labels'"),
        ({"images": np.zeros((2, 28, 28)), "labels": [0, 1]}, "uint8"),
        ({"images": np.zeros((2, 32, 32), np.uint8), "labels": [0, 1]}, r"\(28, 28\)"),
        ({"images": np.zeros((2, 28, 28), np.uint8), "labels": [0]}, "as many whole labels"),
        ({"images": np.zeros((2, 28, 28), np.uint8), "labels": [0, 10]}, "from 0 to 9"),
        ({"jpeg": np.zeros(9, np.uint8), "labels": [0]}, "offsets"),
    ],
)
def test_bad_files_are_refused(arrays: dict[str, object], said: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        read_images(tmp_path / "bad.npz", "mnist")
