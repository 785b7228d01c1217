"""A network run and scored by 1 and by 2 Ray workers, beside one process; and, on paper, by more.

    python benchmarks/ray_scaling.py [--inputs 98304] [--runs 3]

Medians; the three take turns. Every process computes with one thread. The start of Ray is left out; that of the workers
(they import, and load the network) is a column of its own, and the parts per second are counted after it: from when
each worker has made one part. Processor seconds are those spent on parts, here or by the workers: what they do not
share. Parts go to a folder of npz, written by whoever makes them.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy is imported; Ray gives it to its workers, one CPU each

import argparse
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infimum.cli.network import HowRun, NetworkOptions
from infimum.cli.network_source import NetworkSource
from infimum.conformal import Calibration, calibrate
from infimum.models._parts import PartFolder
from infimum.scoring.parts import FileSource, PartScorer, Table
from infimum.scoring.scoring import score_to_file
from infimum.scoring.writing import Engine, PartMade, PartWriter

FEATURES, HIDDEN, CLASSES, BATCH = 256, 1536, 100, 256
PART, FREE_PARTS = 4096, 20_000
PROJECTED = (1, 2, 8, 32, 128, 256, 512, 1024)


def write(folder: Path, inputs: int) -> Calibration:
    """A network of two hidden layers, its inputs, and a calibration."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = (
        nn.Linear(FEATURES, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, CLASSES),
    )
    network = nn.Sequential(*layers).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchScript, about itself
        torch.jit.trace(network, torch.zeros(1, FEATURES)).save(str(folder / "net.pt"))
    rng = np.random.default_rng(0)
    np.save(folder / "inputs.npy", rng.normal(size=(inputs, FEATURES)).astype(np.float32))
    with torch.no_grad():
        logits = network(torch.as_tensor(rng.normal(size=(1000, FEATURES)), dtype=torch.float32)).numpy()
    return calibrate(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


class Noted(PartScorer):
    """Notes the processor seconds of every part that it makes."""

    def part(self, start: int) -> tuple[Table, int]:
        """The part, and a line."""
        used = time.process_time()
        made = super().part(start)
        with open("log", "a", encoding="ascii") as log:
            log.write(f"{time.process_time() - used}\n")
        return made


class Run(NamedTuple):
    """Seconds, but for `rate`: parts per second."""

    total: float
    first: float
    rate: float
    plan: float
    processor: float


def measure(folder: Path, calibration: Calibration, engine: Engine | None, out: Path, workers: int) -> Run:
    """Score once, noting when the parts come and what this process does with them."""
    arrived: list[float] = []
    asked = 0.0

    def noting(writer: PartWriter, starts: Sequence[int]) -> Generator[PartMade, None, None]:
        nonlocal asked
        asked = time.perf_counter()
        noted = replace(writer, scorer=Noted(**vars(writer.scorer)))
        for made in engine(noted, starts) if engine else map(noted.part, starts):
            arrived.append(time.perf_counter())
            yield made

    options = NetworkOptions(folder / "net.pt", HowRun(batch_size=BATCH), trust=False, images=None)
    (folder / "log").write_text("")
    began = time.perf_counter()
    score_to_file(NetworkSource(options, folder / "inputs.npy"), calibration, out, engine=noting)
    ended = time.perf_counter()
    log = (folder / "log").read_text().split()
    return Run(
        total=ended - began,
        first=arrived[0] - asked,
        rate=(len(arrived) - workers) / (arrived[-1] - arrived[workers - 1]),
        plan=asked - began,
        processor=sum(map(float, log)),
    )


class Free(PartWriter):
    """Says that parts are made, and makes none."""

    def part(self, start: int) -> PartMade:
        """As of a part of the usual size."""
        return PartMade(start, 0.5 * PART, PART, 0)


class Cost(NamedTuple):
    """Seconds, and processor seconds of the process that was called, from part to part where they cost no work."""

    seconds: float
    processor: float


def handing_out(engine: Engine, folder: Path, calibration: Calibration) -> Cost:
    """What it costs to hand parts out, and to be told of them."""
    scorer = PartScorer(FileSource(folder), calibration, PART)
    writer = Free(scorer, PartFolder(folder, "npz"), FREE_PARTS * PART)
    begun = FREE_PARTS // 10  # until then the second worker may not be there
    for number, _ in enumerate(engine(writer, range(0, FREE_PARTS * PART, PART))):
        if number == begun:
            began, used = time.perf_counter(), time.process_time()
    ended, spent = time.perf_counter(), time.process_time()
    return Cost((ended - began) / (FREE_PARTS - 1 - begun), (spent - used) / (FREE_PARTS - 1 - begun))


def median(runs: list[Run]) -> Run:
    """Of every figure."""
    return Run(*(statistics.median(values) for values in zip(*runs, strict=True)))


def project(one: Run, at_a_time: int, alone: Cost, dealt: Cost) -> None:
    """Amdahl's law: workers share the parts; one process hands them out and is told of them."""
    work, serial = 1 / one.rate, dealt.seconds
    print(
        f"\nA part takes a worker {work:.3f} s, so that it is handed {at_a_time} at a time. Parts that cost no work, "
        f"handed out so, come every {1000 * serial:.2f} ms from two workers on these cores, and of it the process that "
        f"was called computes for {1000 * dealt.processor:.2f} ms (one at a time: {1000 * alone.seconds:.2f} and "
        f"{1000 * alone.processor:.2f} ms). Once for all parts: {one.plan:.1f} s to look at the network and the "
        f"inputs, {one.first - work:.1f} s to start the workers. On paper, with the whole "
        f"{1000 * serial:.2f} ms as what one process does for all, for so many parts that the start does not count, "
        "and if nothing else is shared (disk, "
        "network):\n"
    )
    print("| workers |" + "".join(f" {w} |" for w in PROJECTED))
    print("|---|" + "---|" * len(PROJECTED))
    times = [(work + serial) / (work / w + serial) for w in PROJECTED]
    print("| times as fast as 1 |" + "".join(f" {t:.1f} |" for t in times))
    print(
        f"\nNever more than {(work + serial) / serial:.0f} times, whatever the number of workers: Amdahl's law. "
        "An output in one file (.npz, .csv) is joined by one process at the end, which is not counted here."
    )


def main() -> None:
    """Print two tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--inputs", type=int, default=24 * PART)
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    import ray
    import torch

    from infimum.scoring.ray_dealing import MOST, TASK_SECONDS
    from infimum.scoring.ray_engine import RayEngine
    from infimum.scoring.ray_session import ray_session

    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    engines: dict[str, tuple[Callable[..., object] | None, int]] = {
        "one process": (None, 1),
        "Ray, 1 worker": (RayEngine(1), 1),
        "Ray, 2 workers": (RayEngine(2), 2),
    }
    runs: dict[str, list[Run]] = {name: [] for name in engines}
    with tempfile.TemporaryDirectory() as name, ray_session(2):
        folder = Path(name)
        calibration = write(folder, given.inputs)
        os.chdir(folder)
        for number in range(given.runs):
            for at, (what, (engine, workers)) in enumerate(engines.items()):
                out = folder / f"{at}-{number}"
                runs[what].append(measure(folder, calibration, engine, out, workers))
        files = {
            tuple((path.name, path.read_bytes()) for path in sorted((folder / f"{at}-0").glob("part-*")))
            for at in range(len(engines))
        }
        at_a_time = max(1, min(MOST, int(TASK_SECONDS * median(runs["Ray, 1 worker"]).rate)))
        alone = handing_out(RayEngine(2, most=1), folder, calibration)
        dealt = handing_out(RayEngine(2, most=at_a_time), folder, calibration)
        os.chdir("/")
    parts = -(-given.inputs // PART)
    print(
        f"{given.inputs:,} inputs in {parts} parts, {FEATURES} features, two hidden layers of {HIDDEN}, "
        f"{CLASSES} classes; "
        f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"torch {torch.__version__}, Ray {ray.__version__}"
    )
    print("\n| | seconds | until the first part | parts/s after it | / one process | processor seconds |")
    print("|---|---|---|---|---|---|")
    found = {what: median(of) for what, of in runs.items()}
    for what, of in found.items():
        print(
            f"| {what} | {of.total:.1f} | {of.first:.1f} | {of.rate:.2f} | {of.rate / found['one process'].rate:.2f} | "
            f"{of.processor:.1f} |"
        )
    print(f"\nThe parts of all three: {'the same bytes' if len(files) == 1 else 'DIFFERENT'}.")
    project(found["Ray, 1 worker"], at_a_time, alone, dealt)


if __name__ == "__main__":
    main()
