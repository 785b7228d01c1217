"""No command loses what it reads: an output is neither an input nor another output, whatever it is called."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Run

from infimum.cli.app import app
from infimum.cli.network import LABELS, NETWORKS

OUTPUTS = {"--out", "--json", "--junit", "--head-out", "--sequential"}

CODE = ("--network factory", "--network preprocess")

NETWORK = {"--model", "--network weights", *CODE}

INPUTS = {
    "assess": NETWORK
    | {f"--{of}{role}" for role in ("calibration", "operation", "tuning") for of in ("", "labels ")}
    | {"--head", "--manifold-data", "--pictures"},
    "calibrate": {"--calibration", "--tuning"},
    "certify": {"--labels", "--operation", "--calibration", "--profile"},
    "check": {"FILE"},
    "compare": {"ASSESSMENT", "--operation", "--calibration"},
    "estimate": {"--calibration", "--operation"},
    "extract": NETWORK | {"--data", "--labels"},
    "plan": {"--operation", "--calibration"},
    "report": {"DIR", "--pictures"},
    "reproduce": {"--data"},
    "score": NETWORK | {"--calibration", "--input", "--data", "--tuning"},
}
"""Options (and arguments) of each command that name what is read, and parameters of options that do."""

BASE: dict[str, dict[str, str]] = {
    "assess": {"--calibration": "c.npz", "--operation": "o.npz"},
    "calibrate": {"--calibration": "c.npz", "--out": "new.json"},
    "certify": {"--labels": "l.npz", "--target": "0.9"},
    "compare": {"--operation": "o.npz"},
    "estimate": {"--calibration": "c.npz", "--operation": "o.npz"},
    "extract": {"--data": "d.npz", "--model": "m.onnx", "--out": "new.npz"},
    "plan": {"--target": "0.9", "--operation": "o.npz", "--calibration": "c.npz"},
    "score": {"--calibration": "c.npz", "--input": "o.npz", "--out": "new.npz"},
}
"""What each needs besides."""

NO_FILES = {"head_layer", "device", "batch_size", "skip_bad"}
"""Parameters of --network that name no file."""

FOLDERS = {"assess": "report.md", "compare": "comparison.json", "plan": "plan.svg"}
"""Commands whose --out is a directory, and a file that they write there."""


def files_of(command: str) -> tuple[set[str], set[str]]:
    """Options of a command that name something written, and something read, by what its help says of them."""
    written, read = set(), set()
    for parameter in typer.main.get_command(app).commands[command].params:
        words = parameter.metavar or ""
        flag = parameter.opts[0] if parameter.param_type_name == "option" else words
        if flag in OUTPUTS:
            written.add(flag)
        elif any(word in words for word in ("FILE", "DIR", "DATA", "MODEL", "MODULE", "ASSESSMENT")):
            read.add(flag)
        elif flag == "--network":
            read |= {f"--network {key}" for key in NETWORKS.kinds["network"].hints if key not in NO_FILES}
        elif flag == "--labels":
            read |= {f"--labels {key}" for key in LABELS.kinds["labels"].hints}
    return written, read


def test_the_table_holds_every_option_that_names_a_file() -> None:
    assert {command: files_of(command)[1] for command in INPUTS} == INPUTS
    assert set(INPUTS) == set(typer.main.get_command(app).commands)


def arguments(given: dict[str, str]) -> list[str]:
    """On a command line; a parameter of an option, as `--network weights`, with its =."""
    words = []
    for name, value in given.items():
        flag, _, key = name.partition(" ")
        words += [flag, f"{key}={value}" if key else value] if flag[0] == "-" else [value]
    return words


def cases(command: str) -> list[tuple[str, str]]:
    written, read = files_of(command)
    return sorted(itertools.product(read, written))


@pytest.fixture
def inside(tmp_path: Path, infimum: Run) -> Any:
    def run(command: str, given: dict[str, str]) -> str:
        """What is said of it, where it is refused and nothing has changed."""
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        names = sorted(tmp_path.rglob("*"))
        done = infimum(command, *arguments({**BASE.get(command, {}), **given}), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), (command, given, done.stderr)
        assert done.stderr.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == names
        assert {p: p.read_bytes() for p in before} == before
        return done.stderr

    return run


@pytest.mark.parametrize("alias", ["same", "other way", "link", "hard link"])
@pytest.mark.parametrize("command", sorted(BASE))
def test_no_output_is_an_input(command: str, alias: str, tmp_path: Path, inside: Any) -> None:
    tried = 0
    # Every pair once; by their other names only with the first of the inputs, since one function tells them apart.
    first = min(read for read, _ in cases(command) if read not in CODE)
    for number, (read, written) in enumerate(cases(command)):
        if alias != "same" and read != first:
            continue
        code = read in CODE
        if code and (written in ("--out", "--head-out") and command != "calibrate"):
            continue  # their names end otherwise
        folder = tmp_path / f"d{number}"
        folder.mkdir()
        in_folder = written == "--out" and command in FOLDERS
        name = FOLDERS[command] if in_folder else f"x{number}.py" if code else "x.npz"
        place = tmp_path / name if code else folder / name
        if in_folder and alias != "link":
            (folder / "sub").mkdir()
        place.write_bytes(b"kept")
        shown = str(place.relative_to(tmp_path))
        output = {
            "same": shown,
            "other way": f"{folder.name}/../{shown}",
            "link": f"{folder.name}/link",
            "hard link": f"{folder.name}/hard.npz",
        }[alias]
        if written == "--head-out" and alias == "link":
            output += ".npz"
        if command == "score" and alias == "link":
            output += ".npz"
        if in_folder:
            output = {"same": folder.name, "other way": f"{folder.name}/sub/..", "link": "", "hard link": ""}[
                alias
            ]
            if not output:
                continue
        elif alias == "link":
            os.symlink(place, tmp_path / output)
        elif alias == "hard link":
            os.link(place, tmp_path / output)
        given = {read: f"x{number}:f" if code else shown, written: output}
        said = inside(command, given)
        assert f"is an input too ({read})" in said, (given, said)
        assert f"{written}: " in said
        tried += 1
    assert tried


@pytest.mark.parametrize("command", sorted(BASE))
def test_no_output_lies_in_a_folder_that_is_read(command: str, tmp_path: Path, inside: Any) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.npz").write_bytes(b"kept")
    for read, written in cases(command):
        if read in (*CODE, "--profile", "ASSESSMENT"):
            continue
        said = inside(command, {read: "parts", written: "parts/new.npz"})
        assert f"lies in parts, which is an input too ({read})" in said


@pytest.mark.parametrize(
    ("command", "one", "other"),
    [
        ("assess", {"--json": "x"}, {"--junit": "x"}),
        ("assess", {"--json": "x"}, {"--junit": "./x"}),
        ("assess", {"--json": "x.xml"}, {"--junit": "X.xml"}),  # one file on some disks
        ("assess", {"--out": "d"}, {"--json": "d/assessment.json"}),
        ("assess", {"--out": "d"}, {"--junit": "d/Report.MD"}),
        ("compare", {"--out": "d"}, {"--json": "d/comparison.json"}),
        ("plan", {"--out": "d"}, {"--json": "d/plan.json"}),
        ("certify", {"--sequential": "s.json"}, {"--json": "s.json"}),
        ("extract", {"--out": "x.npz"}, {"--head-out": "x.npz"}),
        ("extract", {"--out": "x.parquet"}, {"--head-out": "x.parquet/head.npz"}),
        ("extract", {"--out": "x.npz"}, {"--head-out": "x.npz.parts/head.npz"}),
    ],
)
def test_no_output_is_another(
    command: str, one: dict[str, str], other: dict[str, str], tmp_path: Path, inside: Any
) -> None:
    for folder in ("d", "x.parquet", "x.npz.parts"):
        (tmp_path / folder).mkdir()
    assert "would be lost; name another file" in inside(command, {**one, **other})
    assert "would be lost; name another file" in inside(command, {**other, **one})


def test_what_lies_in_a_folder_of_the_commands_own_is_not_read(tmp_path: Path, inside: Any) -> None:
    for out, file in (("x.parquet", "x.parquet/part.npz"), ("x.npz", "x.npz.parts/part.npz")):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_bytes(b"kept")
        assert "is an input too and lies in" in inside("score", {"--input": file, "--out": out})
        assert "is an input too and lies in" in inside("extract", {"--data": file, "--out": out})


def test_a_selection_is_not_written_over_what_it_is_drawn_from(tmp_path: Path, inside: Any) -> None:
    (tmp_path / "o.npz").write_bytes(b"kept")
    given = {"--select": "3", "--operation": "o.npz", "--calibration": "c.npz", "--out": "o.npz"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BASE, "plan", {})
        assert "o.npz is an input too (--operation)" in inside("plan", given)


def test_reports_and_studies(tmp_path: Path, inside: Any) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "report.html").write_bytes(b"kept")
    assert "is an input too (DIR)" in inside("report", {"DIR": "d/report.html"})
    (tmp_path / "d" / "assessment.json").write_bytes(b"kept")
    assert "is an input too (--pictures)" in inside("report", {"DIR": "d", "--pictures": "d"})
    assert "is an input too (--data)" in inside("reproduce", {"--data": "d", "--out": "d"})
    assert "is an input too (--data)" in inside("reproduce", {"--data": "d", "--out": "d/study"})
    (tmp_path / "networks").mkdir()
    assert "is an input too" in inside("reproduce", {"--data": "networks", "--out": "."})


KEYS = ("calibration", "operation", "tuning", "head", "manifold_data", "baseline")


@pytest.mark.parametrize("key", [*KEYS, "the check file"])
def test_no_report_of_a_check_file_replaces_what_it_names(key: str, tmp_path: Path, inside: Any) -> None:
    names = {key: f"{key}.npz" for key in KEYS}
    (tmp_path / "sub").mkdir()
    for name in (*names.values(), "sub/assessment.json"):
        (tmp_path / name).write_bytes(b"kept")
    lines = [*(f'{key} = "{name}"' for key, name in names.items()), "tolerance = 0.1", "target = 0.5"]
    table = "\n".join(["[[network]]", 'name = "n"', *lines])
    file_of_networks = tmp_path / "infimum.toml"
    file = names.get(key, "infimum.toml")
    file_of_networks.write_text(f'junit = "{file}"\n{table}')
    label = key if key == "the check file" else f"{key} of 'n'"
    assert f"{file} is an input too ({label})" in inside("check", {})
    if key != "the check file":
        os.link(tmp_path / file, tmp_path / "hard.xml")
        file_of_networks.write_text(f'junit = "hard.xml"\n{table}')
        assert f"is an input too ({label})" in inside("check", {})
        if key != "baseline":  # which is refused in all of the folder
            (tmp_path / "o" / "n").mkdir(parents=True)
            (tmp_path / "o" / "n" / "report.md").write_bytes(b"kept")
            file_of_networks.write_text(f'out = "o"\n{table}'.replace(f'"{file}"', '"o/n/report.md"'))
            assert f"is an input too ({label})" in inside("check", {})


def test_the_reports_of_a_check_file_are_different_files(tmp_path: Path, inside: Any) -> None:
    file_of_networks = tmp_path / "infimum.toml"
    table = '[[network]]\nname = "n"\ncalibration = "c"\noperation = "o"\ntarget = 0.5\n'
    for junit in ("r/n/assessment.json", "r/Summary.md"):
        file_of_networks.write_text(f'out = "r"\njunit = "{junit}"\n{table}')
        assert "would be lost; name another file" in inside("check", {})


@pytest.mark.parametrize("link", ["o/n", "o/n/report.md", "o/summary.md"])
def test_a_check_file_writes_through_no_link(link: str, tmp_path: Path, inside: Any) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"kept")
    (tmp_path / link).parent.mkdir(parents=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere" / ("" if link == "o/n" else "file"))
    (tmp_path / "infimum.toml").write_text(
        'out = "o"\n[[network]]\nname = "n"\ncalibration = "c"\noperation = "o.npz"\ntarget = 0.5\n'
    )
    assert f"{link} is a link, which could lead out of" in inside("check", {})


@pytest.mark.parametrize("out", ["x.npz", "x.parquet"])
def test_parts_are_written_through_no_link(out: str, tmp_path: Path) -> None:
    from infimum import InputError
    from infimum.models._parts import PartFolder

    place = tmp_path / ("x.npz.parts" if out == "x.npz" else out)
    place.mkdir()
    (tmp_path / "victim").write_bytes(b"kept")
    (place / "part-000000000000-000000000005.npz").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="is a link"):
        PartFolder(place, "npz").begin({}, resume=True)
    (tmp_path / "y.npz.parts").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is a link"):
        PartFolder(tmp_path / "y.npz.parts", "npz").begin({}, resume=True)


@pytest.mark.parametrize("name", ["networks", "figures", "table.md"])
def test_a_study_is_written_through_no_link(name: str, tmp_path: Path, inside: Any) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / name).symlink_to(tmp_path / "elsewhere")
    assert f"study/{name} is a link" in inside("reproduce", {"--out": "study"})


def test_a_folder_of_parquet_has_a_name_that_it_can_be_read_by(tmp_path: Path, inside: Any) -> None:
    (tmp_path / "o.npz").write_bytes(b"kept")
    said = inside("score", {"--out": os.fsdecode(b"\xff.parquet")})
    assert "has a name that is not UTF-8" in said
