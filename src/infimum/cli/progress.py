"""The progress display of sampling: on stderr, and only where someone looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infimum.sampling import Batch


@contextmanager
def sampling_progress(quiet: bool) -> Iterator[Callable[[Batch], None] | None]:
    """Yield the callback to hand to `assess`, or None when nothing is to be shown."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading and scoring")

        def show(batch: Batch) -> None:
            progress.update(
                task,
                description=f"sampling: {batch.n:,} samples, λ {batch.value:.4f} ± {batch.standard_error:.4f}",
            )

        yield show
