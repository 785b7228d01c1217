"""Whether what a file says it holds fits into the memory of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from infimum.errors import InputError


def physical_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_fits(size: int, path: Path) -> None:
    """Refuse a file whose arrays would not fit into this machine's memory (a zip can claim anything)."""
    memory = physical_memory()
    if memory is not None and size > memory:
        raise InputError(
            f"{path} unpacks to {size / 2**30:.1f} GiB, more than this machine's {memory / 2**30:.1f} GiB of memory"
        )
