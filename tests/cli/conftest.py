"""What tests of single commands share."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from command_line import Run, infimum_inside


@pytest.fixture(name="infimum")
def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object, cwd: Path) -> CompletedProcess[str]:
        return infimum_inside(*arguments, cwd=cwd, monkeypatch=monkeypatch, capsys=capsys)

    return run
