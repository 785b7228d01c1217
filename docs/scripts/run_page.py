"""Runs a page of the documentation: its Python blocks and commands, one after the other, in a folder.

    python docs/scripts/run_page.py docs/tutorial.md FOLDER

A block that begins with `# file: name.py` becomes that file. What is printed is printed here.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(python|bash|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = """
import sys as _sys
from infimum.cli.main import run as _run
def _infimum(*arguments):  # in this process: each start of another would load numpy, scipy and scikit-learn again
    _sys.argv = ["infimum", *arguments]
    try:
        _run()
    except SystemExit as stop:
        assert not stop.code, arguments
"""


def as_script(page: Path, folder: Path) -> tuple[str, list[str]]:
    """The blocks of a page as one script, and its commands; named files are written to the folder."""
    script, commands = [START], []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name := re.match(r"# file: (\w+\.(?:py|toml))\n", text):
            (folder / name[1]).write_text(text, encoding="utf-8")
        elif kind == "python":
            script.append(text)
        else:
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                if program != "infimum":
                    raise ValueError(f"{page.name}: not a command of infimum: {line}")
                commands.append(arguments[0])
                script.append(f"_infimum({', '.join(map(repr, arguments))})\n")
    return "\n".join(script), commands


def run(page: Path, folder: Path) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The finished process that ran the page in the folder, and the commands of the page."""
    text, commands = as_script(page, folder)
    script = folder / "page.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )
    return done, commands


if __name__ == "__main__":
    done, _ = run(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
    print(done.stdout, done.stderr, sep="\n")
    sys.exit(done.returncode)
