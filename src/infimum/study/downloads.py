"""The official files of MNIST, Fashion-MNIST and CIFAR-10, downloaded once with pooch and checked."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.study.datasets import SHAPES, Images

HASHES = {
    "mnist": {
        "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    },
    "fashion_mnist": {
        "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
    },
    "cifar10": {"cifar-10-binary.tar.gz": "md5:c32a1d4ab5d03f1284b67883e8d87530"},
}

SOURCES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "fashion_mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "cifar10": "https://www.cs.toronto.edu/~kriz/",
}

HAM10000 = (
    "HAM10000 cannot be downloaded without an account: get it from doi.org/10.7910/DVN/DBW86T (Harvard Dataverse), "
    "reduce the images to 64×64 and write ham10000/train.npz and ham10000/test.npz with 'images' (n, 64, 64, 3) uint8 "
    "and 'labels' (n,) in the order akiec, bcc, bkl, df, mel, nv, vasc, no lesion in both; then pass --data DIR"
)

_ROW = 1 + 3 * 32 * 32
"""Bytes of one CIFAR-10 image in the binary form: the label, then the planes red, green, blue."""


def download(
    dataset: str,
    part: str,
    report: Callable[[str], None] = lambda text: None,
    sources: dict[str, str] | None = None,
    hashes: dict[str, dict[str, str]] | None = None,
    folder: str | Path | None = None,
) -> Images:
    """The "train" or "test" part of a data set, from the cache or the official source (checksums verified).

    `sources`, `hashes` and `folder` (default: the user's cache) replace those of this file. Raises InputError
    when the file cannot be had or is not the official one.
    """
    if dataset == "ham10000":
        raise InputError(HAM10000)
    try:
        import pooch
    except ImportError as error:
        raise MissingExtraError("Downloading the study's data", "study") from error
    registry = (hashes or HASHES)[dataset]
    fetcher = pooch.create(
        path=(pooch.os_cache("infimum") if folder is None else Path(folder)) / dataset,
        base_url=(sources or SOURCES)[dataset],
        registry=registry,
        retry_if_failed=2,
    )
    if dataset == "cifar10":
        name = next(iter(registry))
        return _cifar10(_fetched(fetcher, name, dataset, report), part)
    prefix = "train" if part == "train" else "t10k"
    images = _idx(_fetched(fetcher, f"{prefix}-images-idx3-ubyte.gz", dataset, report), 3)
    labels = _idx(_fetched(fetcher, f"{prefix}-labels-idx1-ubyte.gz", dataset, report), 1)
    if images.shape[1:] != SHAPES[dataset] or len(images) != len(labels):
        raise InputError(f"{dataset}: images {images.shape} and labels {labels.shape} do not fit")
    return Images(images, labels.astype(np.int64))


def _fetched(fetcher: Any, name: str, dataset: str, report: Callable[[str], None]) -> Path:
    if not (Path(fetcher.path) / name).exists():
        report(f"{dataset}: downloading {fetcher.get_url(name)}")
    try:
        return Path(fetcher.fetch(name))
    except ValueError as error:  # pooch: the hash does not match
        raise InputError(
            f"{dataset}: {fetcher.get_url(name)} is not the official file ({error}); pass --data DIR with a good copy"
        ) from error
    except OSError as error:  # requests' errors are OSErrors too
        raise InputError(
            f"{dataset}: {fetcher.get_url(name)} cannot be downloaded ({type(error).__name__}); without a network, "
            "pass --data DIR with a folder per data set holding train.npz and test.npz"
        ) from error


def _idx(path: Path, dimensions: int) -> Array:
    """An array in the IDX format of MNIST: uint8, big-endian sizes."""
    data = gzip.decompress(path.read_bytes())
    head = 4 + 4 * dimensions
    shape = tuple(int(n) for n in np.frombuffer(data, ">i4", dimensions, 4)) if len(data) >= head else ()
    if data[:4] != bytes([0, 0, 8, dimensions]) or len(data) != head + int(np.prod(shape)):
        raise InputError(f"{path} is not an IDX file of {dimensions} dimensions")
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


def _cifar10(path: Path, part: str) -> Images:
    """The binary form: read from the archive, nothing is unpacked to disk."""
    wanted = [f"data_batch_{i}.bin" for i in range(1, 6)] if part == "train" else ["test_batch.bin"]
    with tarfile.open(path, "r:gz") as archive:
        members = {Path(member.name).name: member for member in archive if member.isfile()}
        missing = [name for name in wanted if name not in members]
        if missing:
            raise InputError(f"{path} has no {', '.join(missing)}")
        buffer = io.BytesIO()
        for name in wanted:
            file = archive.extractfile(members[name])
            buffer.write(file.read() if file is not None else b"")
    rows = np.frombuffer(buffer.getvalue(), np.uint8)
    if len(rows) % _ROW:
        raise InputError(f"{path}: {wanted[0]} is damaged")
    rows = rows.reshape(-1, _ROW)
    images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return Images(images, rows[:, 0].astype(np.int64))
