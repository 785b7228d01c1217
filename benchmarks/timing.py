"""What every benchmark shares: medians of runs in turn, memory, the line about the machine, and the table."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

Work = Callable[[], object]


def medians(*works: Work, runs: int = 5, warm: bool = True) -> list[float]:
    """Median seconds of each; they take turns, so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in works]
    if warm:
        for work in works:
            work()
    for _ in range(runs):
        for work, own in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            own.append(time.perf_counter() - began)
    return [statistics.median(own) for own in times]


def extra_memory(work: Work) -> float:
    """Peak of what numpy and Python allocate while it runs, in MiB, its result included."""
    tracemalloc.start()
    try:
        kept = work()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return peak / 2**20


def machine(*packages: str) -> str:
    """Processor, versions, threads and load: what the figures depend on."""
    names = ("numpy", "scipy", "scikit-learn", *packages)
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    return (
        f"{_processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}; "
        f"OMP_NUM_THREADS {threads}; load {load} when begun."
    )


def _processor() -> str:
    if sys.platform.startswith("linux"):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """One Markdown table."""
    for cells in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)
