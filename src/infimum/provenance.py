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
from infimum.outputs import ABOUT_ROWS, Outputs

PACKAGES = ("numpy", "scipy", "scikit-learn")
ARRAYS = ("logits", *ABOUT_ROWS, "weights")
CHUNK = 2**22
"""Values hashed at a time: an array that is mapped from a file is never wholly in memory."""


def origin(
    seed: int,
    data: Mapping[str, Outputs | Mapping[str, str] | None],
    manifold_data: Array | None,
    head: AnyHead | None,
) -> dict[str, Any]:
    """Versions, seed and the SHA-256 of every array, by data set and name; plain values, for JSON.

    A data set is given itself, or its fingerprints.
    """
    inputs = {
        name: fingerprints(given) if isinstance(given, Outputs) else dict(given)
        for name, given in data.items()
        if given is not None
    }
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
    digest = Fingerprint(len(array), array)
    rows = max(1, CHUNK // max(1, array[:1].size))
    for start in range(0, len(array), rows):
        digest.add(array[start : start + rows])
    return digest.hexdigest()


class Fingerprint:
    """The fingerprint of an array of n rows that comes in blocks, all of the kind and width of the `first`."""

    def __init__(self, n: int, first: Array) -> None:
        self._text = first.dtype.kind not in "fiub"
        kind = "text" if self._text else first.dtype.newbyteorder("<").str
        self._digest = hashlib.sha256(f"{kind} {(n, *first.shape[1:])}".encode())

    def add(self, block: Array) -> None:
        """The next rows."""
        if self._text:
            # The length before each text keeps "a", "b" apart from "ab", "".
            words = (f"{len(word)}:{word}" for word in map(str, block.ravel().tolist()))
            self._digest.update("".join(words).encode(errors="surrogatepass"))
        else:
            self._digest.update(np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<")).data)

    def hexdigest(self) -> str:
        """Of the rows added."""
        return self._digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
