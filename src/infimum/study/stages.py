"""The study's stages for one network, each kept in a file and not redone: training, outputs, mixture, repetitions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.head import Head
from infimum.io.files import read_arrays, write_npz
from infimum.io.replacing import write_bytes
from infimum.manifold import Manifold, fit_kernel
from infimum.manifold._gmm import GaussianMixtureLaw
from infimum.manifold._manifold import ManifoldFit
from infimum.outputs._outputs import Outputs
from infimum.study.authors_mixture import fit_from_means
from infimum.study.datasets import N_CLASSES, Images, split_training
from infimum.study.measuring import MODES, Mode, measure
from infimum.study.networks import recipe
from infimum.study.training import to_pixels, trained

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Stage:
    """One network of the study: its data, and the folder that holds everything made of it."""

    dataset: str
    level: str
    train: Images
    test: Images
    folder: Path
    seed: int
    report: Report

    @property
    def name(self) -> str:
        """For example "mnist best"."""
        return f"{self.dataset} {self.level}"

    def say(self, text: str) -> None:
        """Report with the network's name in front."""
        self.report(f"{self.name}: {text}")


@dataclass(frozen=True, eq=False)
class StageOutputs:
    """Outputs of a network on the test file, its head, and the features of D_gaus in each mode."""

    test: Outputs
    head: Head
    manifold: dict[str, Array]


def outputs(stage: Stage) -> StageOutputs:
    """The trained network's outputs, from the folder or made (and the network trained) now."""
    split = split_training(stage.dataset, len(stage.train), stage.seed)
    rows = {"recommended": split.manifold}
    if stage.dataset == "ham10000":
        rows["fidelity"] = split.manifold_fidelity
    names = {"test": stage.folder / "test.npz", **{k: stage.folder / f"manifold-{k}.npz" for k in rows}}
    head = stage.folder / "head.npz"
    if not all(path.exists() for path in (*names.values(), head)):
        from infimum.models import load

        how = recipe(stage.dataset)
        images = stage.train[split.train[stage.level]]
        network, _ = trained(stage.folder, images, how, N_CLASSES[stage.dataset], stage.seed, stage.say)
        stage.say("outputs and features")
        adapter = load(network, example=_unit(to_pixels(stage.test.images[:2]).numpy()))
        for key, path in names.items():
            some = stage.test if key == "test" else stage.train[rows[key]]
            made = adapter.outputs(to_pixels(some.images).numpy(), labels=some.labels, preprocess=_unit)
            made.save(path)
        if not isinstance(adapter.head, Head):
            raise TypeError(f"{stage.name}: the network's prediction layer must be linear")
        adapter.head.save(head)
    manifold = {key: read_arrays(names[key])["features"] for key in rows}
    manifold.setdefault("fidelity", manifold["recommended"])
    return StageOutputs(Outputs.load(names["test"], stage.name), Head.load(head), manifold)


def law(stage: Stage, measured: StageOutputs, mode: Mode) -> Manifold:
    """The mode's manifold of D_gaus: the authors' mixture (kept in a file), or the kernel."""
    features = measured.manifold[mode.name]
    predicted = measured.head.logits(features).argmax(axis=1)
    if mode.name == "recommended":
        return fit_kernel(features, predicted)
    path = stage.folder / "mixture.npz"
    if not path.exists():
        stage.say(f"mixture of {len(features)} features of {features.shape[1]} dimensions")
        mixture = fit_from_means(features, predicted, stage.seed)
        write_npz(
            path,
            {
                "weights": mixture.weights,
                "means": mixture.means,
                "factors": np.stack(mixture.factors),
                "fit": np.array(json.dumps(mixture.fit.to_dict())),
            },
        )
    kept = read_arrays(path)
    fit = ManifoldFit.from_dict(json.loads(str(kept["fit"])))
    return GaussianMixtureLaw(kept["weights"], kept["means"], list(kept["factors"]), fit)


def repetitions(stage: Stage, modes: list[str], number: int) -> dict[str, list[dict[str, Any]]]:
    """The figures of every repetition in every mode; repetition r draws splits, u and samples with seed + r."""
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in modes}
    measured: StageOutputs | None = None
    for name in modes:
        manifold: Manifold | None = None
        for r in range(number):
            path = stage.folder / f"{name}-{r}.json"
            if not path.exists():
                measured = outputs(stage) if measured is None else measured
                manifold = law(stage, measured, MODES[name]) if manifold is None else manifold
                stage.say(f"{name}, repetition {r + 1} of {number}")
                began = time.perf_counter()
                figures = measure(measured.test, manifold, measured.head, MODES[name], stage.seed + r)
                figures["seconds"] = round(time.perf_counter() - began, 2)
                figures["manifold"] = manifold.fit.to_dict()
                write_bytes(path, (json.dumps(figures, indent=1) + "\n").encode())
            found[name].append(json.loads(path.read_text("utf-8")))
    return found


def retrained(stage: Stage, r: int) -> Stage:
    """The same network trained anew for repetition r, in a folder of its own."""
    return replace(stage, seed=stage.seed + r, folder=stage.folder.with_name(f"{stage.folder.name}-{r}"))


def _unit(batch: Array) -> Array:
    return batch.astype(np.float32) / np.float32(255)
