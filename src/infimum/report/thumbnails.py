"""Small pictures of inputs, inside the page as data: URIs."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from infimum.errors import InputError, MissingExtraError

SIDE = 96
"""Pixels of the longer side of a picture that is made smaller."""

LARGEST = 64 * 1024
"""Bytes of an encoded picture that is taken as it is: twenty of them stay far below the page's 2 MB."""

KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def data_uri(picture: Any) -> str:
    """A picture as a data: URI.

    `picture` is PNG or JPEG bytes of at most 64 KiB, or a uint8 array (H, W), (H, W, 1) or (H, W, 3), which
    needs Pillow and is made smaller where it is larger than 96 pixels. Raises InputError for anything else.
    """
    if isinstance(picture, bytes):
        kind = next((kind for start, kind in KINDS.items() if picture.startswith(start)), None)
        if kind is None:
            raise InputError("a thumbnail is neither PNG nor JPEG")
        if len(picture) > LARGEST:
            raise InputError(f"a thumbnail has {len(picture)} bytes; give a smaller one, at most {LARGEST}")
        return _uri(kind, picture)
    array = np.asarray(picture)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    colour = array.ndim == 3 and array.shape[2] == 3
    if array.dtype != np.uint8 or array.size == 0 or not (array.ndim == 2 or colour):
        raise InputError(
            f"a thumbnail must be uint8 of shape (H, W), (H, W, 1) or (H, W, 3), not {array.dtype} "
            f"of shape {array.shape}"
        )
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("thumbnails of arrays", "images") from error
    image = Image.fromarray(array)
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "PNG")
    return _uri("png", file.getvalue())


def _uri(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
