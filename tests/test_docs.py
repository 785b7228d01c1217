"""The how-to pages run as they stand: every Python block and command, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "how-to"
INDEX = "networks"
NEEDS = {
    "pytorch": ("torch",),
    "onnx": ("torch", "onnx", "onnxruntime", "onnxscript"),
    "keras": ("torch", "keras"),
    "scikit-learn": ("skops",),
    "callable": (),
    "data": ("PIL", "pyarrow", "skops"),
}
"""Pages of frameworks and data, which the index leads to."""
ALSO_NEED = {"cluster": ("ray", "pyarrow")}
BLOCK = re.compile(r"^```(python|bash|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = """
import subprocess as _subprocess, sys as _sys
def _infimum(*arguments):
    _sys.stdout.flush()
    command = "from infimum.cli.main import run; run()"
    done = _subprocess.run([_sys.executable, "-c", command, *arguments], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
"""


def as_script(page: Path, folder: Path) -> tuple[str, list[str]]:
    """The blocks of a page as one script, and its commands; a block that begins with `# file:` becomes that file."""
    script, commands = [START], []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name := re.match(r"# file: (\w+\.(?:py|toml))\n", text):
            (folder / name[1]).write_text(text, encoding="utf-8")
        elif kind == "python":
            script.append(text)
        else:
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "infimum"
                commands.append(arguments[0])
                script.append(f"_infimum({', '.join(map(repr, arguments))})\n")
    return "\n".join(script), commands


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({page.stem for page in FOLDER.glob("*.md")} - {INDEX}))
def test_page_runs(name: str, tmp_path: Path) -> None:
    for module in {**NEEDS, **ALSO_NEED}.get(name, ()):
        pytest.importorskip(module, reason=f"the page uses {module}, an optional extra")
    text, commands = as_script(FOLDER / f"{name}.md", tmp_path)
    assert name == "callable" or commands
    script = tmp_path / "page.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "KERAS_BACKEND": "torch"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    if name in NEEDS:
        assert "λ is an estimate, not a guarantee" in done.stdout
    if name == "data":
        assert "finished already: outputs.npz" in done.stdout
    if name == "certify":
        assert done.stdout.count("Target 0.9: met.") == 3


def test_the_index_leads_to_the_page_of_every_framework() -> None:
    linked = re.findall(r"\]\(([\w-]+)\.md\)", (FOLDER / f"{INDEX}.md").read_text(encoding="utf-8"))
    assert set(linked) == set(NEEDS)
    assert all((FOLDER / f"{name}.md").is_file() for name in linked)
