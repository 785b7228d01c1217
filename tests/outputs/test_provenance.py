"""Fingerprints: equal for equal arrays however they lie in memory, different for different ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infimum import Head, Outputs
from infimum.io.provenance import fingerprint
from infimum.outputs._provenance import fingerprints, origin


def test_layout_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(50, 7))
    text = np.array([f"é{i}" for i in range(50)])
    np.save(tmp_path / "a.npy", array)
    same = (np.asfortranarray(array), array.astype(">f8"), np.load(tmp_path / "a.npy", mmap_mode="r"))
    whole = fingerprint(array), fingerprint(text)
    monkeypatch.setattr("infimum.io.provenance.CHUNK", 16)
    assert (fingerprint(array), fingerprint(text)) == whole
    assert {fingerprint(other) for other in same} == {whole[0]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.array(["a", "bc"]), np.array(["ab", "c"])),
        (np.array([1, 2]), np.array([2, 1])),
    ],
)
def test_different_arrays_differ(one: np.ndarray, other: np.ndarray) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_same_inputs_of_two_networks_share_labels_and_ids() -> None:
    labels, ids = np.array([0, 1]), np.array(["a", "b"])
    one, two = (fingerprints(Outputs(z, labels, ids=ids)) for z in (np.eye(2), 2 * np.eye(2)))
    assert one["labels"] == two["labels"]
    assert one["ids"] == two["ids"]
    assert one["logits"] != two["logits"]
    made = origin(3, {"operation": Outputs(np.eye(2)), "tuning": None}, np.eye(2), Head(np.eye(2)))
    assert made["inputs"].keys() == {"operation", "manifold data", "head"}
    assert made["seed"] == 3
