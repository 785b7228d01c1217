"""Files replaced in one move: all that belong together or none, whatever stops the writing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reports import toy_assessment

import infimum.io.replacing
from infimum import Head, InputError, Outputs, compare_assessments
from infimum.assessment._results import Assessment
from infimum.conformal import calibrate
from infimum.io.replacing import replace_file, together, write_files


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    return toy_assessment(3, 200)


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def full_from(monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    """A disk that is full from the nth file on, after half of it."""
    fill, written = infimum.io.replacing._fill, []

    def filled(place: Path, write: object) -> object:
        written.append(place)
        if len(written) < nth:
            return fill(place, write)

        def half(temporary: Path) -> None:
            temporary.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return fill(place, half)

    monkeypatch.setattr(infimum.io.replacing, "_fill", filled)


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_all_files_of_an_assessment_as_they_were(
    assessment: Assessment, nth: int, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        write_files(
            tmp_path / "a" / "b", dict.fromkeys(("assessment.json", "report.html", "report.md"), b"old")
        )
    before = content(tmp_path)
    full_from(monkeypatch, nth)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        assessment.save(tmp_path / "a" / "b")
    assert content(tmp_path) == before
    assert (tmp_path / "a").exists() == there  # directories made for nothing go too


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_so_it_is_with_comparisons(
    assessment: Assessment, nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = compare_assessments([assessment, assessment], names=["a", "b"])
    full_from(monkeypatch, nth)
    with pytest.raises(InputError, match="No space left"):
        compared.save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


WRITERS = {
    "outputs.npz": "Outputs(np.zeros((4000, 3)), np.zeros(4000, int)).save('x.npz')",
    "outputs.parquet": "Outputs(np.random.default_rng(0).random((4000, 3))).save('x.parquet')",
    "outputs.safetensors": "Outputs(np.zeros((4000, 3))).save('x.safetensors')",
    "head.npz": "Head(np.ones((50, 100)), np.zeros(50)).save('x.npz')",
    "head.safetensors": "Head(np.ones((50, 100)), np.zeros(50)).save('x.safetensors')",
    "calibration": "calibrate(np.random.default_rng(0).random((2000, 3)), np.zeros(2000, int)).save('x.json')",
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_too_large_for_the_disk_is_one_error_and_leaves_nothing(what: str, tmp_path: Path) -> None:
    """A real limit (RLIMIT_FSIZE), which fails inside numpy, pyarrow and safetensors as a full disk does."""
    script = (
        "import resource, numpy as np\n"
        "from infimum import Head, InputError, Outputs, calibrate\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        f"try:\n    {WRITERS[what]}\nexcept InputError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be written: " in done.stdout
    assert done.stdout.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_every_way_of_writing_in_this_list_writes_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for script in WRITERS.values():
        exec(script, {"np": np, "Outputs": Outputs, "Head": Head, "calibrate": calibrate})  # noqa: S102
    assert sorted(os.listdir()) == ["x.json", "x.npz", "x.parquet", "x.safetensors"]
    assert all(os.path.getsize(file) > 8192 for file in os.listdir())


def test_what_is_raised_among_files_that_belong_together_takes_all_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    def interrupted() -> None:
        with together():
            replace_file(tmp_path / "a", lambda temporary: temporary.write_text("new"))
            write_files(tmp_path / "d" / "e", {"f": b"1"})
            assert (tmp_path / "a").read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert content(tmp_path) == {"a": b"old"}
    assert os.listdir(tmp_path) == ["a"]


def test_the_last_of_two_files_of_one_place_counts(tmp_path: Path) -> None:
    with together():
        for text in ("one", "two"):
            replace_file(tmp_path / "a", lambda temporary, text=text: temporary.write_text(text))
    assert content(tmp_path) == {"a": b"two"}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(mode)
    replace_file(file, lambda temporary: temporary.write_text("new"))
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", mode)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_gets_what_the_umask_leaves(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "a", lambda temporary: temporary.write_text("new"))
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


def test_nobody_else_reads_what_replaces_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o600)
    seen = []
    replace_file(file, lambda temporary: seen.append(temporary.stat().st_mode & 0o777))
    assert seen == [0o600]


def test_the_longest_name_that_a_file_may_have(tmp_path: Path) -> None:
    name = "λ" * 125 + ".json"
    replace_file(tmp_path / name, lambda temporary: temporary.write_text("new"))
    assert os.listdir(tmp_path) == [name]


def test_what_a_killed_process_left_is_swept_and_what_another_writes_is_not(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom infimum.io.replacing import replace_file\n"
        "def write(temporary):\n"
        "    temporary.write_text('half'); print(temporary.name, flush=True); time.sleep(100)\n"
        "replace_file(Path('a.json'), write)\n"
    )
    start = [sys.executable, "-c", script]
    writers = [subprocess.Popen(start, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        names = [writer.stdout.readline().strip() for writer in writers]
        mine = ".a.json.mine.part", ".b.json.0123abcd.part", ".a.json.0123abcd.part.npz"  # of others
        for name in mine:
            (tmp_path / name).write_text("mine")
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        assert sorted(os.listdir(tmp_path)) == sorted([*names, *mine])
        replace_file(tmp_path / "a.json", lambda temporary: temporary.write_text("new"))
        assert sorted(os.listdir(tmp_path)) == sorted([names[1], *mine, "a.json"])
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()


def test_links_below_a_directory_are_not_followed(assessment: Assessment, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "own").symlink_to(elsewhere)
    assessment.save(tmp_path / "own")  # the directory that was named may be a link
    assert sorted(content(elsewhere)) == ["assessment.json", "report.html", "report.md"]
    (tmp_path / "out").mkdir()
    (tmp_path / "victim").write_text("old")
    (tmp_path / "out" / "report.md").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"report\.md is a link, which could lead out of"):
        assessment.save(tmp_path / "out")
    assert (tmp_path / "victim").read_text() == "old"
    assert os.listdir(tmp_path / "out") == ["report.md"]
