"""Why the study's CIFAR-10 worst network is better than the paper's: batch norm's momentum and Keras's start.

    python benchmarks/batch_norm.py --data DIR

trains the network on a tenth of D_train as the study does, and with Keras's initialisation and batch norm.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from infimum.study.datasets import read_images, split_training
from infimum.study.networks import cifar10, recipe
from infimum.study.training import accuracy, to_pixels, train


def as_in_keras(n_classes: int) -> Any:
    """Glorot's initialisation, zero biases, momentum 0.99 (PyTorch counts it from the other end) and ε 0.001."""
    network = cifar10(n_classes)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            layer.momentum, layer.eps = 0.01, 1e-3
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            torch.nn.init.xavier_uniform_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
    return network


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with cifar10/train.npz and test.npz")
    data = parser.parse_args().data / "cifar10"
    images, test = (read_images(data / f"{part}.npz", "cifar10") for part in ("train", "test"))
    some = images[split_training("cifar10", len(images)).train["worst"]]
    print("| batch norm and start | accuracy on the test file |\n| --- | --- |")
    for name, build in (("PyTorch's", cifar10), ("Keras's", as_in_keras)):
        network, _ = train(some, replace(recipe("cifar10"), build=build), 10)
        found = accuracy(network, to_pixels(test.images), torch.from_numpy(test.labels))
        print(f"| {name} | {found:.4f} |", flush=True)


if __name__ == "__main__":
    main()
