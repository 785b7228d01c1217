"""The commands, put together. Heavy modules load inside them."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from infimum._version import __version__
from infimum.cli.assess import assess
from infimum.cli.calibrate import calibrate
from infimum.cli.certify import certify
from infimum.cli.check import check
from infimum.cli.compare import compare
from infimum.cli.console import OneLine, say
from infimum.cli.estimate import estimate
from infimum.cli.extract import extract
from infimum.cli.objects import Command
from infimum.cli.plan import plan
from infimum.cli.report import report
from infimum.cli.reproduce import reproduce
from infimum.cli.score import score


class Interrupted(BaseException):
    """Ctrl-C that no command answers itself. Typer would turn a KeyboardInterrupt into an exit without a word."""


class _Commands(TyperGroup):
    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse; help is printed here too."""
        try:
            return super().make_context(*args, **options)
        except KeyboardInterrupt:
            raise Interrupted from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


app = typer.Typer(
    name="infimum",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="How reliable a trained classifier is, at least.\n\n"
    "Example: infimum assess --calibration cal.npz --operation ops.npz --target 0.95 --out results\n\n"
    "Exit codes: 0 done (target met), 1 target not met, 2 bad input, 3 a defect of infimum, "
    "130 interrupted (assess writes what was sampled until then; extract, score and reproduce go on later).",
)
app.command(cls=Command)(assess)
app.command(cls=Command)(calibrate)
app.command(cls=Command)(certify)
app.command(cls=Command)(check)
app.command(cls=Command)(compare)
app.command(cls=Command)(estimate)
app.command(cls=Command)(extract)
app.command(cls=Command)(plan)
app.command(cls=Command)(report)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(score)


def _version(asked: bool | None) -> None:
    if asked:
        say(f"infimum {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            help="Say on stderr what is read, computed and written; -vv for every batch.",
        ),
    ] = 0,
) -> None:
    if verbose:
        _log(logging.INFO if verbose == 1 else logging.DEBUG)


def _log(level: int) -> None:
    """Show what the library logs, on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("infimum")
    logger.addHandler(handler)
    logger.setLevel(level)
