"""A network run and scored by 1 and by 2 Ray workers, beside one process; and, on paper, by more.

    python benchmarks/ray_scaling.py [--inputs 98304] [--runs 3]

Medians; the three take turns. Every process computes with one thread. The start of Ray is left out; that of the workers
(they import, and load the network) is a column of its own, and the parts per second are counted after it: from when
each worker has sent one part. Processor seconds are those spent on parts, here or by the workers: what they do not
share.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infimum.cli.network import NetworkOptions
from infimum.cli.network_source import NetworkSource
from infimum.conformal import Calibration, calibrate
from infimum.io.files import write_npz
from infimum.scoring.scoring import Engine, FileSource, PartScorer, Table, score_to_file

FEATURES, HIDDEN, CLASSES, BATCH = 256, 1536, 100, 256
PART, FREE_PARTS = 4096, 300
PROJECTED = (1, 2, 4, 8, 16, 32, 64, 128)


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
    write: float
    processor: float


def measure(folder: Path, calibration: Calibration, engine: Engine | None, out: Path, workers: int) -> Run:
    """Score once, noting when the parts come and what this process does with them."""
    arrived: list[float] = []
    asked = ready = writing = 0.0

    def noting(scorer: PartScorer, starts: Sequence[int]) -> Iterator[tuple[int, Table, int]]:
        nonlocal asked, ready, writing
        asked = time.perf_counter()
        noted = Noted(**vars(scorer))
        made = engine(noted, starts) if engine else ((start, *noted.part(start)) for start in starts)
        for item in made:
            arrived.append(time.perf_counter())
            yield item
            writing += time.perf_counter() - arrived[-1]
        ready = time.perf_counter()

    options = NetworkOptions(folder / "net.pt", None, None, None, "cpu", False, BATCH, None, False, None)
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
        write=writing + ended - ready,
        processor=sum(map(float, log)),
    )


class Free(PartScorer):
    """Makes parts of the usual size that cost no work."""

    def part(self, start: int) -> tuple[Table, int]:
        """Zeros."""
        columns = ("predicted", "success_levels", "p_top", "p_second")
        return {name: np.zeros(self.rows) for name in columns}, 0


def handing_out(engine: Engine, folder: Path, calibration: Calibration) -> float:
    """Seconds from part to part where they cost no work: what the caller takes to hand them out and write them."""
    scorer = Free(FileSource(folder), calibration, PART)
    arrived = []
    for start, table, _ in engine(scorer, range(0, FREE_PARTS * PART, PART)):
        write_npz(folder / f"free-{start}.npz", table)
        arrived.append(time.perf_counter())
    begun = FREE_PARTS // 10  # until then the second worker may not be there
    return (arrived[-1] - arrived[begun]) / (len(arrived) - 1 - begun)


def median(runs: list[Run]) -> Run:
    """Of every figure."""
    return Run(*(statistics.median(values) for values in zip(*runs, strict=True)))


def project(one: Run, serial: float, parts: int) -> None:
    """Amdahl's law: workers share the parts; one process hands them out, writes and joins them."""
    work = 1 / one.rate
    print(
        f"\nA part takes a worker {work:.3f} s. Parts that cost no work come every {serial:.4f} s from two workers: so "
        f"long does the one process that was called take to hand one out and to write it ({one.write / parts:.4f} s). "
        f"Once for all parts: {one.plan:.1f} s to look at the network and the inputs, {one.first - work:.1f} s to "
        "start the workers. On paper, for so many parts that these do not count, and if nothing else is shared (disk, "
        "network):\n"
    )
    print("| workers |" + "".join(f" {w} |" for w in PROJECTED))
    print("|---|" + "---|" * len(PROJECTED))
    times = [(work + serial) / (work / w + serial) for w in PROJECTED]
    print("| times as fast as 1 |" + "".join(f" {t:.1f} |" for t in times))
    print(
        f"\nNever more than {(work + serial) / serial:.0f} times, whatever the number of workers: Amdahl's law."
    )


def main() -> None:
    """Print two tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--inputs", type=int, default=24 * PART)
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    import ray
    import torch

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
                out = folder / f"{at}-{number}.npz"
                runs[what].append(measure(folder, calibration, engine, out, workers))
        files = {(folder / f"{at}-0.npz").read_bytes() for at in range(len(engines))}
        serial = handing_out(RayEngine(2), folder, calibration)
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
    print(f"\nThe three files: {'the same bytes' if len(files) == 1 else 'DIFFERENT'}.")
    project(found["Ray, 1 worker"], serial, parts)


if __name__ == "__main__":
    main()
