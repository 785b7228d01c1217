"""`infimum`: how it begins and how it ends. What takes time to load is loaded where Ctrl-C is answered already."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

INTERRUPTED = "interrupted"


class _Terminated(BaseException):
    """The process is asked to end (kill, a closed terminal); what is half written is taken away first."""


def __getattr__(name: str) -> Any:
    """`app`, the commands, for who runs them in a process of its own; they take time to load."""
    if name != "app":
        raise AttributeError(name)
    from infimum.cli.app import app

    return app


def run() -> None:
    """Run the command line; bad input is one line on stderr and exit code 2."""
    with _asked_to_end():
        try:
            code = _run()
        except KeyboardInterrupt:  # while it was loading
            code = _end(130, INTERRUPTED)
        except _Terminated as asked:
            code = _end(128 + int(str(asked)), "terminated")
    sys.exit(code)


def _run() -> int:
    from infimum.cli import console
    from infimum.errors import ExitCode, InputError

    console.prepare()
    _plain_unless_read_by_a_person()
    from infimum.cli.app import Interrupted, app

    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except Interrupted:
        return _end(ExitCode.INTERRUPTED, INTERRUPTED)
    except InputError as error:
        return _end(error.exit_code, str(error))
    except OSError as error:  # stdout on a full disk is one
        console.forget()
        return _end(
            ExitCode.BAD_INPUT, f"{error.filename}: {error.strerror}" if error.filename else str(error)
        )
    except MemoryError as error:
        return _end(ExitCode.BAD_INPUT, f"not enough memory ({error})")
    except SystemExit as asked:  # typer's own, say of completion; its 1 would say that a target is not met
        return 0 if not asked.code else 2
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's, or typer's copy of it
            return _misused(error)
        return _defect(error)
    return code if isinstance(code, int) else 0


def _misused(error: Any) -> int:
    """What is wrong with the options, in one line; `infimum` alone has shown its help."""
    if type(error).__name__ != "NoArgsIsHelpError":
        command = getattr(getattr(error, "ctx", None), "command_path", None)
        said = error.format_message().strip().rstrip(".")
        _end(2, said if command is None else f"{said}; see {command} --help")
    return 2


def _defect(error: Exception) -> int:
    """A defect of infimum: never the exit code of "target not met"."""
    import traceback

    from infimum.cli.console import say
    from infimum.errors import ExitCode

    say("".join(traceback.format_exception(error)), err=True, end="")
    return ExitCode.DEFECT


def _end(code: int, said: str) -> int:
    """Say in one line why the program ends; whoever asks again is not heard any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from infimum.cli.console import complain

    complain(said)
    return code


@contextmanager
def _asked_to_end() -> Iterator[None]:
    """Let signals that end the process do so by an exception, so that temporary files are removed."""

    def end(number: int, _: object) -> NoReturn:
        raise _Terminated(number)

    asked = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in (*asked, signal.SIGINT)}
    try:
        for number in asked:
            if before[number] is signal.SIG_DFL:
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _plain_unless_read_by_a_person() -> None:
    """No escape codes into files and pipes, nor where NO_COLOR is set (no-color.org); FORCE_COLOR overrules."""
    asked = os.environ.get("NO_COLOR", "") != ""
    if asked or not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR", "")):
        # Typer reads this when it first prints; otherwise it takes every run of GitHub Actions for a terminal.
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
