"""Rows streamed from Parquet and from a folder of npz: time against raw read and scoring in memory, and most memory.

    python benchmarks/streaming.py [--rows 10000000] [--classes 10] [--runs 5] [--ray]

The files are written to a temporary folder first and are in the system's cache. Every line is a process of its own
(its peak RSS holds the imports, about 150 MiB). The processes take turns, so that a busy machine slows all of them;
times are medians and leave out imports and a first run. With --ray, the same scoring by Ray with 1 and 2 workers, the
start of Ray left out. Processor seconds are those of the process and its threads (not of Ray's workers).
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from multiprocessing import Process
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
from timing import machine, print_table

import infimum.outputs._stream
from infimum import Outputs, assess
from infimum.conformal import LambdaSummary, calibrate
from infimum.outputs._stream import open_stream
from infimum.scoring.parts import FileSource
from infimum.scoring.scoring import score_to_file
from infimum.scoring.writing import Engine

PART = 2**20
"""Rows of a row group, and of an npz."""

BLOCK = 100_000
"""Rows scored at a time where they lie in memory."""


def write(folder: Path, rows: int, classes: int) -> None:
    """A calibration of 1,000 rows, and the operation as a Parquet file and as a folder of npz."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)

    def outputs(n: int) -> Outputs:
        logits = (rng.normal(size=(n, classes)) * 3).astype(np.float32)
        return Outputs(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))

    outputs(1000).save(folder / "cal.npz")
    (folder / "ops").mkdir()
    schema = pa.schema([("logits", pa.list_(pa.float32(), classes)), ("labels", pa.int64())])
    with pq.ParquetWriter(folder / "ops.parquet", schema) as writer:
        for start in range(0, rows, PART):
            block = outputs(min(PART, rows - start))
            block.save(folder / "ops" / f"part-{start:012d}.npz")
            logits = pa.FixedSizeListArray.from_arrays(pa.array(block.logits.reshape(-1)), classes)
            writer.write_table(pa.table({"logits": logits, "labels": block.labels}, schema=schema))


def work_of(job: str, folder: Path) -> Callable[[], object]:
    """What is timed, prepared; a job's name is what is done and where the rows lie."""
    labelled = Outputs.load(folder / "cal.npz")
    cal = calibrate(labelled.logits, labelled.labels)
    done, _, where = job.partition(" ")
    path = folder / ("ops" if where == "npz" else "ops.parquet")
    ops = Outputs.load(path) if where == "memory" else None

    def read() -> object:
        return sum(len(block) for _, block in open_stream(path).blocks())

    def streamed() -> object:
        summary = LambdaSummary(cal.n)
        for row, block in open_stream(path).blocks():
            summary.add(cal.top_two(block.logits, first_row=row))
        return summary.value

    def in_memory(ops: Outputs) -> object:
        summary = LambdaSummary(cal.n)
        for row in range(0, len(ops), BLOCK):  # results of all rows at once would cost page faults
            summary.add(cal.top_two(ops.logits[row : row + BLOCK], first_row=row))
        return summary.value

    def score(engine: Engine | None = None) -> object:
        out = folder / f"levels-{os.getpid()}.npz"
        made = score_to_file(FileSource(path), cal, out, engine=engine)
        out.unlink()
        return made.mean

    def assessed() -> object:
        return assess(labelled, open_stream(path) if ops is None else ops).lambda_.value

    if done.startswith("ray"):
        import ray

        from infimum.scoring.ray_engine import RayEngine

        workers = int(done[-1])
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        return lambda: score(RayEngine(workers))

    def profile() -> object:
        """Seconds of each stage of a streamed assess, all in one thread."""
        infimum.outputs._stream.read_ahead = iter
        profiler = cProfile.Profile()
        profiler.runcall(assessed)
        stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
        inclusive = {(Path(file).stem, name): entry[3] for (file, _, name), entry in stats.items()}
        return [inclusive[stage] for stage in STAGES.values()]

    works = {
        "read": read,
        "profile": profile,
        "lambda": streamed if ops is None else partial(in_memory, ops),
        "score": score,
        "assess": assessed,
    }
    return works[done]


WORDS = {
    "lambda memory": "λ and its error, rows in memory already",
    "assess memory": "assess(), rows in memory already",
    "read parquet": "Parquet: raw read, checked",
    "lambda parquet": "Parquet: λ and its error, streamed",
    "assess parquet": "Parquet: assess(), streamed",
    "score parquet": "Parquet: `infimum score`, streamed to an npz",
    "read npz": "npz folder: raw read, checked",
    "lambda npz": "npz folder: λ and its error, streamed",
    "assess npz": "npz folder: assess(), streamed",
    "ray-1 parquet": "Parquet: `infimum score --engine ray`, 1 worker",
    "ray-2 parquet": "Parquet: `infimum score --engine ray`, 2 workers",
}

STAGES = {
    "decoding Parquet": ("parquet", "_file_blocks"),
    "checks of what was read": ("outputs", "__post_init__"),
    "SHA-256 of what was read": ("provenance", "add"),
    "search for rows of the calibration": ("hints", "among"),
    "p-values of the two best labels": ("calibration", "top_two"),
    "sums of λ and its error": ("summary", "add"),
    "figures of the report": ("collect", "add"),
    "two-sample test of 2,000 rows": ("exchangeability", "compare_rows"),
}
"""Functions, by file, that a streamed assess spends its time in; the first four are called by the thread that reads."""

REPORTED = ("seconds", "processor", "memory", "found")


def serve(job: str, folder: Path) -> None:
    """Prepare a job, and run it for every line that comes: seconds, processor seconds, peak MiB, and what it found."""
    work = work_of(job, folder)
    print("ready", flush=True)
    for _ in sys.stdin:
        began, used = time.perf_counter(), time.process_time()
        found = work()
        times = (time.perf_counter() - began, time.process_time() - used)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(json.dumps(dict(zip(REPORTED, (*times, memory, found), strict=True))), flush=True)


def measure(jobs: list[str], folder: Path, runs: int) -> dict[str, dict[str, Any]]:
    """Medians of each job's seconds, its peak, and what it found; one run before is not counted."""
    command = [sys.executable, __file__, "--folder", str(folder), "--job"]
    found: dict[str, list[dict[str, Any]]] = {job: [] for job in jobs}
    with ExitStack() as stack:
        processes = {}
        for job in jobs:
            started = subprocess.Popen([*command, job], stdin=PIPE, stdout=PIPE, text=True)
            processes[job] = stack.enter_context(started)
            started.stdout.readline()  # type: ignore[union-attr]
        for run in range(runs + 1):
            for job, process in processes.items():
                process.stdin.write("run\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                line = json.loads(process.stdout.readline())  # type: ignore[union-attr]
                if run:
                    found[job].append(line)
        for process in processes.values():
            process.stdin.close()  # type: ignore[union-attr]
    return {
        job: {
            **lines[-1],
            **{key: statistics.median(line[key] for line in lines) for key in ("seconds", "processor")},
        }
        for job, lines in found.items()
    }


def main() -> None:
    """Print one table."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--classes", type=int, default=10)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--ray", action="store_true")
    options.add_argument("--job")
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    if given.job:
        serve(given.job, given.folder)
        return
    print(machine("pyarrow"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Not in this process: its peak would be the least of those that it starts.
        writing = Process(target=write, args=(folder, given.rows, given.classes))
        writing.start()
        writing.join()
        size = (folder / "ops.parquet").stat().st_size / 2**20
        jobs = [job for job in WORDS if given.ray or not job.startswith("ray")]
        found = measure(jobs, folder, given.runs)
        (profiled,) = measure(["profile parquet"], folder, 1).values()
    print(f"{given.rows:,} rows × {given.classes} classes, {size:,.0f} MiB of Parquet.\n")
    rows = []
    for job, of in found.items():
        done, where = job.split(" ")
        floor, own = found["lambda memory"], found.get(f"{done} memory", {})
        ratios = ["", ""]
        if where != "memory" and done != "read":
            raw = found[f"read {where}"]["seconds"]
            ratios = [
                f"{of['seconds'] / max(raw, base['seconds']):.2f}" if base else "" for base in (floor, own)
            ]
        rows.append(
            (
                WORDS[job],
                f"{of['seconds']:.2f}",
                *ratios,
                f"{of['processor']:.2f}",
                f"{of['memory']:.0f}",
            )
        )
    heads = (
        "work",
        "seconds",
        "/ larger of read and λ in memory",
        "/ larger of read and the same in memory",
        "processor seconds",
        "peak RSS, MiB",
    )
    print_table(heads, rows)
    print()
    for done, name in (("lambda", "λ"), ("assess", "assess()")):
        same = len({of["found"] for job, of in found.items() if job.startswith(done)}) == 1
        print(f"{name} in memory, from Parquet and from npz: {'the same bits' if same else 'DIFFERENT'}.")
    print(f"\nassess(), streamed from Parquet, all in one thread: {profiled['seconds']:.2f} s, of which\n")
    print_table(
        ("stage", "seconds"),
        [(stage, f"{s:.2f}") for stage, s in zip(STAGES, profiled["found"], strict=True)],
    )


if __name__ == "__main__":
    main()
