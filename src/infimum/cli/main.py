"""`infimum`: the commands, and how errors leave the program. Heavy modules load inside the commands."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import infimum
from infimum.cli.assess import assess
from infimum.cli.calibrate import calibrate
from infimum.cli.certify import certify
from infimum.cli.check import check
from infimum.cli.compare import compare
from infimum.cli.estimate import estimate
from infimum.cli.extract import extract
from infimum.cli.plan import plan
from infimum.cli.report import report
from infimum.cli.reproduce import reproduce
from infimum.cli.score import score
from infimum.errors import InputError

INTERRUPTED = "infimum: interrupted"


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interruption that it does not answer itself is one line and exit code 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would exit without a word
            typer.echo(INTERRUPTED, err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # typer would exit with 1, which says that a target is not met
            _read_no_more()
            raise typer.Exit(2) from None


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
app.command()(assess)
app.command()(calibrate)
app.command()(certify)
app.command()(check)
app.command()(compare)
app.command()(estimate)
app.command()(extract)
app.command()(plan)
app.command()(report)
app.command()(reproduce)
app.command()(score)


def _version(asked: bool | None) -> None:
    if asked:
        typer.echo(f"infimum {infimum.__version__}")
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
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("infimum")
    logger.addHandler(handler)
    logger.setLevel(level)


def _plain_unless_read_by_a_person() -> None:
    """No escape codes into files and pipes, nor where NO_COLOR is set (no-color.org); FORCE_COLOR overrules."""
    asked = os.environ.get("NO_COLOR", "") != ""
    if asked or not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR", "")):
        # Typer reads this when it first prints; otherwise it takes every run of GitHub Actions for a terminal.
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"


def _read_no_more() -> None:
    """Let what is still to be written go nowhere, so that Python does not fail again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run() -> None:
    """Run the command line; bad input is one line on stderr and exit code 2."""
    _plain_unless_read_by_a_person()
    try:
        app()
    except InputError as error:
        print(f"infimum: {' '.join(str(error).split())}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has gone: nobody is left to tell
        _read_no_more()
        sys.exit(2)
    except OSError as error:
        print(f"infimum: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except MemoryError as error:
        print(f"infimum: not enough memory ({error})", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except Exception:  # a defect of infimum: never the exit code of "target not met"
        traceback.print_exc()
        sys.exit(3)
