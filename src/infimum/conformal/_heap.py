"""Memory that is freed and wanted again, chunk after chunk, should not go back to the system in between."""

from __future__ import annotations

from functools import cache

import numpy as np

LARGEST = 2**25 - 2**16
"""Just below the 32 MiB up to which glibc learns from what is freed."""


@cache
def keep_freed_memory() -> None:
    """Have the C library keep what is freed, once per process; a few MiB, and nothing where it is not glibc.

    Scoring takes and frees arrays of about a MiB, thousands of times. glibc begins by handing such memory back to
    the system at once, and every page of the next array is then a fault: they took half of a streamed run's time.
    It stops when a larger array has been freed (mallopt(3), M_MMAP_THRESHOLD: the thresholds rise to its size, and
    to twice that). This one is never written to, so it costs nothing.

    >>> keep_freed_memory()
    """
    np.empty(LARGEST, dtype=np.uint8)
