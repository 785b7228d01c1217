"""The command line called in this process, through typer's runner."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from infimum.cli.main import app


def call(*arguments: object, code: int = 0) -> Result:
    """Run a command; its InputError is raised, another exit code than `code` fails the test."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
