"""The command line: in a process of its own as a user runs it, and in this one, which is quicker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from typer.testing import CliRunner, Result

from infimum.cli.app import app
from infimum.cli.main import run as run_main

CODE = "from infimum.cli.main import run; run()"


def infimum(
    *arguments: object, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`infimum ARGUMENTS`, with additions to the environment."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **(env or {})},
    )


class Run(Protocol):
    """`infimum ARGUMENTS` in a folder."""

    def __call__(self, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]: ...


def infimum_inside(
    *arguments: object, cwd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> subprocess.CompletedProcess[str]:
    """The same in this process, which takes a hundredth of the time: for the many ways of being wrong."""
    monkeypatch.chdir(cwd)
    monkeypatch.setenv(
        "_TYPER_FORCE_DISABLE_TERMINAL", "1"
    )  # run() sets it too; this takes it back afterwards
    monkeypatch.setattr(sys, "argv", ["infimum", *map(str, arguments)])
    code: object = 0
    try:
        run_main()
    except SystemExit as exit_:
        code = exit_.code
    said = capsys.readouterr()
    return subprocess.CompletedProcess(sys.argv, int(code or 0), said.out, said.err)


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
