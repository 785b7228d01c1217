"""Rows streamed from Parquet: time against raw read and scoring in memory, and the most memory of each process.

    python benchmarks/streaming.py [--rows 10000000] [--classes 10] [--runs 3] [--ray]

Every line is a process of its own (its peak RSS holds the imports, about 150 MiB); times are medians and leave out
imports. The Parquet file is written to a temporary folder first, and has been read once, so that it is in the
cache. With --ray, the same scoring by Ray with 1 and 2 workers, the start of Ray left out. Processor seconds are
those of the process and its threads (not of Ray's workers): on a machine that is busy with other work they say more
than seconds do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from infimum import Outputs, assess
from infimum.conformal import LambdaSummary, calibrate
from infimum.scoring import FileSource, score_to_file
from infimum.stream import open_stream


def write(folder: Path, rows: int, classes: int) -> None:
    """A calibration of 1,000 rows, and the operation in row groups of 2**20."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)

    def outputs(n: int) -> Outputs:
        logits = (rng.normal(size=(n, classes)) * 3).astype(np.float32)
        return Outputs(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))

    outputs(1000).save(folder / "cal.npz")
    schema = pa.schema([("logits", pa.list_(pa.float32(), classes)), ("labels", pa.int64())])
    with pq.ParquetWriter(folder / "ops.parquet", schema) as writer:
        for start in range(0, rows, 2**20):
            block = outputs(min(2**20, rows - start))
            logits = pa.FixedSizeListArray.from_arrays(pa.array(block.logits.reshape(-1)), classes)
            writer.write_table(pa.table({"logits": logits, "labels": block.labels}, schema=schema))


def jobs(folder: Path) -> dict[str, Callable[[], Callable[[], object]]]:
    """What is timed, by name; the outer call prepares and is not timed."""
    labelled, path = Outputs.load(folder / "cal.npz"), folder / "ops.parquet"
    cal = calibrate(labelled.logits, labelled.labels)

    def read() -> object:
        return sum(len(block) for _, block in open_stream(path).blocks())

    def stream_lambda() -> object:
        summary = LambdaSummary(cal.n)
        for row, block in open_stream(path).blocks():
            summary.add(cal.top_two(block.logits, first_row=row))
        return summary.value

    def score(engine: object = None) -> object:
        out = folder / f"levels-{os.getpid()}-{time.monotonic_ns()}.npz"
        made = score_to_file(FileSource(path), cal, out, engine=engine)
        out.unlink()
        return made.mean

    def in_memory() -> Callable[[], object]:
        ops = Outputs.load(path)

        def work() -> object:
            summary = LambdaSummary(cal.n)
            summary.add(cal.top_two(ops.logits))
            return summary.value

        return work

    def assess_in_memory() -> Callable[[], object]:
        ops = Outputs.load(path)
        return lambda: assess(labelled, ops).lambda_.value

    def by_ray(workers: int) -> Callable[[], Callable[[], object]]:
        def prepared() -> Callable[[], object]:
            import ray

            from infimum.distributed.ray_engine import RayEngine

            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
            return lambda: score(RayEngine(workers))

        return prepared

    return {
        "read": lambda: read,
        "memory": in_memory,
        "stream": lambda: stream_lambda,
        "score": lambda: score,
        "assess-memory": assess_in_memory,
        "assess": lambda: lambda: assess(labelled, open_stream(path)).lambda_.value,
        "ray-1": by_ray(1),
        "ray-2": by_ray(2),
    }


WORDS = {
    "read": "raw read of the Parquet file, checked",
    "memory": "λ and its error, rows in memory already",
    "stream": "λ and its error, streamed",
    "score": "`infimum score`, streamed to an npz",
    "assess-memory": "assess(), rows in memory already",
    "assess": "assess(), streamed",
    "ray-1": "`infimum score --engine ray`, 1 worker",
    "ray-2": "`infimum score --engine ray`, 2 workers",
}


def measure(job: str, folder: Path, runs: int) -> dict[str, float]:
    """Median seconds and peak MiB of a job in a process of its own, and what it found."""
    command = [sys.executable, __file__, "--job", job, "--folder", str(folder), "--runs", str(runs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print one table."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--classes", type=int, default=10)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--ray", action="store_true")
    options.add_argument("--job")
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    if given.job:
        work = jobs(given.folder)[given.job]()
        times, processor = [], []
        for _ in range(given.runs):
            began, used = time.perf_counter(), time.process_time()
            found = work()
            times.append(time.perf_counter() - began)
            processor.append(time.process_time() - used)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        document = {
            "seconds": statistics.median(times),
            "processor": statistics.median(processor),
            "memory": memory,
            "found": found,
        }
        print(json.dumps(document))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, given.rows, given.classes)
        size = (folder / "ops.parquet").stat().st_size / 2**20
        chosen = [job for job in WORDS if given.ray or not job.startswith("ray")]
        found = {job: measure(job, folder, given.runs) for job in chosen}
    larger = max(found["read"]["seconds"], found["memory"]["seconds"])
    print(
        f"{given.rows:,} rows x {given.classes} classes, {size:,.0f} MiB of Parquet, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(
        "\n| work | seconds | / larger of read and scoring | / in memory | processor seconds | peak RSS, MiB |"
    )
    print("|---|---|---|---|---|---|")
    for job, of in found.items():
        beside = {"stream": "memory", "assess": "assess-memory"}.get(job)
        ratio = f"{of['seconds'] / found[beside]['seconds']:.2f}" if beside else ""
        print(
            f"| {WORDS[job]} | {of['seconds']:.2f} | {of['seconds'] / larger:.2f} | {ratio} | "
            f"{of['processor']:.2f} | {of['memory']:.0f} |"
        )
    same = found["stream"]["found"] == found["memory"]["found"]
    same &= found["assess"]["found"] == found["assess-memory"]["found"]
    print(f"\nλ streamed and in memory: {'the same bits' if same else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
