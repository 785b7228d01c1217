"""Training the study's networks: adam, deterministic for a seed on one machine, weights kept in a folder."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.replacing import replace_file, write_bytes
from infimum.models._torch.run import import_torch
from infimum.study.datasets import Images
from infimum.study.networks import Module, Recipe

Report = Callable[[str], None]

VALIDATION = 0.1
"""Share of D_train that only watches the training, its last rows."""

THREADS = 2
"""Threads of a training: sums are split among them, so another number gives other last digits."""


def train(
    images: Images, recipe: Recipe, n_classes: int, seed: int = 0, report: Report | None = None
) -> tuple[Module, dict[str, Any]]:
    """A trained network in eval mode, and what its training was like; `report` gets a line per epoch."""
    torch = import_torch()
    n_train = len(images) - int(VALIDATION * len(images))
    pixels = to_pixels(images.images)
    labels = torch.from_numpy(np.asarray(images.labels))
    began, epoch = time.perf_counter(), []
    with _reproducible(seed):
        network = recipe.build(n_classes).to(memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(network.parameters(), lr=recipe.rate)
        loss = torch.nn.CrossEntropyLoss(weight=_class_weights(labels[:n_train], n_classes, recipe.balance))
        steps = recipe.epochs * -(-n_train // recipe.batch)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps) if recipe.cosine else None
        for number in range(1, recipe.epochs + 1):
            network.train()
            for rows in torch.randperm(n_train).split(recipe.batch):
                if len(rows) < 2:
                    continue  # batch norm knows no variance of one image
                batch = pixels[rows].float().div_(255)
                if recipe.augment:
                    batch = _turned(batch)
                optimizer.zero_grad(set_to_none=True)
                loss(network(batch.contiguous(memory_format=torch.channels_last)), labels[rows]).backward()
                optimizer.step()
                if schedule is not None:
                    schedule.step()
            network.eval()
            validation = accuracy(network, pixels[n_train:], labels[n_train:])
            epoch.append(validation)
            if report is not None:
                report(f"training, epoch {number}/{recipe.epochs}, validation accuracy {validation:.4f}")
    return network, {
        "seed": seed,
        "n_images": len(images),
        "epochs": recipe.epochs,
        "n_train": n_train,
        "n_validation": len(images) - n_train,
        "validation_accuracy": epoch,
        "seconds": round(time.perf_counter() - began, 1),
        "torch": torch.__version__,
    }


def trained(
    folder: Path, images: Images, recipe: Recipe, n_classes: int, seed: int = 0, report: Report | None = None
) -> tuple[Module, dict[str, Any]]:
    """The network of `folder`, or a new one that is then kept there (weights.safetensors, training.json)."""
    weights, facts = folder / "weights.safetensors", folder / "training.json"
    asked = {"seed": seed, "n_images": len(images), "epochs": recipe.epochs}
    if weights.exists() and facts.exists():
        told = json.loads(facts.read_text("utf-8"))
        kept = {key: told.get(key) for key in asked}
        if kept != asked:
            raise InputError(
                f"{folder} holds a network of another run ({kept}, not {asked}); take another folder"
            )
        return _read(weights, recipe, n_classes), told
    folder.mkdir(parents=True, exist_ok=True)
    network, told = train(images, recipe, n_classes, seed, report)
    from safetensors.torch import save_file

    state = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    replace_file(weights, lambda unfinished: save_file(state, unfinished))
    write_bytes(facts, (json.dumps(told, indent=1) + "\n").encode())
    return network, told


def _read(weights: Path, recipe: Recipe, n_classes: int) -> Module:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    network = recipe.build(n_classes)
    try:
        network.load_state_dict(load_file(weights))
    except (SafetensorError, RuntimeError) as error:
        raise InputError(
            f"{weights} does not hold this network ({str(error).splitlines()[0]}); remove it to train again"
        ) from error
    return network.eval()


def to_pixels(images: Array) -> Any:
    """Images as a uint8 tensor (n, channels, height, width)."""
    torch = import_torch()
    tensor = torch.from_numpy(np.ascontiguousarray(images))
    return tensor[:, None] if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2)


def accuracy(network: Module, pixels: Any, labels: Any) -> float:
    """Share of the images (uint8 tensor) that a network in eval mode classifies correctly."""
    torch = import_torch()
    if len(labels) == 0:
        return float("nan")
    right = 0
    with torch.inference_mode():
        for some, true in zip(pixels.split(1000), labels.split(1000), strict=True):
            right += int((network(some.float().div_(255)).argmax(1) == true).sum())
    return right / len(labels)


def _class_weights(labels: Any, n_classes: int, power: float) -> Any:
    """Inverse class frequencies to a power, of mean 1 over the images; None leaves the loss as it is."""
    torch = import_torch()
    if power == 0:
        return None
    counts = torch.bincount(labels, minlength=n_classes).clamp_min(1).double()
    weights = counts.pow(-power)
    return (weights / (weights[labels].mean())).float()


def _turned(batch: Any) -> Any:
    """Each image flipped and turned by a right angle at random: a lesion has no upright."""
    torch = import_torch()
    kind = torch.randint(0, 8, (len(batch),))
    out = torch.empty_like(batch)
    for k in range(8):
        rows = kind == k
        some = torch.rot90(batch[rows], k % 4, (2, 3))
        out[rows] = some.flip(3) if k >= 4 else some
    return out


@contextlib.contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """Seeded, deterministic, with a fixed number of threads; torch's own state is put back afterwards."""
    torch = import_torch()
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
        torch.random.set_rng_state(state)
