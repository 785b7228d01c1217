"""Time and memory of extracting a network's outputs against a bare loop of its framework, side by side in one run.

    python benchmarks/extraction.py
    python benchmarks/extraction.py --inputs 100000 --batch-size 256 --runs 7

A small CNN reads synthetic grey images of 28 x 28 pixels from an .npy file. The bare loop is what one writes by hand:
load the network, map the file, run batch after batch, keep the logits, save them. infimum loads the same network,
finds its prediction layer, proves the cut, checks every number, and writes logits *and* features. Both are timed from
the framework's import to the file written; every run is a process of its own, so that its peak of resident memory is
its own; bare and infimum take turns. Ratios are of medians. Beside the time on the clock stands that of the
processors, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# The parent imports no framework: a child's peak memory begins at its parent's on Linux.

FORMATS = {
    "nn.Module": "state.pt",
    "TorchScript": "network.ts",
    "torch.export": "network.pt2",
    "ONNX": "network.onnx",
}


def network() -> Any:
    """The CNN: 30,000 weights, 64 features, ten classes."""
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()),
        *(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)),
    ).eval()


def make(folder: Path, inputs: int) -> None:
    """Images and the network in each format."""
    import logging
    import warnings

    import numpy as np
    import torch

    # What TorchScript and torch's ONNX exporter say of themselves.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    images = np.lib.format.open_memmap(folder / "images.npy", "w+", np.float32, (inputs, 1, 28, 28))
    rng = np.random.default_rng(0)
    for start in range(0, inputs, 4096):
        images[start : start + 4096] = rng.random(images[start : start + 4096].shape, np.float32)
    images.flush()
    module, example = network(), torch.zeros(2, 1, 28, 28)
    torch.save(module.state_dict(), folder / FORMATS["nn.Module"])
    torch.jit.trace(module, example).save(str(folder / FORMATS["TorchScript"]))
    shapes = ({0: torch.export.Dim("n", min=1)},)
    program = torch.export.export(module, (example,), dynamic_shapes=shapes)
    torch.export.save(program, folder / FORMATS["torch.export"])
    torch.onnx.export(module, (example,), folder / FORMATS["ONNX"], dynamic_shapes=shapes, verbose=False)


def bare(kind: str, folder: Path, batch_size: int) -> None:
    """The loop that one writes by hand."""
    import numpy as np

    file = str(folder / FORMATS[kind])
    if kind == "ONNX":
        import onnxruntime

        session = onnxruntime.InferenceSession(file)
        name = session.get_inputs()[0].name

        def run(batch: np.ndarray) -> np.ndarray:
            return session.run(None, {name: batch})[0]
    else:
        import torch

        if kind == "nn.Module":
            module = network()
            module.load_state_dict(torch.load(file, weights_only=True))
        else:
            module = torch.jit.load(file) if kind == "TorchScript" else torch.export.load(file).module()

        def run(batch: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return module(torch.from_numpy(batch)).numpy()

    images = np.load(folder / "images.npy", mmap_mode="r")
    logits = [
        run(np.array(images[start : start + batch_size])) for start in range(0, len(images), batch_size)
    ]
    np.save(folder / "bare.npy", np.concatenate(logits))


def infimum(kind: str, folder: Path, batch_size: int) -> None:
    """The same with infimum."""
    import numpy as np

    from infimum.models import extract, load

    model: Any = folder / FORMATS[kind]
    if kind == "nn.Module":
        import torch

        model = network()
        model.load_state_dict(torch.load(folder / FORMATS[kind], weights_only=True))
    example = np.array(np.load(folder / "images.npy", mmap_mode="r")[:batch_size])
    out = folder / "infimum.io.npz"
    extract(load(model, example=example), folder / "images.npy", out, batch_size=batch_size)


def one(kind: str, who: str, folder: Path, batch_size: int) -> None:
    """Run one of the two in this process; print seconds and the peak of memory in MiB."""
    import resource
    import warnings

    import numpy as np  # noqa: F401

    warnings.simplefilter("ignore")  # of TorchScript, about itself
    if kind == "ONNX":
        import onnxruntime  # noqa: F401
    else:
        import torch  # noqa: F401
    began, used = time.perf_counter(), time.process_time()
    {"bare": bare, "infimum": infimum}[who](kind, folder, batch_size)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(json.dumps({"seconds": seconds, "processor": used, "peak": peak}))


def process(*arguments: object) -> dict[str, float]:
    """Run a part of this file in a process of its own; what it printed last."""
    done = subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=60_000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        what, folder, number, *rest = asked.child
        if what == "make":
            make(Path(folder), int(number))
        else:
            one(*rest, Path(folder), int(number))
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        process("--child", "make", folder, asked.inputs)
        found: dict[tuple[str, str], list[dict[str, float]]] = {}
        for run in range(asked.runs + 1):
            for kind in asked.formats:
                for who in ("bare", "infimum") if run % 2 else ("infimum", "bare"):
                    made = process("--child", "one", folder, asked.batch_size, kind, who)
                    if run:  # the first fills caches and does not count
                        found.setdefault((kind, who), []).append(made)
    print(
        f"{asked.inputs:,} images of 28 x 28 in batches of {asked.batch_size}, medians of {asked.runs} runs, "
        f"{os.cpu_count()} cores\n"
    )
    print("| network | time | | ratio | processor time | | ratio | peak memory | | ratio |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    print(f"| | {' | '.join(['bare', 'infimum', ''] * 3)} |")
    for kind in asked.formats:
        cells = []
        for what, unit, form in (("seconds", "s", ".2f"), ("processor", "s", ".2f"), ("peak", "MiB", ".0f")):
            b, i = (statistics.median(r[what] for r in found[kind, who]) for who in ("bare", "infimum"))
            cells += [f"{b:{form}} {unit}", f"{i:{form}} {unit}", f"{i / b:.2f}"]
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
