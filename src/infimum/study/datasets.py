"""The study's data: images with labels from a folder, and the paper's splits (docs/method.md §6)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from infimum._checks import Array
from infimum._streams import Stream
from infimum.errors import InputError, MissingExtraError
from infimum.io.files import read_arrays

DATASETS = ("mnist", "fashion_mnist", "cifar10", "ham10000")
LEVELS = ("best", "avg", "worst")

N_CLASSES = {"mnist": 10, "fashion_mnist": 10, "cifar10": 10, "ham10000": 7}
SHAPES = {"mnist": (28, 28), "fashion_mnist": (28, 28), "cifar10": (32, 32, 3), "ham10000": (64, 64, 3)}

_MAX_PIXELS = 4096**2
"""A JPEG of more pixels is refused: no data set of the study has any near that."""


@dataclass(frozen=True, eq=False)
class Images:
    """Images (n, height, width) or (n, height, width, 3), uint8, and their labels (n,)."""

    images: UInt8[np.ndarray, "n ..."]
    labels: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Array | slice) -> Images:
        return Images(self.images[rows], self.labels[rows])


def read_images(path: str | Path, dataset: str) -> Images:
    """An npz of `images`, or of `jpeg` and `offsets` (all streams joined, and where each begins), and `labels`.

    Raises InputError where images and labels do not fit each other or the data set.
    """
    path = Path(path)
    arrays = read_arrays(path, ("images", "labels", "jpeg", "offsets"))
    if "labels" not in arrays or ("images" not in arrays and "jpeg" not in arrays):
        raise InputError(f"{path} must hold 'labels', and 'images' or 'jpeg' with 'offsets'")
    if "images" in arrays:
        images = arrays["images"]
    elif "offsets" in arrays:
        images = _decoded(arrays["jpeg"], arrays["offsets"], path)
    else:
        raise InputError(f"{path} has 'jpeg' but no 'offsets' that say where each stream begins")
    labels = arrays["labels"]
    shape, n_classes = SHAPES[dataset], N_CLASSES[dataset]
    if images.dtype != np.uint8 or images.shape[1:] != shape:
        raise InputError(
            f"{path}: images must be uint8 of shape {shape}, not {images.dtype} {images.shape[1:]}"
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise InputError(f"{path}: {len(images)} images need as many whole labels, not {labels.shape}")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(f"{path}: labels must be from 0 to {n_classes - 1}, and there must be some")
    return Images(images, labels.astype(np.int64))


def _decoded(jpeg: Array, offsets: Array, path: Path) -> Array:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("JPEG images", "images") from error
    ends = offsets.astype(np.int64)
    if jpeg.dtype != np.uint8 or jpeg.ndim != 1 or ends.ndim != 1 or len(ends) < 2:
        raise InputError(f"{path}: 'jpeg' must be a row of uint8, 'offsets' one number more than images")
    if ends[0] < 0 or ends[-1] > len(jpeg) or (np.diff(ends) <= 0).any():
        raise InputError(f"{path}: 'offsets' must rise and stay inside 'jpeg' ({len(jpeg)} bytes)")
    pictures = []
    for i, (begin, end) in enumerate(itertools.pairwise(ends)):
        try:
            with Image.open(BytesIO(jpeg[begin:end].tobytes()), formats=("JPEG",)) as picture:
                if picture.width * picture.height > _MAX_PIXELS:
                    raise InputError(
                        f"{path}: image {i} is {picture.width}×{picture.height} pixels: too large"
                    )
                pictures.append(np.asarray(picture))
        except OSError as error:
            raise InputError(f"{path}: image {i} is no JPEG that can be read ({error})") from error
    if len({picture.shape for picture in pictures}) > 1:
        raise InputError(f"{path}: the images have different sizes")
    return np.stack(pictures)


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the official training file: for the network, and for the manifold (D_gaus)."""

    train: dict[str, Array]
    manifold_fidelity: Array
    manifold: Array


def split_training(dataset: str, n: int, seed: int = 0) -> Split:
    """D_train of each level and D_gaus, from the n rows of the official training file.

    MNIST and Fashion-MNIST 5 : 1, CIFAR-10 4 : 1, both disjoint. On HAM10000 the paper's D_gaus lies in D_train
    (`manifold_fidelity`); `manifold` is a disjoint fifth of the file. best is all of D_train, avg half of it,
    worst a tenth (a hundredth on MNIST and Fashion-MNIST).

    >>> split = split_training("mnist", 60_000)
    >>> {level: len(rows) for level, rows in split.train.items()}, len(split.manifold)
    ({'best': 50000, 'avg': 25000, 'worst': 500}, 10000)
    """
    share = {"mnist": 6, "fashion_mnist": 6}.get(dataset, 5)
    order = Stream.STUDY_TRAINING_SHARE.generator(seed).permutation(n)
    held = n // share
    train, manifold = order[held:], order[:held]
    worst = 100 if dataset in ("mnist", "fashion_mnist") else 10
    levels = {"best": train, "avg": train[: len(train) // 2], "worst": train[: len(train) // worst]}
    return Split(levels, train if dataset == "ham10000" else manifold, manifold)


def split_test(n: int, seed: int) -> tuple[Array, Array, Array]:
    """Rows of D_eval, D_cal and D_tun, 8 : 1 : 1, from the n rows of the official test file.

    >>> [len(rows) for rows in split_test(10_000, 0)], [len(rows) for rows in split_test(1_497, 0)]
    ([8000, 1000, 1000], [1197, 150, 150])
    """
    order = Stream.STUDY_TEST_SPLIT.generator(seed).permutation(n)
    tenth = (n + 5) // 10
    return order[2 * tenth :], order[:tenth], order[tenth : 2 * tenth]
