"""Outputs and Head: what is accepted, what is refused and how, files of every kind."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from infimum import Head, InputError, Outputs
from infimum.io.files import read_arrays, replace_file, write_npz
from infimum.outputs._outputs import log_probabilities


def whole(dtype: type = np.float32) -> Outputs:
    rng = np.random.default_rng(0)
    return Outputs(
        logits=rng.normal(size=(7, 3)).astype(dtype),
        labels=rng.integers(3, size=7),
        features=rng.normal(size=(7, 4)).astype(dtype),
        ids=np.array([f"img-{i}" for i in range(7)]),
        class_names=("cat", "dog", "<b>"),
        weights=rng.random(7),
    )


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_round_trip(tmp_path: Path, suffix: str, dtype: type) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    path = tmp_path / f"outputs{suffix}"
    before = whole(dtype)
    before.save(path)
    after = Outputs.load(path)
    for name in ("logits", "labels", "features", "ids", "weights"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.class_names == before.class_names
    assert after.logits.dtype == dtype


def test_round_trip_safetensors(tmp_path: Path) -> None:
    before = whole()
    with pytest.raises(InputError, match="cannot hold text"):
        before.save(tmp_path / "x.safetensors")
    plain = Outputs(before.logits, before.labels, before.features, np.arange(7))
    plain.save(tmp_path / "x.safetensors")
    after = Outputs.load(tmp_path / "x.safetensors")
    np.testing.assert_array_equal(after.ids, np.arange(7))
    np.testing.assert_array_equal(after.logits, plain.logits)


def test_parquet_with_a_column_per_number(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    import pyarrow.parquet as pq

    columns = {f"logits_{k}": np.arange(3.0) + k for k in range(11)} | {
        "labels": [0, 1, 2],
        "ids": ["a", "b", "c"],
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    outputs = Outputs.load(tmp_path / "x.parquet")
    np.testing.assert_array_equal(outputs.logits, np.arange(3.0)[:, None] + np.arange(11))
    assert outputs.ids.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("dtype", "smallest"), [(np.float16, -16.7), (np.float32, -103.3), (np.float64, -744.5)]
)
def test_probabilities_become_logits(dtype: type, smallest: float) -> None:
    p = np.array([[1, 0, 0], [0.5, 0.25, 0.25]], dtype=dtype)
    outputs = Outputs.from_probabilities(p)
    assert outputs.saturated == 1
    np.testing.assert_allclose(np.exp(outputs.logits[1]), p[1], rtol=1e-3)
    assert outputs.logits[0, 1] == pytest.approx(smallest, abs=0.1)


def test_probabilities_are_renormalised_within_tolerance() -> None:
    logs, _ = log_probabilities(np.array([[0.4996, 0.4997]]))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-12)
    log_probabilities(np.array([[0.505, 0.5]], dtype=np.float16))
    with pytest.raises(InputError, match=r"row 0 sums to 1\.005"):
        log_probabilities(np.array([[0.505, 0.5]]))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"probs": [[0.5, 0.6]]}, "row 0 sums to 1.1"),
        ({"probs": [[1.5, -0.5]]}, "numbers from 0 to 1"),
        ({"probabilities": [[3.0, 4.0]]}, "are these logits"),
        ({"probs": [[np.nan, 1.0]]}, "row 0, column 0"),
        ({"probs": [[1.0]]}, "single sigmoid"),
        ({"logits": [[1.0], [2.0]]}, "single sigmoid"),
        ({"logits": [[1.0, 2.0]], "labels": [5]}, "outside 0..1"),
        ({"logits": [[1.0, 2.0]], "labels": [0, 1]}, "2 entries"),
        ({"logits": [[1.0, 2.0]], "features": [[1.0], [2.0]]}, "features has 2 rows"),
        ({"logits": [[1.0, 2.0]], "ids": ["a", "b"]}, "ids has 2 entries"),
        ({"logits": [[1.0, 2.0]], "class_names": ["a"]}, "1 class_names for 2"),
        ({"logits": [[1.0, 2.0]], "weights": [-1.0]}, "cannot be negative"),
        ({"logits": [[1.0, 2.0]], "weights": [0.0]}, "all zero"),
        ({"logits": [[1.0, 2.0]], "weights": [1e-320]}, "scale them"),
        ({"logits": [[1.0, 2.0]], "weights": [np.nan]}, "not a finite"),
        ({"logits": np.empty((0, 3))}, "empty"),
        ({"logits": [["a", "b"]]}, "must hold numbers"),
        ({"scores": [[1.0, 2.0]]}, "it holds: scores"),
    ],
)
def test_bad_arrays(tmp_path: Path, arrays: dict, message: str) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, **{k: np.asarray(v) for k, v in arrays.items()})
    with pytest.raises(InputError, match=message) as caught:
        Outputs.load(path)
    assert "x.npz" in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    good = tmp_path / "good.npz"
    write_npz(good, {"logits": np.eye(200)})
    data = good.read_bytes()
    files = {
        "cut.npz": (data[: len(data) // 2], "damaged"),
        "flipped.npz": (data[:5000] + b"\xff" * 200 + data[5200:], "damaged"),
        "empty.npz": (b"", "not a readable"),
        "text.npz": (b"logits,labels\n1,2\n", "not a readable"),
        "pickle.pkl": (pickle.dumps([1]), "pickle"),
        "x.safetensors": (b"\x10\0\0\0\0\0\0\0notjson", "not a readable"),
        "x.parquet": (b"PAR1" + b"\0" * 50, "not a readable Parquet"),
    }
    for name, (content, message) in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            Outputs.load(tmp_path / name)
    np.save(tmp_path / "one.npy", np.eye(2))
    np.savez(tmp_path / "object.npz", logits=np.array([{}, {}], dtype=object))
    for name, message in (
        ("one.npy", "np.savez"),
        ("object.npz", "pickle"),
        ("nothing.npz", "does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            Outputs.load(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="directory"):
        Outputs.load(tmp_path / "empty")


def test_a_file_that_claims_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    write_npz(tmp_path / "x.npz", {"logits": np.eye(100)})
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    with pytest.raises(InputError, match="memory"):
        read_arrays(tmp_path / "x.npz")


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")

    def broken(temporary: Path) -> None:
        temporary.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(path, broken)
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "old"


def test_links_are_followed_and_devices_are_kept(tmp_path: Path) -> None:
    import os

    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    replace_file(tmp_path / "link.txt", lambda temporary: temporary.write_text("new"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        replace_file(tmp_path / "pipe", lambda temporary: temporary.write_text("x"))


def test_head(tmp_path: Path) -> None:
    head = Head(np.arange(6.0).reshape(2, 3), np.array([1, 2]))
    np.testing.assert_array_equal(head.logits(np.ones((1, 3))), [[4, 14]])
    for name in ("head.npz", "head.safetensors"):
        head.save(tmp_path / name)
        np.testing.assert_array_equal(Head.load(tmp_path / name).weight, head.weight)
    np.savez(tmp_path / "no.npz", bias=np.ones(2))
    for make, message in (
        (lambda: Head(np.ones((2, 3)), np.ones(3)), "bias"),
        (lambda: Head(np.ones((1, 3))), "one row"),
        (lambda: Head(np.full((2, 3), np.nan)), "finite"),
        (lambda: Head(np.ones((2, 3)), np.array([0, np.inf])), "finite"),
        (lambda: head.logits(np.ones((1, 4))), "do not fit"),
        (lambda: Head.load(tmp_path / "no.npz"), "it holds: bias"),
    ):
        with pytest.raises(InputError, match=message):
            make()


def test_masked_classes_are_not_to_be_left_out() -> None:
    """Rows that hold a masked class are inputs like others: without them the rest is no random sample."""
    with pytest.raises(
        InputError, match=r"row 1, column 0 is -inf.*far below the others, as -1e6, and keep the row"
    ):
        Outputs(np.array([[0.0, 1.0], [-np.inf, 1.0]]))
    with pytest.raises(InputError, match="leaving out such rows selects"):
        Outputs(np.array([[0.0, np.nan]]))
