"""The one error that bad input raises, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from infimum._text import in_brief


class ExitCode(IntEnum):
    """How a command ends; the exceptions that end one carry theirs."""

    DONE = 0
    NOT_MET = 1
    BAD_INPUT = 2
    DEFECT = 3
    INTERRUPTED = 130


class InputError(ValueError):
    r"""Bad input: the message names the argument, what was wrong with it, where, and what to do.

    It is one printable line of at most 480 characters, whatever names and values from outside are in it.

    >>> from infimum import InputError
    >>> issubclass(InputError, ValueError)
    True
    >>> str(InputError("no column 'a\nwarning: b'"))
    "no column 'a warning: b'"
    """

    exit_code: ClassVar[ExitCode] = ExitCode.BAD_INPUT

    def __init__(self, message: str) -> None:
        super().__init__(in_brief(message))


class MissingExtraError(InputError):
    """An optional dependency is not installed; the message holds the command that installs it."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs an optional package: pip install 'infimum[{extra}]'")
