"""What tests of single commands share."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from command_line import Run, infimum_inside
from type_checks import without_type_checks


@pytest.fixture(name="infimum")
def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object, cwd: Path) -> CompletedProcess[str]:
        if "score" not in arguments:
            return infimum_inside(*arguments, cwd=cwd, monkeypatch=monkeypatch, capsys=capsys)
        # It asks for typer's context, which is of another class than its annotation where typer brings its own click.
        with without_type_checks():
            return infimum_inside(*arguments, cwd=cwd, monkeypatch=monkeypatch, capsys=capsys)

    return run
