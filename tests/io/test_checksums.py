"""A flipped byte in a zip file is told as damage, whoever reads it and however."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import InputError
from infimum.io.checksums import check_sums
from infimum.models import Cut, NetworkAdapter, extract, load

X = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)


def flip(path, at=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0x10
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_data_in_an_npz(tmp_path, save):
    save(tmp_path / "x.npz", x=X, labels=np.arange(200) % 3)
    adapter = NetworkAdapter(Cut(lambda x: (x[:, :3], None), None, "hand-made"))
    adapter.outputs(tmp_path / "x.npz")
    flip(tmp_path / "x.npz")  # changed within the same process
    with pytest.raises(InputError, match=r"x\.npz is damaged"):
        adapter.outputs(tmp_path / "x.npz")


def test_a_chunk_of_an_extraction(tmp_path, monkeypatch):
    calls = []

    def forward(x):
        calls.append(len(x))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return x[:, :3], None

    adapter = NetworkAdapter(Cut(forward, None, "hand-made"))
    monkeypatch.setattr("infimum.models._extraction.CHUNK_BYTES", 100)
    with pytest.raises(KeyboardInterrupt):
        extract(adapter, X, tmp_path / "o.npz", batch_size=50)
    (_, second) = sorted((tmp_path / "o.npz.parts").glob("part-*"))
    flip(second)
    with pytest.raises(InputError, match=r"part-.* is damaged"):
        extract(adapter, X, tmp_path / "o.npz", batch_size=50, resume=True)


def test_weights_of_a_network(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
    module = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
    torch.save(module.state_dict(), tmp_path / "w.pt")
    options = {"factory": lambda: module, "example": X}
    assert load(weights=tmp_path / "w.pt", **options).cut.layer == "2"
    data = (tmp_path / "w.pt").read_bytes()
    flip(tmp_path / "w.pt", data.index(module[0].weight.detach().numpy().tobytes()[:64]) + 7)
    with pytest.raises(InputError, match=r"w\.pt is damaged.*crc32"):
        load(weights=tmp_path / "w.pt", **options)


def test_a_sound_file_is_read_once(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", x=X)
    check_sums(tmp_path / "x.npz")
    monkeypatch.setattr("zipfile.ZipFile", None)
    check_sums(tmp_path / "x.npz")
