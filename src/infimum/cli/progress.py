"""Progress displays: on stderr, and only where someone looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from infimum._rounding import floor4

if TYPE_CHECKING:
    from infimum.manifold._sampling import RunningLambda


@contextmanager
def assessing_progress(
    quiet: bool,
) -> Iterator[tuple[Callable[[RunningLambda], None] | None, Callable[[int, int | None], None] | None]]:
    """Yield the callbacks to hand to `assess` and to a stream, or None for both when nothing is to be shown."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None, None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading and scoring")

        def show(batch: RunningLambda) -> None:
            progress.update(
                task,
                description=f"sampling: {batch.n:,} samples, λ {floor4(batch.value)} ± {batch.standard_error:.4f}",
            )

        def read(done: int, total: int | None) -> None:
            progress.update(task, description=f"reading and scoring: {done:,} of {total:,} inputs")

        yield show, read


@contextmanager
def extraction_progress(quiet: bool, what: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Yield the callback to hand to `extract`, or None when nothing is to be shown."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        Remaining(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)

        def show(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        yield show
