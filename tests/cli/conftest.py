"""What tests of single commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import jaxtyping
import pytest
from command_line import Run, infimum_inside


@contextmanager
def without_type_checks() -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(name="infimum")
def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object, cwd: Path) -> CompletedProcess[str]:
        if "score" not in arguments:
            return infimum_inside(*arguments, cwd=cwd, monkeypatch=monkeypatch, capsys=capsys)
        # It asks for typer's context, which is of another class than its annotation where typer brings its own click.
        with without_type_checks():
            return infimum_inside(*arguments, cwd=cwd, monkeypatch=monkeypatch, capsys=capsys)

    return run
