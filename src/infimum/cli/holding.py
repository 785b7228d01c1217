"""Inputs of a network where its outputs belong, or the other way round: said before anything is run or read."""

from __future__ import annotations

import os
from pathlib import Path

from infimum._text import listed
from infimum.errors import InputError

IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm")

NPY = b"\x93NUMPY"


def check_holds(path: Path, has_network: bool, option: str = "--model") -> None:
    """InputError for a file of outputs that a network would run on, or for inputs where there is no network.

    What cannot be told, or read, passes: whoever reads it says more.
    """
    from infimum.outputs._outputs import PROBABILITIES

    names = _arrays_in(path)
    outputs = [name for name in ("logits", *PROBABILITIES) if name in names]
    if has_network and outputs:
        raise InputError(f"{path} holds {outputs[0]}, which are outputs and no inputs: leave {option} out")
    if has_network or outputs:
        return
    if _is_npy(path) or _holds_images(path):
        raise InputError(
            f"{path} holds inputs: name the network, {option} (outputs have names, as np.savez('file.npz', logits=...))"
        )
    if names:
        raise InputError(
            f"{path} has no 'logits' and no 'probabilities'; it holds: {listed(names)}. If these are inputs, name the "
            f"network, {option}"
        )


def _arrays_in(path: Path) -> list[str]:
    """The names of the arrays or columns; none where there are no names to read."""
    from infimum.io.files import array_names

    parts = sorted(path.glob("*.npz")) if path.is_dir() and not any(path.glob("*.parquet")) else [path]
    try:
        return array_names(parts[0]) if parts else []
    except InputError:
        return []


def _is_npy(path: Path) -> bool:
    from infimum.io.files import read_bytes

    return path.is_file() and read_bytes(path, len(NPY)) == NPY


def _holds_images(path: Path) -> bool:
    """Whether a folder is a saved data set, or its first file is an image."""
    if not path.is_dir():
        return False
    if (path / "state.json").is_file():
        return True
    for _, folders, files in os.walk(path):
        folders.sort()
        seen = sorted(name for name in files if not name.startswith("."))
        if seen:
            return seen[0].lower().endswith(IMAGES)
    return False
