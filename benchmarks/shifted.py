"""Outputs of small networks on real images and on shifted ones, trained here and kept in a folder.

Two convolutional networks, on 20,000 MNIST and 20,000 CIFAR-10 training images (one thread: about two minutes), see the
official test images as they are and rotated, noisy, blurred and of low contrast; the first one also sees USPS digits.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from infimum import Outputs

SEVERITIES = {
    "mnist": {
        "rotated °": (15, 30, 45),
        "noise": (0.3, 0.5, 0.7),
        "blur": (1, 1.5, 2),
        "contrast": (0.5, 0.3, 0.15),
    },
    "cifar10": {
        "rotated °": (10, 20, 40),
        "noise": (0.03, 0.06, 0.12),
        "blur": (0.5, 0.8, 1.2),
        "contrast": (0.7, 0.5, 0.3),
    },
}


def rotated(images: np.ndarray, degrees: float) -> np.ndarray:
    """Turned about the centre, edges repeated."""
    from scipy.ndimage import rotate

    return rotate(images, degrees, axes=(2, 1), reshape=False, order=1, mode="nearest")


def noisy(images: np.ndarray, sd: float) -> np.ndarray:
    """Gaussian noise on every pixel."""
    drawn = np.random.default_rng(0).normal(scale=sd, size=images.shape)
    return np.clip(images + drawn, 0, 1)


def blurred(images: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian blur of `sigma` pixels."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images, (0, sigma, sigma, 0))


def pale(images: np.ndarray, factor: float) -> np.ndarray:
    """Contrast about each image's mean, times `factor`."""
    mean = images.mean(axis=(1, 2, 3), keepdims=True)
    return mean + factor * (images - mean)


SHIFTS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "rotated °": rotated,
    "noise": noisy,
    "blur": blurred,
    "contrast": pale,
}


def network_outputs(data: Path, cache: Path, name: str) -> dict[str, Outputs]:
    """Outputs of one network, "as trained" and by shift; from the cache where it has them."""
    place = cache / name
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        for i, (condition, outputs) in enumerate(made(data, name)):
            outputs.save(place / f"{i:02} {condition}.npz")
        (place / "done").touch()
    return {path.stem[3:]: Outputs.load(path) for path in sorted(place.glob("*.npz"))}


def made(data: Path, name: str) -> Iterator[tuple[str, Outputs]]:
    """Train, then run every condition."""
    load = runpy.run_path(str(data / "load.py"))["load"]
    images, labels = scaled(*load(name, "train"))
    run = trained(images[:20_000], labels[:20_000])
    images, labels = scaled(*load(name, "test"))
    yield "as trained", Outputs(run(images), labels)
    if name == "mnist":
        usps, usps_labels = load("usps", "test")
        yield "USPS", Outputs(run(like_mnist(usps)), usps_labels)
    for shift, severities in SEVERITIES[name].items():
        for severity in severities:
            yield f"{shift} {severity}", Outputs(run(SHIFTS[shift](images, severity)), labels)


def scaled(images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, height, width, channels) in [0, 1], and labels."""
    images = images if images.ndim == 4 else images[..., None]
    return (images / 255).astype(np.float32), labels


def like_mnist(usps: np.ndarray) -> np.ndarray:
    """16×16 digits resized to 20×20 and padded to 28×28, as MNIST's were made."""
    from scipy.ndimage import zoom

    larger = zoom(usps / 255.0, (1, 1.25, 1.25), order=1, grid_mode=True, mode="nearest")
    return np.pad(np.clip(larger, 0, 1), ((0, 0), (4, 4), (4, 4)))[..., None].astype(np.float32)


def trained(images: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A small convolutional network after a few epochs, as a function from images to logits."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    size, channels = images.shape[1], images.shape[3]
    network = nn.Sequential(
        *(nn.Conv2d(channels, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(48 * (size // 4) ** 2, 96), nn.ReLU(), nn.Linear(96, 10)),
    )
    epochs = 4 if channels == 1 else 10
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    x, y = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(labels)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()

    def run(inputs: np.ndarray) -> np.ndarray:
        batch = torch.from_numpy(inputs.astype(np.float32)).permute(0, 3, 1, 2)
        with torch.no_grad():
            return torch.cat([network(part) for part in batch.split(1000)]).numpy()

    return run
