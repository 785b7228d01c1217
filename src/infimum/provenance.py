"""Where an assessment comes from: versions, seed, and fingerprints of what went in."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import infimum
from infimum.checks import Array
from infimum.head import AnyHead, Head
from infimum.outputs import Outputs

PACKAGES = ("numpy", "scipy", "scikit-learn")
ARRAYS = ("logits", "labels", "features", "ids", "weights")
CHUNK = 2**22
"""Values hashed at a time: an array that is mapped from a file is never wholly in memory."""


def origin(
    seed: int, data: Mapping[str, Outputs | None], manifold_data: Array | None, head: AnyHead | None
) -> dict[str, Any]:
    """Versions, seed and the SHA-256 of every array, by data set and name; plain values, for JSON."""
    inputs = {name: fingerprints(outputs) for name, outputs in data.items() if outputs is not None}
    if manifold_data is not None:
        inputs["manifold data"] = {"features": fingerprint(manifold_data)}
    if isinstance(head, Head):
        inputs["head"] = {"weight": fingerprint(head.weight), "bias": fingerprint(np.asarray(head.bias))}
    return {
        "infimum": infimum.__version__,
        **{package: _version(package) for package in PACKAGES},
        "python": platform.python_version(),
        "seed": seed,
        "inputs": inputs,
    }


def fingerprints(outputs: Outputs) -> dict[str, str]:
    """SHA-256 of each array that is there; labels and ids tell whether two networks saw the same inputs.

    >>> sorted(fingerprints(Outputs(np.eye(2), labels=np.array([0, 1]))))
    ['labels', 'logits']
    """
    arrays = {name: getattr(outputs, name) for name in ARRAYS}
    return {name: fingerprint(array) for name, array in arrays.items() if array is not None}


def fingerprint(array: Array) -> str:
    """SHA-256 of an array's kind, shape and values; of text, whatever the width it is stored in.

    >>> fingerprint(np.array(["a"], dtype="<U1")) == fingerprint(np.array(["a"], dtype="<U9"))
    True
    >>> fingerprint(np.array([1.0])) == fingerprint(np.array([1]))
    False
    """
    array = np.asarray(array)
    text = array.dtype.kind not in "fiub"
    kind = "text" if text else array.dtype.newbyteorder("<").str
    digest = hashlib.sha256(f"{kind} {array.shape}".encode())
    rows = max(1, CHUNK // max(1, array[:1].size))
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        if text:
            # The length before each text keeps "a", "b" apart from "ab", "".
            words = (f"{len(word)}:{word}" for word in map(str, block.ravel().tolist()))
            digest.update("".join(words).encode(errors="surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
