"""Only regular files of a size that can be meant are read: no input is waited for, none is without end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from infimum import Head, InputError, Outputs
from infimum.assessment._results import Assessment
from infimum.certification._labelled import Labelled
from infimum.certification._sequence_file import load_sequence
from infimum.comparison import Comparison
from infimum.conformal import Calibration
from infimum.conformal._files import holds_calibration
from infimum.data import open_data
from infimum.gates._check_file import load_check_file
from infimum.io.files import array_names
from infimum.io.regular import check_regular, open_regular, read_whole
from infimum.models import load
from infimum.outputs._stream import open_stream

READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "outputs": ("o.npz", Outputs.load),
    "safetensors": ("o.safetensors", Outputs.load),
    "parquet": ("o.parquet", Outputs.load),
    "stream": ("o.npz", open_stream),
    "names": ("o.npz", array_names),
    "head": ("h.npz", Head.load),
    "calibration": ("c.json", Calibration.load),
    "calibration or outputs": ("c.json", holds_calibration),
    "assessment": ("a.json", Assessment.load),
    "comparison": ("c.json", Comparison.load),
    "state": ("s.json", load_sequence),
    "check file": ("infimum.toml", load_check_file),
    "table": ("t.csv", Labelled.load),
    "data": ("x.npy", open_data),
    "labels": ("l.csv", lambda path: open_data(np.zeros((3, 2)), path)),
    "network": ("n.onnx", load),
    "weights": ("n.pt", lambda path: load(factory=lambda: None, weights=path)),
}


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """A reader that waits for a pipe is stopped: a minute is more than any machine needs."""

    def stop(*_: object) -> None:
        raise TimeoutError("waited for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("what", READERS)
def test_a_pipe_is_not_waited_for(tmp_path, what):
    name, read = READERS[what]
    if name.endswith(".pt"):
        pytest.importorskip("torch", reason="PyTorch is an optional extra")
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name} is a pipe, socket or device"):
        read(tmp_path / name)


@pytest.mark.parametrize("what", READERS)
def test_a_device_without_end(what):
    if what == "weights":
        pytest.importorskip("torch", reason="PyTorch is an optional extra")
    with pytest.raises(InputError, match="/dev/zero is a pipe, socket or device"):
        READERS[what][1](Path("/dev/zero"))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("outputs of parts", "part-0.parquet"),
        ("dataset", "data.arrow"),
        ("data of parts", "a.parquet"),
        ("model", "model.safetensors"),
        ("model", "tokenizer.json"),
    ],
)
def test_pipes_in_folders(tmp_path, folder, name):
    readers = {
        "outputs of parts": Outputs.load,
        "dataset": open_data,
        "data of parts": open_data,
        "model": load,
    }
    if folder != "model":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    else:
        pytest.importorskip("transformers", reason="transformers is an optional extra")
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "other.safetensors").write_bytes(b"")
    if folder == "dataset":
        (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name} is a (pipe|link or not a file)"):
        readers[folder](tmp_path)


@pytest.mark.parametrize(
    ("name", "read", "size"),
    [
        ("infimum.toml", load_check_file, 2**20),
        ("a.json", Assessment.load, 2**26),
        ("c.json", Comparison.load, 2**26),
    ],
)
def test_sizes_are_seen_before_anything_is_read(tmp_path, name, read, size):
    with (tmp_path / name).open("wb") as file:
        file.truncate(size + 1)  # a hole: no byte of it is on the disk
    with pytest.raises(InputError, match=rf"{size + 1:,} bytes, more than the {size:,}"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_no_file_has(name):
    for read in (check_regular, open_regular, read_whole):
        with pytest.raises(InputError, match="cannot be the name of a file"):
            read(Path(name))


def test_a_name_that_is_not_utf8_is_one(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.npz"))
    np.savez(path, logits=np.eye(3))
    assert len(Outputs.load(path)) == 3


def test_what_changes_while_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"1234")
    monkeypatch.setattr("infimum.io.regular.check_regular", lambda path, at_most=None: 3)
    with pytest.raises(InputError, match="changed meanwhile"):
        read_whole(tmp_path / "x")
