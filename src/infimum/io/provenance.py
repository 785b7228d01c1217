"""Where a result comes from: versions and seed, and fingerprints of arrays."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn")

CHUNK = 2**22
"""Values hashed at a time: an array that is mapped from a file is never wholly in memory."""


def made_with(seed: int | None = None, **more: Any) -> dict[str, Any]:
    """Versions, the seed where something is drawn, and what else a result says of its making; for JSON.

    >>> list(made_with(seed=0))
    ['infimum', 'numpy', 'scipy', 'scikit-learn', 'python', 'seed']
    """
    versions = {"infimum": __version__, **{package: _installed(package) for package in PACKAGES}}
    drawn = {} if seed is None else {"seed": seed}
    return {**versions, "python": platform.python_version(), **drawn, **more}


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


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
