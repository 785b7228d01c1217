"""64-bit hashes of rows: of what a network said, and of the raw inputs that it read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import UInt64

from infimum._checks import Array
from infimum._streams import Stream


def row_hashes(rows: Array) -> UInt64[np.ndarray, " n"]:
    """Multiply–xor-shift of the bits of each number of rows (n, d), summed along the row with odd random multipliers.

    Text or whole numbers (n,) are hashed by their letters; the width in which text is stored does not matter.

    >>> first, second, third = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    if rows.ndim == 1:
        text = np.ascontiguousarray(rows.astype(str))
        rows = text.view(np.uint32).reshape(len(text), -1)  # zeros behind a short text add nothing
    odd = Stream.HASH.fixed().integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2)
    odd = odd + np.uint64(1)
    hashes = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), size := max(1, 2**16 // rows.shape[1])):
        # Columns first: numpy is slow over short rows.
        numbers = np.array(rows[start : start + size].T, dtype=np.float64, order="C")
        numbers += 0.0  # −0 is 0
        bits = numbers.view(np.uint64)
        bits ^= bits >> np.uint64(29)
        bits *= odd.reshape(-1, 1)
        bits ^= bits >> np.uint64(32)
        np.sum(bits, axis=0, out=hashes[start : start + size])
    return hashes


def input_hashes(inputs: Any) -> UInt64[np.ndarray, " n"]:
    """Hash of the bytes, kind and shape of each raw input of a batch: an array (n, …), or several, by name or in order.

    >>> a, b, c = input_hashes(np.array([[1, 2], [3, 4], [1, 2]], dtype=np.uint8)).tolist()
    >>> a == c, a == b
    (True, False)
    """
    parts = (
        sorted(inputs.items())
        if isinstance(inputs, Mapping)
        else list(enumerate(inputs))
        if isinstance(inputs, tuple)
        else [("", inputs)]
    )
    columns = [_bytes_of(str(name), np.asarray(values)) for name, values in parts]
    found = np.empty(len(columns[0][1]), dtype=np.uint64)
    for row in range(len(found)):
        whole = hashlib.sha256()
        for start, rows in columns:
            whole.update(start)
            whole.update(rows[row])
        found[row] = int.from_bytes(whole.digest()[:8], "little")
    return found


def _bytes_of(name: str, array: Array) -> tuple[bytes, Any]:
    """Kind and shape of an input, and its bytes, row by row; of text without the width it is stored in."""
    if array.dtype.kind not in "fiub":
        flat = array.reshape(len(array), -1)
        return name.encode(), [
            "\0".join(map(str, row)).encode(errors="surrogatepass") for row in flat.tolist()
        ]
    start = f"{name} {array.dtype.str} {array.shape[1:]}".encode()
    return start, np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)
