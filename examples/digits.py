"""Assess three classifiers of handwritten digits by the paper's whole process, and print one table.

The same network is trained on 100 %, 50 % and 10 % of the training data. Each is calibrated by RAPS on held-out
labels; a density model of its features is sampled until λ converges; λ*, known here, stands beside it.

    python examples/digits.py [DIRECTORY [PICTURE.svg]]      (seconds; writes one assessment folder per network)
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from infimum import Assessment, Head, Outputs, assess
from infimum.conformal import RAPS

SHARES = {"best": 1.0, "avg": 0.5, "worst": 0.1}
PARTS = {"training": 747, "manifold": 250, "calibration": 250, "tuning": 100, "operation": 450}


class Network(NamedTuple):
    """A trained network, cut before its prediction layer."""

    classifier: MLPClassifier
    head: Head

    def features(self, images: np.ndarray) -> np.ndarray:
        """Activations of the last hidden layer (ReLU)."""
        layers = zip(self.classifier.coefs_[:-1], self.classifier.intercepts_[:-1], strict=True)
        for weight, bias in layers:
            images = np.maximum(images @ weight + bias, 0.0)
        return images

    def outputs(self, images: np.ndarray, labels: np.ndarray, name: str) -> Outputs:
        """Logits, features and labels of a set of images."""
        features = self.features(images)
        return Outputs(self.head.logits(features), labels, features, name=name)


def split(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Images (n, 64) in [0, 1] and labels (n,) of each part; no image is in two parts."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    ends = np.cumsum(list(PARTS.values()))
    rows = dict(zip(PARTS, np.split(order, ends[:-1]), strict=True))
    return {part: (images[r] / 16.0, labels[r]) for part, r in rows.items()}


def train(images: np.ndarray, labels: np.ndarray, seed: int) -> Network:
    """Two hidden layers of 64 and 32."""
    classifier = MLPClassifier((64, 32), max_iter=400, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # the loss is flat long before; it is a demonstration
        classifier.fit(images, labels)
    return Network(classifier, Head(classifier.coefs_[-1].T, classifier.intercepts_[-1]))


def assessed(
    network: Network, parts: dict[str, tuple[np.ndarray, np.ndarray]], name: str, manifold: str, seed: int
) -> Assessment:
    """The paper's process; features of the manifold, calibration and operation are unseen by training."""
    return assess(
        network.outputs(*parts["calibration"], "calibration"),
        network.outputs(*parts["operation"], "operation"),
        tuning=network.outputs(*parts["tuning"], "tuning"),
        head=network.head,
        manifold_data=network.features(parts["manifold"][0]),
        score=RAPS(penalty=0.01, k_reg="auto"),
        manifold=manifold,
        seed=seed,
        name=name,
    )


def table_of(results: dict[str, dict[str, Assessment]]) -> Table:
    """One row per network."""
    table = Table(
        title="How reliable, at least? Three networks on handwritten digits", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("network")
    for head in ("λ\nmixture", "λ\nkernel", "λ real\ninputs", "λ*\naccuracy"):
        table.add_column(head, justify="right")
    table.add_column("at least\n95 %", justify="right", style="bold", no_wrap=True)
    for head in ("λ(x)\ncorrect", "λ(x)\nwrong", "\nPearson"):
        table.add_column(head, justify="right")
    for name, by in results.items():
        a = by["kernel"]
        figures = (
            *(
                f"{x.value:.4f}"
                for x in (by["gmm"].lambda_, a.lambda_, a.lambda_operation, a.success, a.certified[0])
            ),
            *("none" if x is None else f"{x:.4f}" for x in (a.correct, a.incorrect, a.pearson)),
        )
        table.add_row(name, *figures)
    return table


def main(directory: Path, seed: int = 0, picture: Path | None = None) -> dict[str, dict[str, Assessment]]:
    """Train, assess, print, and write one folder per network; `picture` keeps what is printed as an SVG."""
    console = Console(record=picture is not None, width=None if picture is None else 84)
    parts = split(seed)
    results: dict[str, dict[str, Assessment]] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=3 * len(SHARES))
        for name, share in SHARES.items():
            images, labels = parts["training"]
            k = round(share * len(images))
            progress.update(task, description=f"{name}: training on {k} images")
            network = train(images[:k], labels[:k], seed)
            progress.advance(task)
            results[name] = {}
            for manifold in ("gmm", "kernel"):
                progress.update(task, description=f"{name}: sampling the {manifold} manifold")
                results[name][manifold] = assessed(network, parts, name, manifold, seed)
                progress.advance(task)
            results[name]["kernel"].save(directory / name)
    console.print(table_of(results))
    console.print(
        "\nλ is an estimate, not a guarantee; only the column 'at least' is certified, if the labelled images were "
        f"drawn like the operation's. One folder per network is in {directory}.",
        highlight=False,
    )
    if picture is not None:
        no_web_fonts = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        console.save_svg(str(picture), title="make demo", code_format=no_web_fonts)
    return results


if __name__ == "__main__":
    arguments = [Path(a) for a in sys.argv[1:]]
    main(arguments[0] if arguments else Path("demo"), picture=arguments[1] if len(arguments) > 1 else None)
