"""Downloads, against a server on this machine: official formats, checksums, and no network."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError
from infimum.study.downloads import HASHES, SOURCES, download

pytest.importorskip("pooch", reason="downloads need pooch, an optional extra")
pytest.importorskip("requests", reason="pooch downloads with requests")


class Quiet(SimpleHTTPRequestHandler):
    """No log lines."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes())


IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28)).astype(np.uint8)
LABELS = np.array([3, 1, 4, 1, 5])
COLOUR = np.random.default_rng(1).integers(0, 256, (2, 32, 32, 3)).astype(np.uint8)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[dict[str, str], dict[str, dict[str, str]]]]:
    """Addresses and hashes of two small data sets."""
    folder = tmp_path / "server"
    folder.mkdir()
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(IMAGES))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(LABELS))
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"):
            rows = b"".join(bytes([7]) + image.transpose(2, 0, 1).tobytes() for image in COLOUR)
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(rows)
            archive.addfile(member, io.BytesIO(rows))
    running = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=running.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{running.server_address[1]}/"
    hashes = {
        dataset: {
            name: "md5:" + hashlib.md5((folder / name).read_bytes()).hexdigest()  # noqa: S324
            for name in names
        }
        for dataset, names in HASHES.items()
    }
    yield dict.fromkeys(SOURCES, address), hashes
    running.shutdown()
    running.server_close()


@pytest.mark.parametrize("part", ["train", "test"])
def test_idx_files(
    server: tuple[dict[str, str], dict[str, dict[str, str]]], part: str, tmp_path: Path
) -> None:
    sources, hashes = server
    said: list[str] = []
    found = download("mnist", part, said.append, sources, hashes, tmp_path / "cache")
    assert (found.images == IMAGES).all()
    assert found.labels.tolist() == LABELS.tolist()
    assert len(said) == 2
    download("mnist", part, said.append, {"mnist": "http://127.0.0.1:9/"}, hashes, tmp_path / "cache")
    assert len(said) == 2  # from the cache: the address is not asked again


def test_cifar_archive(server: tuple[dict[str, str], dict[str, dict[str, str]]], tmp_path: Path) -> None:
    sources, hashes = server
    test = download("cifar10", "test", sources=sources, hashes=hashes, folder=tmp_path / "cache")
    train = download("cifar10", "train", sources=sources, hashes=hashes, folder=tmp_path / "cache")
    assert (test.images == COLOUR).all()
    assert (len(train), set(train.labels.tolist())) == (10, {7})


def test_another_file_is_refused(
    server: tuple[dict[str, str], dict[str, dict[str, str]]], tmp_path: Path
) -> None:
    sources, _ = server
    with pytest.raises(InputError, match="not the official file"):
        download("mnist", "test", sources=sources, folder=tmp_path / "cache")


def test_no_network(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be downloaded.*--data DIR"):
        download("mnist", "test", sources={"mnist": "http://127.0.0.1:9/"}, folder=tmp_path / "cache")


def test_ham_says_where_it_is() -> None:
    with pytest.raises(InputError, match="DBW86T"):
        download("ham10000", "train")
