"""Extraction: order, ids, whole chunks, resuming after kill -9, and memory that does not grow with the data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from infimum import Head, InputError, Outputs
from infimum.data._images import ImageOptions
from infimum.identity.rows import Rows
from infimum.identity.shared import shared_rows
from infimum.io.files import read_arrays
from infimum.io.lazily import map_npz
from infimum.models import Cut, NetworkAdapter, extract
from infimum.models import _extraction as extraction
from infimum.models._parts import PartFolder

W = np.random.default_rng(5).normal(size=(3, 4))
X = np.random.default_rng(6).normal(size=(50, 4)).astype(np.float32)
Y = np.arange(50) % 3
IDS = np.array([f"input {i}" for i in range(50)])
KINDS = ["out.npz", "out.safetensors", "out.parquet"]


class Network:
    """A linear network that counts its calls and can be told to fail."""

    def __init__(self, weight=W, fail_at=None):
        self.weight, self.calls, self.fail_at = weight, 0, fail_at

    def forward(self, inputs):
        self.calls += 1
        if self.calls == self.fail_at:
            raise KeyboardInterrupt
        return inputs @ self.weight.T, np.asarray(inputs)

    @property
    def adapter(self):
        return NetworkAdapter(Cut(self.forward, Head(self.weight), "hand-made", "head"))


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(extraction, "CHUNK_BYTES", 500)


def skip_without(kind):
    if kind.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")


def check(path, rows=slice(None), ids=True):
    outputs = Outputs.load(path)
    np.testing.assert_allclose(outputs.logits, (X @ W.T)[rows])
    np.testing.assert_array_equal(outputs.features, X[rows])
    np.testing.assert_array_equal(outputs.labels, Y[rows])
    if ids:
        assert outputs.ids.tolist() == IDS[rows].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_raw_inputs_are_hashed_before_preprocessing(tmp_path, kind):
    """Equal inputs have equal hashes, whatever the batch they come in and whatever is done with them."""
    skip_without(kind)
    twice = np.concatenate([X, X[:10]])
    extract(Network().adapter, {"x": twice}, tmp_path / kind, batch_size=7, preprocess=lambda x: x * 0.5)
    found = Outputs.load(tmp_path / kind)
    assert found.id_source is None
    assert len(np.unique(found.input_hash[:50])) == 50
    np.testing.assert_array_equal(found.input_hash[50:], found.input_hash[:10])
    plain = Network().adapter.outputs({"x": X})
    np.testing.assert_array_equal(plain.input_hash, found.input_hash[:50])


def test_paths_hold_within_their_folder(tmp_path):
    """Two folders of images with the same names: their ids name different inputs, and those of one folder the same."""
    image = pytest.importorskip("PIL.Image", reason="images need Pillow")
    for name, gray in (("a", 10), ("b", 200)):
        (tmp_path / name).mkdir()
        for i in range(3):
            image.fromarray(np.full((2, 2, 3), gray + i, np.uint8)).save(tmp_path / name / f"{i}.png")
    network = Network(np.random.default_rng(0).normal(size=(3, 12)))
    network.forward = lambda x: (x.reshape(len(x), -1) @ network.weight.T, x.reshape(len(x), -1))
    first, again, other = (
        network.adapter.outputs(tmp_path / name, images=ImageOptions(None, None)) for name in "aab"
    )
    assert first.ids.tolist() == other.ids.tolist() == ["0.png", "1.png", "2.png"]
    assert shared_rows([Rows.of(first)], Rows.of(again)).mask.all()
    assert not shared_rows([Rows.of(first)], Rows.of(other)).mask.any()
    assert shared_rows([Rows.of(first)], Rows.of(other)).refuted == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_order_labels_and_ids_are_kept(tmp_path, kind, size):
    skip_without(kind)
    ids = None if kind == "out.safetensors" else IDS
    data = {"x": X, "labels": Y} | ({} if ids is None else {"ids": ids})
    made = extract(Network().adapter, data, tmp_path / kind, batch_size=size)
    assert (made.rows, made.skipped, made.resumed_at) == (50, 0, 0)
    check(tmp_path / kind, ids=ids is not None)
    assert not list(tmp_path.glob("*.parts"))
    assert not list(tmp_path.glob(".*"))


def test_three_rows(tmp_path):
    extract(Network().adapter, (X[:3], Y[:3]), tmp_path / "o.npz")
    check(tmp_path / "o.npz", slice(3), ids=False)


def test_npz_is_written_so_that_it_can_be_mapped_and_used(tmp_path):
    extract(Network().adapter, {"x": X, "labels": Y, "ids": IDS}, tmp_path / "o.npz", batch_size=7)
    for stored in map_npz(tmp_path / "o.npz").values():
        array = stored.mapped()
        assert isinstance(array.base, np.memmap)
        assert array.flags.aligned
        assert array.ctypes.data % 64 == 0
    with np.load(tmp_path / "o.npz") as plain:  # any other reader agrees
        np.testing.assert_array_equal(plain["ids"], IDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fail_at", [2, 4, 8])
def test_resuming_redoes_no_finished_chunk(tmp_path, kind, fail_at):
    skip_without(kind)
    data = {"x": X, "labels": Y} | ({} if kind == "out.safetensors" else {"ids": IDS})
    with pytest.raises(KeyboardInterrupt):
        extract(Network(fail_at=fail_at).adapter, data, tmp_path / kind, batch_size=7)
    folder = tmp_path / kind if kind == "out.parquet" else tmp_path / f"{kind}.parts"
    chunks = sorted(folder.glob("part-*"))
    if kind == "out.parquet" and chunks:
        with pytest.raises(InputError, match=r"not finished.*--resume"):
            Outputs.load(folder)
    network = Network()
    made = extract(network.adapter, data, tmp_path / kind, batch_size=7, resume=True)
    check(tmp_path / kind, ids=kind != "out.safetensors")
    assert made.resumed_at == (int(chunks[-1].name[18:30]) if chunks else 0)
    # What is left to do, and the first batch once more as proof that the network is the same.
    assert network.calls == -(-(50 - made.resumed_at) // 7) + bool(chunks)


def interrupted(tmp_path, data=(X, Y), **options):
    with pytest.raises(KeyboardInterrupt):
        extract(Network(fail_at=5).adapter, data, tmp_path / "o.npz", batch_size=7, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_failed_before_its_first_chunk_leaves_nothing(tmp_path, kind):
    skip_without(kind)
    with pytest.raises(KeyboardInterrupt):
        extract(Network(fail_at=1).adapter, (X, Y), tmp_path / kind, batch_size=7)
    assert not list(tmp_path.iterdir())
    extract(Network().adapter, (X, Y), tmp_path / kind, batch_size=8)
    check(tmp_path / kind, ids=False)


def test_an_interrupted_extraction_is_not_overwritten(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(InputError, match=r"interrupted extraction: continue it with --resume"):
        extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7)
    extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7, resume=True)
    check(tmp_path / "o.npz", ids=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": (X + 1, Y)}, "data was"),
        ({"data": (X, 1 - Y)}, "data was"),
        ({"batch_size": 6}, "batch_size was 7, is 6"),
        ({"settings": {"model": "another"}}, "model was 'one', is 'another'"),
        ({"adapter": Network(W + 1).adapter}, "the first batch gives other outputs"),
        ({"preprocess": lambda batch: batch * 2}, "the first batch gives other outputs"),
    ],
)
def test_resuming_refuses_what_has_changed(tmp_path, change, message):
    interrupted(tmp_path, settings={"model": "one"})
    given = {
        "adapter": Network().adapter,
        "data": (X, Y),
        "batch_size": 7,
        "settings": {"model": "one"},
    } | change
    with pytest.raises(InputError, match=message):
        extract(given.pop("adapter"), given.pop("data"), tmp_path / "o.npz", resume=True, **given)


def test_resuming_a_list_of_batches_and_a_shuffled_one(tmp_path):
    batches = [(X[i : i + 7], Y[i : i + 7]) for i in range(0, 50, 7)]
    interrupted(tmp_path, batches)
    with pytest.raises(InputError, match="the order of the data has changed"):
        extract(
            Network().adapter,
            [batches[1], batches[0], *batches[2:]],
            tmp_path / "o.npz",
            batch_size=7,
            resume=True,
        )
    extract(Network().adapter, batches, tmp_path / "o.npz", batch_size=7, resume=True)
    check(tmp_path / "o.npz", ids=False)


def test_half_a_chunk_and_a_missing_one(tmp_path):
    interrupted(tmp_path)
    folder = tmp_path / "o.npz.parts"
    (folder / ".part-000000000000-000000000007.npz.x.part").write_bytes(b"half")
    extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7, resume=True)
    assert not folder.exists()
    interrupted(tmp_path)
    sorted(folder.glob("part-*"))[0].unlink()
    with pytest.raises(InputError, match="lacks the chunk before"):
        extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7, resume=True)


KILLED_WHILE_WRITING = """
import os, signal, sys
import numpy as np
from infimum.models import Cut, NetworkAdapter, extract
from infimum.models import _assembly as assembly
def half(path, *_):
    path.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
assembly._write_npz = assembly._write_safetensors = half
cut = Cut(lambda x: (x[:, :3], x), None, "hand-made")
extract(NetworkAdapter(cut), sys.argv[1], sys.argv[2], settings={"model": "one"})
"""


@pytest.mark.parametrize("kind", ["o.npz", "o.safetensors"])
def test_nothing_is_left_of_a_run_that_was_killed_while_it_wrote_its_file(tmp_path, kind):
    pytest.importorskip("infimum.io.replacing", reason="what a killed process left is swept away there")
    np.save(tmp_path / "x.npy", X)
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, "x.npy", kind]
    path = str(Path(extraction.__file__).parents[2])
    killed = subprocess.run(
        command, cwd=tmp_path, check=False, env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    )
    assert killed.returncode == -signal.SIGKILL
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".part")]) == 1
    adapter = NetworkAdapter(Cut(lambda x: (x[:, :3], x), None, "hand-made"))
    extract(adapter, tmp_path / "x.npy", tmp_path / kind, settings={"model": "one"}, resume=True)
    assert sorted(os.listdir(tmp_path)) == [kind, "x.npy"]
    np.testing.assert_array_equal(Outputs.load(tmp_path / kind).logits, X[:, :3])


def clearing_stops(monkeypatch, after):
    """A run is killed while it removes its chunks: `after` the first of them, or before it removes the empty folder."""

    def remove(self):
        kept = [path for _, _, path in self.found()][1:] if after == "one chunk" else []
        for path in self.folder.iterdir():
            if path not in kept and (after != "one chunk" or path.name.startswith("part-")):
                path.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(PartFolder, "remove", remove)


@pytest.mark.parametrize("kind", ["o.npz", "o.safetensors"])
@pytest.mark.parametrize("after", ["one chunk", "all"])
def test_a_run_that_stopped_while_it_cleared_its_chunks_is_finished(tmp_path, kind, after, monkeypatch):
    with monkeypatch.context() as context:
        clearing_stops(context, after)
        with pytest.raises(KeyboardInterrupt):
            extract(Network().adapter, (X, Y), tmp_path / kind, batch_size=7)
    assert (tmp_path / f"{kind}.parts").exists()
    made = extract(Network().adapter, (X, Y), tmp_path / kind, batch_size=7, resume=True)
    assert made.finished
    check(tmp_path / kind, ids=False)
    assert [path.name for path in tmp_path.iterdir()] == [kind]


def test_what_was_cleared_is_made_anew_where_the_file_is_gone(tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        clearing_stops(context, "one chunk")
        with pytest.raises(KeyboardInterrupt):
            extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7)
    (tmp_path / "o.npz").unlink()
    made = extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7, resume=True)
    assert (made.finished, made.resumed_at) == (False, 0)
    check(tmp_path / "o.npz", ids=False)


def test_a_run_that_was_killed_before_it_had_a_manifest(tmp_path):
    folder = tmp_path / "o.npz.parts"
    folder.mkdir()
    (folder / "._infimum.json.12345678.part").write_text("{")
    extract(Network().adapter, (X, Y), tmp_path / "o.npz", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["o.npz"]
    check(tmp_path / "o.npz", ids=False)


def test_folders_of_others_are_left_alone(tmp_path):
    folder = tmp_path / "o.parquet"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    with pytest.raises(InputError, match="not of an extraction"):
        extract(Network().adapter, X, folder)
    assert (folder / "mine.txt").read_text() == "mine"


def test_a_finished_parquet_folder_is_not_run_again(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    extract(Network().adapter, (X, Y), tmp_path / "o.parquet")
    network = Network()
    made = extract(network.adapter, (X, Y), tmp_path / "o.parquet", resume=True)
    assert (made.rows, made.resumed_at, made.finished) == (50, 50, True)
    assert network.calls == 1  # the first batch, as proof that the network is the same
    with pytest.raises(InputError, match="finished extraction"):
        extract(network.adapter, (X, Y), tmp_path / "o.parquet")


@pytest.mark.parametrize("kind", ["o.npz", "o.safetensors"])
def test_a_finished_file_is_not_run_again(tmp_path, kind):
    out, options = tmp_path / kind, {"batch_size": 7, "settings": {"model": "one", "many": "x" * 10**6}}
    extract(Network().adapter, (X, Y), out, **options)
    before = out.stat()
    network = Network()
    made = extract(network.adapter, (X, Y), out, resume=True, **options)
    assert (made.rows, made.skipped, made.resumed_at, made.finished) == (50, 0, 50, True)
    assert network.calls == 1  # the first batch, as proof that the network is the same
    assert (out.stat().st_ino, out.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [path.name for path in tmp_path.iterdir()] == [kind]
    with pytest.raises(InputError, match=rf"{kind} cannot be continued.*batch_size was 7, is 8"):
        extract(network.adapter, (X, Y), out, resume=True, **{**options, "batch_size": 8})
    with pytest.raises(InputError, match=rf"{kind} cannot be continued.*data was"):
        extract(network.adapter, (X + 1, Y), out, resume=True, **options)
    with pytest.raises(InputError, match=rf"{kind} cannot be continued: the first batch gives other outputs"):
        extract(Network(W + 1).adapter, (X, Y), out, resume=True, **options)
    check(out, ids=False)
    # Without --resume it is made anew, and a file of others has nothing to go on from.
    assert not extract(Network().adapter, (X, Y), out, **options).finished
    Outputs(X @ W.T).save(out)
    assert not extract(Network().adapter, (X, Y), out, resume=True, **options).finished
    check(out, ids=False)


def test_an_interrupted_run_over_a_finished_file_is_gone_on_with(tmp_path):
    extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7)
    interrupted(tmp_path)
    made = extract(Network().adapter, (X, Y), tmp_path / "o.npz", batch_size=7, resume=True)
    assert not made.finished
    assert 0 < made.resumed_at < 50
    check(tmp_path / "o.npz", ids=False)


def test_outputs_that_are_not_finite_name_the_row(tmp_path):
    bad = X.copy()
    bad[23, 1] = np.nan
    with pytest.raises(InputError, match="row 23, column 0 is nan"):
        extract(Network().adapter, bad, tmp_path / "o.npz", batch_size=7)


def test_labels_that_are_not_the_networks_classes(tmp_path):
    labels = Y.copy()
    labels[23] = 3
    with pytest.raises(
        InputError, match=r"row 23 \(input 23\) is 3, outside 0..2: the network has 3 classes"
    ):
        extract(Network().adapter, {"x": X, "y": labels, "ids": IDS}, tmp_path / "o.npz", batch_size=7)
    names = {"x": X, "y": Y, "class_names": np.array(["a", "b", "c", "d"])}
    with pytest.raises(InputError, match=r"names 4 classes .* but the network has 3"):
        extract(Network().adapter, names, tmp_path / "p.npz")
    extract(Network().adapter, names, tmp_path / "q.npz", labels="none")
    assert Outputs.load(tmp_path / "q.npz").labels is None


def test_labels_that_the_model_was_not_trained_with(tmp_path):
    cut = Cut(Network().forward, None, "hand-made", classes=("a", "b", "c"))
    names = np.array(["a", "b", "c"])[Y]
    extract(NetworkAdapter(cut), (X, names), tmp_path / "o.npz", batch_size=7)
    np.testing.assert_array_equal(Outputs.load(tmp_path / "o.npz").labels, Y)
    names[23] = "d"
    with pytest.raises(InputError, match=r"row 23 is 'd', but the model was trained with .* 'a', 'b', 'c'"):
        extract(NetworkAdapter(cut), (X, names), tmp_path / "p.npz", batch_size=7)


def test_out_of_memory_suggests_a_batch_size(tmp_path):
    def forward(inputs):
        raise MemoryError

    with pytest.raises(
        InputError, match=r"out of memory with a batch of 7 .*batch_size=3 \(--network batch_size=3\)"
    ):
        extract(NetworkAdapter(Cut(forward, None, "hand-made")), X, tmp_path / "o.npz", batch_size=7)


def test_a_network_that_gives_more_rows_than_inputs(tmp_path):
    cut = Cut(lambda inputs: (np.zeros((len(inputs) + 1, 3)), None), None, "hand-made")
    with pytest.raises(InputError, match=r"outputs of shape \(8, 3\) for 7 inputs"):
        extract(NetworkAdapter(cut), X, tmp_path / "o.npz", batch_size=7)


def test_text_ids_do_not_go_into_safetensors_and_that_is_told_at_once(tmp_path):
    network = Network()
    with pytest.raises(InputError, match=r"safetensors cannot hold text \(ids\)"):
        extract(network.adapter, {"x": X, "ids": IDS}, tmp_path / "o.safetensors", batch_size=7)
    assert network.calls == 1


def test_preprocessing(tmp_path):
    extract(Network().adapter, (X / 2, Y), tmp_path / "o.npz", preprocess=lambda batch: batch * 2)
    check(tmp_path / "o.npz", ids=False)
    with pytest.raises(InputError, match="preprocess gave 49 rows for a batch of 50"):
        extract(Network().adapter, X, tmp_path / "p.npz", preprocess=lambda batch: batch[1:])
    with pytest.raises(InputError, match="preprocess gave a float"):
        extract(Network().adapter, X, tmp_path / "q.npz", preprocess=lambda batch: 1.0)


def test_fixed_batch_and_dicts():
    seen = []

    def forward(inputs):
        seen.append(len(inputs["a"]))
        return inputs["a"] @ W.T, None

    outputs = NetworkAdapter(Cut(forward, None, "hand-made", fixed_batch=8)).outputs({"a": X, "b": X})
    np.testing.assert_allclose(outputs.logits, X @ W.T)
    assert seen == [8] * 7


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="must end in"):
        extract(Network().adapter, X, tmp_path / "o.csv")
    (tmp_path / "d.npz").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        extract(Network().adapter, X, tmp_path / "d.npz")
    (tmp_path / "f.npz.parts").write_text("")
    with pytest.raises(InputError, match="is a file"):
        extract(Network().adapter, X, tmp_path / "f.npz")


def test_outputs_in_memory_and_progress(tmp_path):
    outputs = Network().adapter.outputs({"x": X, "y": Y, "ids": IDS}, batch_size=7)
    np.testing.assert_array_equal(outputs.labels, Y)
    assert outputs.ids.tolist() == IDS.tolist()
    with pytest.raises(InputError, match="gave no inputs"):
        Network().adapter.outputs(iter([]))
    seen = []
    extract(Network().adapter, X, tmp_path / "o.npz", batch_size=20, progress=lambda *at: seen.append(at))
    assert seen == [(20, 50), (40, 50), (50, 50)]


def test_bad_images_are_skipped_and_counted(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")
    from infimum.data import ImageOptions

    folder = tmp_path / "images"
    folder.mkdir()
    for i in range(20):
        Image.new("L", (2, 2), 10 * i).save(folder / f"{i:02}.png")
    for i in (0, 1, 2, 7, 19):  # a whole batch, one in the middle, the last
        (folder / f"{i:02}.png").write_bytes(b"broken")
    options = ImageOptions(resize=None, crop=None, mode="gray", mean=(0.0,), std=(1.0,))
    network = Network()

    def forward(batch):
        return network.forward(batch.reshape(-1, 4))

    adapter = NetworkAdapter(Cut(forward, None, "hand-made"))
    with pytest.raises(InputError, match=r"00\.png"):
        extract(adapter, folder, tmp_path / "o.npz", batch_size=3, images=options)
    kept = [i for i in range(20) if i not in (0, 1, 2, 7, 19)]
    network.fail_at = 4
    with pytest.raises(KeyboardInterrupt):
        extract(adapter, folder, tmp_path / "o.npz", batch_size=3, images=options, skip_bad=True, resume=True)
    made = extract(
        adapter, folder, tmp_path / "o.npz", batch_size=3, images=options, skip_bad=True, resume=True
    )
    assert (made.rows, made.skipped) == (15, 5)
    assert Outputs.load(tmp_path / "o.npz").ids.tolist() == [f"{i:02}.png" for i in kept]
    for path in folder.iterdir():
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="gave no inputs; 20 were bad"):
        extract(adapter, folder, tmp_path / "p.npz", images=options, skip_bad=True)


KILLED_RUN = """
import sys, time
import numpy as np
from infimum.models import Cut, NetworkAdapter, extract
from infimum.models import _extraction as extraction
from infimum.models._parts import PartFolder
chunk, calls = int(sys.argv[3]), 0
extraction.CHUNK_BYTES = 8 * (3 + 4) * chunk  # three logits and four features a row
def forward(inputs):
    global calls
    calls += 1
    if calls > chunk + 2 and "resume" not in sys.argv:  # five chunks lie there, and some batches in memory
        time.sleep(600)
    return inputs @ np.arange(12.0).reshape(4, 3), np.asarray(inputs)
made = extract(NetworkAdapter(Cut(forward, None, "hand-made")), sys.argv[1], sys.argv[2], batch_size=5,
               resume="resume" in sys.argv)
print(made.resumed_at)
"""


@pytest.mark.parametrize(
    ("kind", "chunk"),  # inputs of a chunk: those of one batch, or of several and so that the last is smaller
    [("out.npz", 5), ("out.parquet", 5), ("out.safetensors", 5), ("out.safetensors", 35), ("out.npz", 60)],
)
def test_killed_and_resumed(tmp_path, kind, chunk):
    skip_without(kind)
    rows = np.random.default_rng(0).normal(size=(1000, 4))
    np.savez(tmp_path / "x.npz", x=rows, ids=np.arange(1000))
    out = tmp_path / kind
    folder = out if kind == "out.parquet" else tmp_path / f"{kind}.parts"
    command = [sys.executable, "-c", KILLED_RUN, str(tmp_path / "x.npz"), str(out), str(chunk)]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(extraction.__file__).parents[2]),
    }
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("part-*"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    for part in folder.glob("part-*"):  # whole chunks only
        assert len(read_arrays(part)["logits"]) == chunk
    done = len(list(folder.glob("part-*"))) * chunk
    resumed = subprocess.run(
        [*command, "resume"], env=environment, check=True, capture_output=True, text=True
    )
    assert int(resumed.stdout) == done >= 5 * chunk
    assert not (tmp_path / f"{kind}.parts").exists()
    outputs = Outputs.load(out)
    np.testing.assert_array_equal(outputs.ids, np.arange(1000))
    np.testing.assert_allclose(outputs.logits, rows @ np.arange(12.0).reshape(4, 3))


MEMORY_RUN = """
import resource, sys
import numpy as np
from infimum.models import Cut, NetworkAdapter, extract
if sys.argv[1].endswith("parquet"):
    import pyarrow.parquet
def batches(n):
    rng = np.random.default_rng(0)
    for i in range(n):
        yield rng.normal(size=(256, 8)).astype(np.float32), np.zeros(256, int)
weight = np.random.default_rng(1).normal(size=(8, 1024)).astype(np.float32)
adapter = NetworkAdapter(Cut(lambda x: (x @ weight[:, :10], x @ weight), None, "hand-made"))
extract(adapter, batches(20), sys.argv[1] + ".warm" + sys.argv[1][sys.argv[1].rindex("."):])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
extract(adapter, batches(250), sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow_with_the_data(tmp_path, kind):
    skip_without(kind)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(extraction.__file__).parents[2]),
    }
    command = [sys.executable, "-c", MEMORY_RUN, str(tmp_path / kind)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    # 250 MiB of features after a run over 20 MiB: what comes on top is a few chunks of 16 MiB at most.
    assert float(run.stdout) < 80
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) > 250 * 2**20


def test_the_manifest_says_what_was_run(tmp_path):
    interrupted(tmp_path, settings={"model": "one"})
    document = json.loads((tmp_path / "o.npz.parts" / "_infimum.json").read_text())
    assert document["schema"] == "infimum/extraction/1"
    assert (document["model"], document["batch_size"], document["complete"]) == ("one", 7, False)
