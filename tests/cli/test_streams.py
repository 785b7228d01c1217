"""stdout and stderr that are closed, full, broken or of few letters; 1 says that a target is not met, nothing else."""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import CODE, Run
from conftest_types import Toy

from infimum import Outputs
from infimum._text import MOST
from infimum.cli import console
from infimum.cli.console import transliterated

CERTIFY = "certify --labels cal.npz --target"
VERDICTS = {f"{CERTIFY} 0.5": 0, f"{CERTIFY} 0.999": 1, f"{CERTIFY} 7": 2}


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    rng = np.random.default_rng(0)
    toy.outputs(200, rng).save(folder / "cal.npz")
    toy.outputs(200, rng).save(folder / "ops.npz")
    (folder / "run.py").write_text(CODE)
    return folder


def shell(command: str, folder: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """A command line of bash, in which `infimum` is this one."""
    script = f'infimum() {{ "{sys.executable}" run.py "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **env},
    )


@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&- <&-", "| true", "2>/dev/full"])
def test_the_code_of_the_verdict_survives(redirection: str, here: Path) -> None:
    commands = " ; ".join(
        f"infimum {command} {redirection}; echo ${{PIPESTATUS[0]}} >&9" for command in VERDICTS
    )
    done = shell(f"exec 9>codes; {commands}", here)
    assert (here / "codes").read_text().split() == [str(code) for code in VERDICTS.values()]
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.stderr.count(b"\n") <= 1  # of the third


def test_help_without_a_reader(here: Path) -> None:
    done = shell("infimum --help | true; echo ${PIPESTATUS[0]}; infimum --help >&-; echo $?", here)
    assert (done.stdout, done.stderr) == (b"0\n0\n", b"")


def test_a_full_disk_at_stdout_is_an_error(here: Path) -> None:
    done = shell(f"infimum {CERTIFY} 0.999 >/dev/full; echo $?; infimum --help >/dev/full; echo $?", here)
    assert done.stdout == b"2\n2\n"
    assert done.stderr == b"infimum: stdout: No space left on device\n" * 2


def test_json_wants_stdout(here: Path) -> None:
    done = shell(f"infimum {CERTIFY} 0.5 --json - >&-; echo $? >&2", here)
    assert done.stderr == b"infimum: --json -: stdout is closed; name a file\n2\n"


def test_no_file_stands_where_stdout_was(here: Path) -> None:
    """Else what libraries print would stand in the file."""
    code = (
        "import os; from infimum.cli.console import prepare; prepare(); f = open('x', 'w'); os.write(2, b'y')"
    )
    (here / "fd.py").write_text(code + "; os.write(1, b'z'); f.close(); assert open('x').read() == ''")
    assert shell(f'"{sys.executable}" fd.py <&- >&- 2>&-', here).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_what_stdout_cannot_show_is_said_in_other_letters(encoding: str, here: Path) -> None:
    done = shell(
        "infimum assess --calibration cal.npz --operation ops.npz --target 0.5",
        here,
        PYTHONIOENCODING=encoding,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "lambda on operation inputs" in text
    assert "lambda*, accuracy" in text
    assert "?" not in text
    assert ("Clopper\u2013Pearson" if encoding == "cp1252" else "Clopper-Pearson") in text


def test_the_c_locale(here: Path) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(
        "infimum assess --calibration cal.npz --operation ops.npz; infimum assess --help", here, **env
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"lambda on operation inputs" in done.stdout
    assert done.stdout.isascii()


def test_json_is_the_same_in_any_encoding(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"name": "λ – é 日 𝓁", "other": "plain"}
    for encoding in ("ascii", "latin-1", "cp1252", "utf-8"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding, errors="transliterate"))
        console.say_json(json.dumps(document, ensure_ascii=False))
        assert json.loads(raw.getvalue().decode(encoding)) == document


def test_every_letter_that_is_printed_has_others_that_stand_for_it() -> None:
    letters = set()
    for path in Path(console.__file__).parents[1].rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        said_nowhere = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said_nowhere:
                letters |= set(node.value)
    assert "λ" in letters
    assert "≥" in letters
    assert {c for c in letters if "?" in transliterated(c)} == {"?", "\N{REPLACEMENT CHARACTER}"}


START = "import sys, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
WHILE_LOADING = (
    START + "import os, importlib.abc\n"
    "module = sys.argv.pop(1)\n"
    "class Finder(importlib.abc.MetaPathFinder):\n"
    "    def find_spec(self, name, path, target=None):\n"
    "        if name == module:\n"
    "            os.kill(os.getpid(), signal.SIGINT)\n"
    "sys.meta_path.insert(0, Finder())\n"
    "from infimum.cli.main import run\n"
    "run()\n"
)


@pytest.mark.parametrize(
    "module", ["typer", "infimum.cli.assess", "infimum.errors", "rich", "infimum.outputs._outputs"]
)
def test_ctrl_c_while_it_loads_is_one_line(module: str, here: Path) -> None:
    command = ["--help"] if module == "rich" else [*CERTIFY.split(), "0.5"]
    done = subprocess.run(
        [sys.executable, "-c", WHILE_LOADING, module, *command],
        cwd=here,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, b"infimum: interrupted\n")


def test_nothing_heavy_is_loaded_before_ctrl_c_is_answered() -> None:
    code = "import sys; before = set(sys.modules); import infimum.cli.main; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    ours = {name for name in done.stdout.split() if name.startswith("infimum")}
    light = {"infimum._version", "infimum.io", "infimum.io.faces"}
    assert ours == {"infimum", "infimum.cli", "infimum.cli.main", *light}
    assert not {"typer", "rich", "numpy", "scipy"} & set(done.stdout.split())


SLOW = """
import sys, time
import infimum.{module} as m
def slow(*_, **__):
    print("here", flush=True)
    time.sleep(60)
{patch}
from infimum.cli.main import run
run()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_asked_to_end_takes_away_what_is_half_written(
    number: int, here: Path, tmp_path: Path
) -> None:
    code = SLOW.format(
        module="models._assembly", patch="m._write_npz = lambda path, *_: (path.write_bytes(b'half'), slow())"
    )
    command = ["score", "--calibration", here / "cal.npz", "--input", here / "ops.npz", "--out", "x.npz"]
    started = [sys.executable, "-c", code, *map(str, command)]
    with subprocess.Popen(started, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        assert any(name.endswith(".part") for name in os.listdir(tmp_path))
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
        assert process.stderr.read() == b"infimum: terminated\n"
    assert os.listdir(tmp_path) == ["x.npz.parts"]
    assert not [name for name in os.listdir(tmp_path / "x.npz.parts") if name.endswith(".part")]


@pytest.mark.parametrize("out", ["x.npz", "x.csv"])
def test_what_a_killed_run_left_is_gone_after_resuming(out: str, here: Path, tmp_path: Path) -> None:
    name = "_write_npz" if out == "x.npz" else "_write_csv"
    module = "models._assembly" if out == "x.npz" else "scoring.scoring"
    code = SLOW.format(
        module=module, patch=f"m.{name} = lambda path, *_: (path.write_bytes(b'half'), slow())"
    )
    command = [
        "score",
        "--calibration",
        str(here / "cal.npz"),
        "--input",
        str(here / "ops.npz"),
        "--out",
        out,
    ]
    with subprocess.Popen(
        [sys.executable, "-c", code, *command], cwd=tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"here\n"
        process.kill()
    (tmp_path / f"{out}.parts" / ".part-000000000000-000000000200.npz.0123abcd.part").write_bytes(b"half")
    assert sum(path.name.endswith(".part") for path in tmp_path.rglob("*")) == 2
    again = subprocess.run(
        [sys.executable, "-c", CODE, *command, "--resume"], cwd=tmp_path, check=False, timeout=120
    )
    assert again.returncode == 0
    assert os.listdir(tmp_path) == [out]


HOSTILE = "\x1b[2J\x07evil\nwarning: forged\r\u202e" + "x" * 100_000


def harmless(text: str) -> None:
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not any(line.startswith("warning: forged") for line in text.splitlines())
    assert max(map(len, text.splitlines()), default=0) <= 500


def test_names_from_outside_are_harmless_where_they_are_printed(infimum: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "names.npz", **{HOSTILE[:200]: np.zeros(3), "labels": np.zeros(3, int)})
    np.savez(tmp_path / "many.npz", **{f"array {i:03d}": np.zeros(1) for i in range(200)})
    (tmp_path / "header.csv").write_text(f'"{HOSTILE}",correct\n1,1\n')
    (tmp_path / "twice.csv").write_text(f'id,correct\n"{HOSTILE}",1\n"{HOSTILE}",0\n')
    for command in (
        ("assess", "--calibration", "names.npz", "--operation", "names.npz"),
        ("assess", "--calibration", "many.npz", "--operation", "names.npz"),
        ("certify", "--labels", "names.npz", "--target", "0.5"),
        ("certify", "--labels", "header.csv", "--target", "0.5", "--per-class"),
        ("certify", "--labels", "twice.csv", "--target", "0.5"),
        ("certify", "--labels", HOSTILE[:200], "--target", "0.5"),
        ("certify", "--labels", "twice.csv", "--target", HOSTILE),
        ("certify", "--labels", "twice.csv", "--target", "0.5", "--method", HOSTILE),
        (HOSTILE,),
        ("assess", f"--{HOSTILE}"),
    ):
        done = infimum(*command, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), command
        assert done.stderr.count("\n") == 1, command
        harmless(done.stderr)


def test_notes_of_a_calibration_forge_no_warning(
    infimum: Run, tmp_path: Path, toy: Toy, capsys: object
) -> None:
    for text in (HOSTILE, "a\nwarning: forged"):
        console.note("note", text)
        said = capsys.readouterr().out  # type: ignore[attr-defined]
        assert said.count("\n") == 1
        harmless(said)
    console.complain(HOSTILE)
    said = capsys.readouterr().err  # type: ignore[attr-defined]
    assert said.startswith("infimum: ")
    assert said.count("\n") == 1
    harmless(said)
    assert len(said) <= MOST + len("infimum: \n") <= 500


def test_names_of_networks_and_classes_are_harmless_in_what_is_said_of_results(
    infimum: Run, tmp_path: Path, toy: Toy
) -> None:
    made = toy.outputs(300, np.random.default_rng(0))
    names = tuple(f"{HOSTILE[:60]}{i}" for i in range(made.n_classes))
    named = Outputs(
        made.logits, made.labels, class_names=names, ids=np.array([f"{HOSTILE[:60]}{i}" for i in range(300)])
    )
    named.taken(slice(0, 150)).save(tmp_path / "cal.npz")
    named.taken(slice(150, 300)).save(tmp_path / "ops.npz")
    commands = (
        (
            "assess",
            "--calibration",
            "cal.npz",
            "--operation",
            "ops.npz",
            "--out",
            "o",
            "--name",
            HOSTILE[:60],
        ),
        ("certify", "--labels", "cal.npz", "--target", "0.1", "--name", HOSTILE[:60], "--per-class"),
        ("compare", "o", "o", "--name", HOSTILE[:60], "--name", "b"),
        ("estimate", "--calibration", "cal.npz", "--operation", "ops.npz"),
    )
    for command in commands:
        done = infimum(*command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        harmless(done.stdout + done.stderr)


def test_usage_is_one_line(infimum: Run, tmp_path: Path) -> None:
    for command, said in (
        (("assess", "--targt", "1"), "No such option: --targt"),
        (("certify",), "Missing option '--labels'"),
        (("nothing",), "No such command 'nothing'"),
    ):
        done = infimum(*command, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"infimum: {said}")
        assert done.stderr.endswith("--help\n")
        assert done.stderr.count("\n") == 1
