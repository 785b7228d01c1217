"""The command line called in this process, through typer's runner, or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from infimum.cli.main import app


def call(*arguments: object, code: int = 0) -> Result:
    """Run a command; its InputError is raised, another exit code than `code` fails the test."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, in a folder."""
    code = "from infimum.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
