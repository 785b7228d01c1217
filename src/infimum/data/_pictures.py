"""Pictures of a few inputs, for the eyes of a reader: from the images, or the arrays, that the network was run on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from infimum._checks import Array
from infimum.data._arrays import ArrayData, PackedArray
from infimum.data._data import Data
from infimum.data._image_folder import ImageFolder
from infimum.data._images import MAX_PIXELS, ImageOptions, need_pillow
from infimum.data._opening import open_data
from infimum.errors import InputError

SMALL = ImageOptions(resize=96, crop=None, mean=(0.0,), std=(1.0,), layout="nhwc")
"""The shorter side 96 pixels, values from 0 to 1."""


def pictures(
    source: str | Path, wanted: Iterable[tuple[int, str | None]], n: int
) -> dict[int, UInt8[np.ndarray, "..."]]:
    """Pictures (H, W) or (H, W, 3) by row, for the `wanted` (row, id) of n inputs.

    `source` is what `open_data` reads: a folder of images, a Parquet file or saved dataset with images, an .npy or
    uncompressed .npz file of shape (n, H, W), (n, H, W, C) or (n, C, H, W) with C = 1 or 3. An id that is the path
    of an image in the folder finds it, else the row does. Numbers that are not from 0 to 255 are stretched, each
    picture from its least to its largest. An image that cannot be read, is too large, or leads out of the folder
    has no picture.

    Raises InputError where the source holds no pictures or not n of them, MissingExtraError without Pillow.
    """
    need_pillow()
    opened = _open(Path(source))
    wanted = list(wanted)
    place = {path: at for at, path in enumerate(opened.paths)} if isinstance(opened, ImageFolder) else {}
    if place and any(name in place for _, name in wanted):
        found = [(row, place[name]) for row, name in wanted if name in place]
    elif opened.n != n:
        raise InputError(
            f"{source} holds {opened.n} inputs, but {n} were assessed: give those, in their order"
        )
    else:
        found = [(row, row) for row, _ in wanted]
    made = {row: _read(opened, at) for row, at in found}
    return {row: picture for row, picture in made.items() if picture is not None}


def check_pictures(source: str | Path) -> None:
    """Raise as `pictures` does, before any input is read."""
    need_pillow()
    _open(Path(source))


def holds_pictures(source: str | Path) -> bool:
    """Whether inputs are surely images: image files, arrays of one or three channels, or bytes (n, H, W)."""
    try:
        opened = _open(Path(source))
    except InputError:
        return False
    if not isinstance(opened, ArrayData):
        return True
    shape, kind = opened.inputs.shape, opened.inputs.dtype
    return len(shape) == 4 or kind == np.uint8


def _open(source: Path) -> Data:
    arrays = source.is_file() and source.suffix.lower() in (".npy", ".npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels, which no picture has
        opened = open_data(source, images=None if arrays else SMALL, skip_bad=True)
    if not isinstance(opened, ArrayData):
        return opened
    inputs = opened.inputs
    if isinstance(inputs, dict | PackedArray):
        why = "several arrays" if isinstance(inputs, dict) else "a compressed array"
        raise InputError(
            f"{source} holds {why}; pictures are read from one array, saved by np.save or np.savez"
        )
    shape = inputs.shape
    channels = len(shape) == 4 and {shape[1], shape[3]} & {1, 3}
    if inputs.dtype.kind not in "buif" or not (len(shape) == 3 or channels):
        raise InputError(
            f"{source} holds no pictures: {inputs.dtype} of shape {shape}; numbers (n, H, W), (n, H, W, C) or "
            "(n, C, H, W) with C = 1 or 3 were expected"
        )
    if not 0 < np.prod(shape[1:], dtype=np.int64) <= MAX_PIXELS:
        raise InputError(
            f"{source}: pictures of shape {shape[1:]} have more pixels than {MAX_PIXELS:,}, or none"
        )
    return opened


def _read(opened: Data, at: int) -> Array | None:
    if isinstance(opened, ArrayData):
        return _bytes(np.array(opened.inputs[at]))
    batch = next(iter(opened.batches(1, start=at)), None)
    if batch is None or not len(batch):
        return None
    if isinstance(batch.inputs, dict):
        raise InputError(f"{opened.name} has several columns of inputs; pictures are read from one")
    return _bytes(np.asarray(batch.inputs[0]))


def _bytes(pixels: Any) -> Array | None:
    """Values as bytes, channels last; None where they are not finite."""
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3) and pixels.shape[2] not in (1, 3):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels)
    values = pixels.astype(np.float64)
    if not np.isfinite(values).all():
        return None
    low, high = values.min(), values.max()
    if low >= 0 and high <= 1:
        values = values * 255
    elif low < 0 or high > 255:
        values = (values - low) * (255 / (high - low or 1.0))
    made: Array = np.round(values).astype(np.uint8)
    return made
