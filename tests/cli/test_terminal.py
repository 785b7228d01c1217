"""What the program is in a terminal, a pipe and a log: help, version, completion, colour, logging."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from command_line import infimum, infimum_inside
from conftest_types import Toy

from infimum.cli.app import app

COMMANDS = sorted(typer.main.get_command(app).commands)
ESCAPE = "\x1b"
EXIT_CODES = (
    "Exit codes: 0 done (target met), 1 target not met, 2 bad input, 3 a defect of infimum, 130 interrupted"
)


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> object:
    return lambda *arguments: infimum_inside(*arguments, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_describes_its_options(
    command: str, inside: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = plain(inside(command, "--help").stdout)
    assert re.search(rf"Examples?: infimum {command}\b", text)
    # By its kind: typer may bring its own copy of click, whose classes are others.
    options = [
        p for p in typer.main.get_command(app).commands[command].params if p.param_type_name == "option"
    ]
    assert options
    # Nothing is cut in the narrowest of usual terminals: … stands only for more of a list, and for no default.
    assert "…" not in re.sub(r"P0,P1,…|K=V,…|KEY=VALUE,…|[a-z]=…", "", text)
    for option in options:
        assert option.hidden or all(name in text for name in (*option.opts, *option.secondary_opts))
        assert option.help


def test_top_help_names_commands_and_exit_codes(inside: object) -> None:
    text = plain(inside("--help").stdout)
    assert EXIT_CODES in text
    for command in COMMANDS:
        assert command in text


@pytest.mark.parametrize(
    "env",
    [
        {"NO_COLOR": "1", "GITHUB_ACTIONS": "true"},
        {"GITHUB_ACTIONS": "true"},  # typer takes this for a terminal
        {"TERM": "xterm-256color"},
    ],
    ids=lambda env: " ".join(env),
)
def test_pipes_and_no_color_get_no_escape_codes(env: dict[str, str], tmp_path: Path) -> None:
    clean = {"NO_COLOR": "", "FORCE_COLOR": "", "PY_COLORS": "", "GITHUB_ACTIONS": ""}
    for command in (("assess", "--help"), ("assess", "--nope")):
        done = infimum(*command, cwd=tmp_path, env={**clean, **env})
        assert ESCAPE not in done.stdout + done.stderr
        assert done.stdout + done.stderr


def test_force_color_overrules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The environment of whoever runs the tests, and what run() leaves behind in this process, do not count.
    for name in ("NO_COLOR", "_TYPER_FORCE_DISABLE_TERMINAL"):
        monkeypatch.delenv(name, raising=False)
    done = infimum("check", "--help", cwd=tmp_path, env={"FORCE_COLOR": "1"})
    assert ESCAPE in done.stdout


INTERRUPTED = """
import os, pkgutil, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal; a shell's background job ignores it
owner, name = sys.argv.pop(1).rsplit(".", 1)
def stop(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
setattr(pkgutil.resolve_name(owner), name, stop)
from infimum.cli.main import run
run()
"""


@pytest.mark.parametrize(
    ("where", "command", "said"),
    [
        (
            "infimum.outputs._outputs.Outputs.load",
            ("assess", "--calibration", "c.npz", "--operation", "o.npz"),
            None,
        ),
        (
            "infimum.outputs._outputs.Outputs.load",
            ("compare", "--operation", "a.npz", "--operation", "b.npz"),
            None,
        ),
        ("infimum.gates._check_file.load_check_file", ("check",), None),
        ("infimum.assessment._results.Assessment.load", ("report", "."), None),
        (
            "infimum.study.study.reproduce",
            ("reproduce", "--out", "study"),
            "interrupted: finished stages are kept in study; the same command goes on there",
        ),
    ],
)
def test_ctrl_c_says_a_line_and_exits_130(
    where: str, command: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, where, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == f"{said or 'infimum: interrupted'}\n"


def test_a_pipe_that_nobody_reads_is_no_missed_target(tmp_path: Path) -> None:
    """Exit code 1 says that a target is not met; typer's own for a broken pipe is 1. Who closes it has read enough."""
    read, write = os.pipe()
    os.close(read)
    code = "from infimum.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "plan", "--target", "0.9", "--expected", "0.95"],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_version(inside: object) -> None:
    import infimum as package

    assert inside("--version").stdout == f"infimum {package.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str, tmp_path: Path) -> None:
    script = infimum(
        "--show-completion", shell, cwd=tmp_path, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    )
    assert script.returncode == 0
    assert "COMPLETE" in script.stdout
    env = {
        "COMP_WORDS": "infimum compa",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "infimum compa",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    variable = re.search(r"(_\w+_COMPLETE)=", script.stdout)[1]
    done = infimum(cwd=tmp_path, env={**env, variable: f"complete_{shell}"})
    assert "compare" in done.stdout
    assert "assess" not in done.stdout


def test_verbose_logs_to_stderr_and_nothing_else_changes(toy: Toy, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    toy.outputs(100, rng).save(tmp_path / "cal.npz")
    toy.outputs(200, rng).save(tmp_path / "ops.npz")
    toy.head.save(tmp_path / "head.npz")
    command = ("assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--head", "head.npz")
    command += ("--sampling", "samples:max_samples=2000,batch=1000", "--json", "-")
    runs = [infimum(*flags, *command, cwd=tmp_path) for flags in ((), ("-v",), ("-vv",))]
    assert [run.returncode for run in runs] == [0, 0, 0]
    without = [re.sub(r'"(command|checksum)": .*', "", run.stdout) for run in runs]
    assert without[0] == without[1] == without[2]
    assert runs[0].stderr == ""
    assert "INFO infimum: read 'cal.npz': " in runs[1].stderr
    assert "calibrated on 100 rows" in runs[1].stderr
    assert "DEBUG" not in runs[1].stderr
    assert runs[2].stderr.count("DEBUG infimum: sampled") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--out", ""),
        ("--out=",),
        ("--json", ""),
        ("--levels", ""),
        ("--score", ""),
        ("--name", ""),
        ("--network=",),
    ],
)
def test_an_empty_value_is_refused_by_name(
    arguments: tuple[str, ...], tmp_path: Path, inside: object
) -> None:
    """What `--out "$UNSET"` gives: the folder one stands in must not be filled."""
    done = inside("assess", "--calibration", "c.npz", "--operation", "o.npz", *arguments)
    assert done.returncode == 2
    assert f"{arguments[0].removesuffix('=')} is empty" in done.stderr
    assert list(tmp_path.iterdir()) == []
