"""The documentation: pages run and print what they show, figures are the study's, the site builds."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCRIPTS = DOCS / "scripts"
FOLDER = DOCS / "how-to"
INDEX = "networks"
FRAMEWORKS = {
    "pytorch": ("torch",),
    "onnx": ("torch", "onnx", "onnxruntime", "onnxscript"),
    "keras": ("torch", "keras"),
    "scikit-learn": ("skops",),
    "callable": (),
    "data": ("PIL", "pyarrow", "skops"),
}
"""Pages of frameworks and data, which the index leads to."""
ALSO_NEED = {"cluster": ("ray", "pyarrow", "dask", "pandas"), "papers": ("matplotlib",)}
PAGES = sorted(
    [
        *FOLDER.glob("*.md"),
        *(DOCS / f"{name}.md" for name in ("architecture", "faq", "tutorial", "reference/options")),
    ]
)
WITHOUT_COMMANDS = ("architecture", "callable", "faq", "options", "reproduce")
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*")
TOLERANCE = 0.05

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the documentation is not part of a source distribution"
)


def value(number: str) -> float:
    return float(number.replace("−", "-").replace(",", ""))


def alike(shown: str, printed: str) -> bool:
    """The same words; numbers may differ as other versions of the libraries make them differ."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(value(a) - value(b)) <= TOLERANCE * max(1.0, abs(value(a))) for a, b in pairs)


def test_alike_knows_words_and_numbers() -> None:
    assert alike("at least 0.926 of 997", "at  least 0.930 of 1000")
    assert not alike("at least 0.926", "at most 0.926")
    assert not alike("at least 0.926", "at least 0.82")
    assert not alike("[0.1 0.2]", "[0.1]")


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != INDEX], ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in {**FRAMEWORKS, **ALSO_NEED}.get(page.stem, ()):
        pytest.importorskip(module, reason=f"the page uses {module}, an optional extra")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    done, commands = runpy.run_path(str(SCRIPTS / "run_page.py"))["run"](page, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert page.stem in WITHOUT_COMMANDS or commands
    printed = done.stdout.splitlines()
    for block in SHOWN.findall(page.read_text(encoding="utf-8")):
        for line in filter(str.strip, block.splitlines()):
            assert any(alike(line, other) for other in printed), f"not printed: {line}"
    if page.stem in FRAMEWORKS:
        assert "λ is an estimate, not a guarantee" in done.stdout
    if page.stem == "data":
        assert "finished already: outputs.npz" in done.stdout
    if page.stem == "certify":
        assert done.stdout.count("Target 0.9: met.") == 3


def test_the_index_leads_to_the_page_of_every_framework() -> None:
    linked = re.findall(r"\]\(([\w-]+)\.md\)", (FOLDER / f"{INDEX}.md").read_text(encoding="utf-8"))
    assert set(linked) == set(FRAMEWORKS)
    assert all((FOLDER / f"{name}.md").is_file() for name in linked)


def test_the_architecture_page_names_files_that_are_there() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "infimum"
    places = (
        *re.findall(r"`([\w/-]+(?:\.\w+|/))`", page),
        *re.findall(r"\b[a-z_]+(?:/|\.py)(?=[\s,:])", page),
    )
    missing = {p for p in places if not (package / p).exists() and not (ROOT / p).exists()}
    assert missing <= {"conformal.py", "infimum.toml"}
    assert len(set(places)) > 25
    # The names that a new thing is added to.
    for file, name in (
        ("conformal/_scores.py", "SCORES: "),
        ("manifold/_options.py", "MANIFOLDS: "),
        ("report/wording.py", "METHODS"),
        ("bounds/_registry.py", "METHODS = "),
    ):
        assert name in (package / file).read_text(encoding="utf-8")


def test_ten_questions_of_a_newcomer_have_a_file_each() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Where is …?")[2].partition("## What holds everywhere")[0]
    rows = re.findall(r"^\| ([^|]+\?) \| ([^|]+) \|$", table, re.MULTILINE)
    assert len(rows) >= 10
    package = ROOT / "src" / "infimum"
    for question, answer in rows:
        paths = re.findall(r"`([\w/]+(?:\.py|/))`", answer)
        assert paths, question
        assert all((package / path).exists() for path in paths), question


def test_the_readme_is_a_page_and_shows_what_the_tutorial_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 90
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"    make {command} " in readme
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)
    shown = re.search(r"^    Target .*?(?=\n\n)", readme, re.MULTILINE | re.DOTALL)[0]
    assert re.sub(r"^    ", "", shown, flags=re.MULTILINE) in (DOCS / "tutorial.md").read_text(
        encoding="utf-8"
    )
    for path in re.findall(r"\]\(([\w/.-]+)(?:#[\w-]+)?\)", readme):
        assert (ROOT / path).exists(), path


def test_every_section_of_the_method_that_is_cited_exists() -> None:
    sections = re.findall(r"^## (\d+)\. ", (DOCS / "method.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(set(sections)) == len(sections)
    cited: dict[str, list[str]] = {}
    for path in [
        p for folder in ("src", "tests", "benchmarks", "examples") for p in (ROOT / folder).rglob("*.py")
    ]:
        for number in re.findall(r"method\.md §\s*(\d+)", path.read_text(encoding="utf-8")):
            cited.setdefault(number, []).append(path.name)
    for page in DOCS.rglob("*.md"):
        for number in re.findall(r"\(method\.md\), §\s*(\d+)", page.read_text(encoding="utf-8")):
            cited.setdefault(number, []).append(page.name)
    assert sum(map(len, cited.values())) > 25
    assert {number: where for number, where in cited.items() if number not in sections} == {}


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")} <= listed


def test_quoted_figures_and_the_chart_are_those_of_the_study() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "quoted.py"), "check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_figure_of_what_lambda_is_stands_unchecked() -> None:
    page = (DOCS / "what-lambda-is.md").read_text(encoding="utf-8")
    unmarked = re.findall(r"(?<![\w.])\d+\.\d+(?!<!--)(?![\d])", page)
    # A step and its cap, a level as an example: not measured.
    assert set(unmarked) <= {"0.01", "0.99", "0.9"}


def test_quoted_figures_are_replaced_by_name() -> None:
    quoted = runpy.run_path(str(SCRIPTS / "quoted.py"))
    found = quoted["figures"]()
    assert (
        quoted["with_figures"]("by 9.99<!-- excess_most -->!")
        == f"by {found['excess_most']}<!-- excess_most -->!"
    )
    with pytest.raises(KeyError):
        quoted["with_figures"]("1<!-- nothing_computes_this -->")


def test_every_command_and_option_is_in_the_reference() -> None:
    from infimum.cli.app import app

    text = runpy.run_path(str(SCRIPTS / "commands.py"))["reference"]()
    for command in app.registered_commands:
        assert command.callback is not None
        assert f"## infimum {command.callback.__name__}\n" in text
    for option in (
        "--target",
        "--quiet, -q",
        "lac; aps; raps:penalty=0.01, k",
        "kernel:bandwidth=0.1",
        "randomize=yes",
        "Default: 0.95.",
    ):
        assert option in text


def test_every_option_that_is_an_object_is_in_the_reference() -> None:
    from infimum.cli.objects import HOMES, registry

    page = runpy.run_path(str(SCRIPTS / "commands.py"))
    shown = page["on_page_markdown"]((DOCS / "reference" / "options.md").read_text(encoding="utf-8"))
    assert set(page["OPTIONS"].values()) == set(HOMES)
    rows = [line for line in shown.splitlines() if line.startswith("| `--")]
    kinds = [
        (option, *found) for option, home in page["OPTIONS"].items() for found in registry(home).kinds.items()
    ]
    for row, (option, name, kind) in zip(rows, kinds, strict=True):
        assert row.startswith(f"| `{option}` |")
        assert f"| `{name}` |" in row or name in option
        assert row.count("=`") == len(kind.hints)
        assert all(f"`{key}=`" in row for key in kind.hints)
