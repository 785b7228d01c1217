"""The one error that bad input raises."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input: the message names the argument, what was wrong with it, where, and what to do.

    >>> from infimum import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class MissingExtraError(InputError):
    """An optional dependency is not installed; the message holds the command that installs it."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs an optional package: pip install 'infimum[{extra}]'")
