"""Safetensors, read by their header: what the library reads, and damage that it finds too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load, save, save_file

from infimum import InputError, Outputs
from infimum.io.files import read_safetensors
from infimum.io.safetensors_file import TYPES, open_safetensors


def test_what_the_library_writes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {kind: (rng.random((3, 4)) * 9).astype(dtype) for kind, dtype in TYPES.items()}
    arrays |= {"none": np.zeros((0, 4)), "one": np.array(2.0), "λ": np.arange(5)}
    path = tmp_path / "x.safetensors"
    save_file(arrays, path, {"made": "here"})
    stored, metadata = open_safetensors(path)
    assert metadata == {"made": "here"}
    for name, array in arrays.items():
        assert stored[name].dtype == array.dtype
        np.testing.assert_array_equal(stored[name][...], array)
    np.testing.assert_array_equal(stored["F32"][1:3], arrays["F32"][1:3])
    assert list(read_safetensors(path, {"one", "other"})[0]) == ["one"]


def written(header: Any, data: bytes = bytes(16)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape: Any = (4,), offsets: Any = (0, 16), kind: Any = "F32", **others: Any) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": offsets, **others}


DAMAGED = {
    "empty": b"",
    "short": b"\1\2\3",
    "no header": written(b""),
    "text": written(b"hello"),
    "list": written([1]),
    "deep": written(b"[" * 100_000),
    "huge header": (2**40).to_bytes(8, "little") + b"{}",
    "longer than the file": (100).to_bytes(8, "little") + b"{}",
    "twice": written(b'{"logits": %b, "logits": %b}' % ((json.dumps(entry()).encode(),) * 2)),
    "no entry": written({"logits": 3}),
    "no shape": written({"logits": {"dtype": "F32", "data_offsets": [0, 16]}}),
    "shape": written({"logits": entry([-4])}),
    "true": written({"logits": entry([True, 4])}),
    "fraction": written({"logits": entry([4.0])}),
    "overflow": written({"logits": entry([2**61, 2**61])}),
    "too many": written({"logits": entry([1] * 50 + [4])}),
    "size": written({"logits": entry([5])}),
    "offsets": written({"logits": entry(offsets=[16, 0])}),
    "one offset": written({"logits": entry(offsets=[0])}),
    "gap": written({"logits": entry([3], [4, 16])}),
    "overlap": written({"logits": entry(), "labels": entry()}),
    "rest": written({"logits": entry([3], [0, 12])}),
    "cut": written({"logits": entry()}, bytes(15)),
    "metadata": written({"__metadata__": {"a": 1}, "logits": entry()}),
    "metadata list": written({"__metadata__": [], "logits": entry()}),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(DAMAGED[kind])
    with pytest.raises(InputError, match=r"x\.safetensors is not (a readable .*, or is damaged: |JSON that)"):
        Outputs.load(path)
    if kind not in (
        "too many",
        "twice",
    ):  # more dimensions than numpy may have; of two, the library takes one
        with pytest.raises(SafetensorError):
            load(DAMAGED[kind])


def test_numbers_that_numpy_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(written({"logits": entry([2, 4], kind="BF16")}))
    with pytest.raises(InputError, match=r"logits is of type BF16, which is not read; .*tensor\.float\(\)"):
        Outputs.load(path)
    header = {"logits": entry([2, 2]), "hidden": entry([8], [16, 32], "BF16")}
    path.write_bytes(written(header, bytes(32)))
    assert Outputs.load(path).n_classes == 2  # nobody asks for the other


def test_a_file_that_is_cut_after_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(save({"logits": np.zeros((100, 4))}))
    stored, _ = open_safetensors(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="was changed while it was read"):
        stored["logits"][...]
