"""The study's networks, as in the authors' code, in PyTorch; for HAM10000 a smaller one of our own.

Each is an `nn.Sequential` whose last layer is the prediction layer; what it reads are the features. They read
images (n, channels, height, width) in [0, 1] and give logits (the softmax stands in the loss).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infimum.models._torch.run import import_torch

Module = Any
"""A torch.nn.Module; torch is imported only when used."""


@dataclass(frozen=True)
class Recipe:
    """A network of the study and how it is trained.

    `build(n_classes)` makes the untrained network. `batch` and `epochs` are those of adam's run. `augment` flips
    and turns training images; `balance` is the power of the inverse class frequency in the loss (0: none);
    `cosine` lets the learning rate fall to 0 along a half cosine, otherwise it is constant.
    """

    build: Callable[[int], Module]
    epochs: int = 15
    batch: int = 128
    rate: float = 1e-3
    augment: bool = False
    balance: float = 0.0
    cosine: bool = False


def recipe(dataset: str) -> Recipe:
    """The study's recipe for "mnist", "fashion_mnist", "cifar10" or "ham10000".

    >>> recipe("ham10000").augment
    True
    """
    return {
        "mnist": Recipe(mnist),
        "fashion_mnist": Recipe(fashion_mnist),
        "cifar10": Recipe(cifar10),
        "ham10000": Recipe(ham10000, epochs=50, batch=64, augment=True, balance=0.5, cosine=True),
    }[dataset]


def mnist(n_classes: int = 10) -> Module:
    """Two convolutions (32, 64), one maximum pooling, 128 features: 28×28 grey."""
    nn = import_torch().nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, n_classes),
    )


def fashion_mnist(n_classes: int = 10) -> Module:
    """One convolution (32), one maximum pooling, 256 features: 28×28 grey."""
    nn = import_torch().nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(32 * 13 * 13, 256),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(256, n_classes),
    )


def cifar10(n_classes: int = 10) -> Module:
    """Three blocks of two convolutions (32, 64, 128) with batch norm, 128 features: 32×32 colour."""
    nn = import_torch().nn
    blocks: list[Module] = []
    for before, width, dropout in ((3, 32, 0.3), (32, 64, 0.5), (64, 128, 0.5)):
        for channels in (before, width):
            blocks += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(width)]
        blocks += [nn.MaxPool2d(2), nn.Dropout(dropout)]
    return nn.Sequential(
        *blocks,
        nn.Flatten(),
        nn.Linear(128 * 4 * 4, 128),
        nn.ReLU(),
        nn.BatchNorm1d(128),
        nn.Dropout(0.5),
        nn.Linear(128, n_classes),
    )


def ham10000(n_classes: int = 7) -> Module:
    """Five convolutions (16 to 128) with batch norm, mean pooling, 128 features: 64×64 colour.

    Our own: the authors fine-tune an ImageNet InceptionResNetV2 with soft attention at 299×299, which needs
    weights that cannot be had here, and a GPU.
    """
    nn = import_torch().nn
    blocks: list[Module] = []
    for before, width in ((3, 16), (16, 32), (32, 64), (64, 128)):
        blocks += [
            nn.Conv2d(before, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(
        *blocks,
        nn.Conv2d(128, 128, 3, padding=1, bias=False),
        nn.BatchNorm2d(128),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(128, n_classes),
    )
