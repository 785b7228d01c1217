"""The checksum of what a file of infimum says: written into the file, and compared whenever it is read.

It is SHA-256 of the content and not of the bytes, so that another indentation, order of keys or way of writing a number
does no harm, and a changed digit is noticed. It guards against damage and careless edits. It is no signature: whoever
changes a file on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from infimum.errors import InputError

CHECKSUM = "checksum"

EXACT = 2**53
"""Below this a whole number is the same as integer and as float64: 1.0 and 1 are one number in JSON."""


def checksum(content: Mapping[str, Any]) -> str:
    """The checksum of plain values and of arrays of numbers, these by kind, shape and bytes; its own key is left out.

    Raises InputError for a number that is not finite, or values nested too deep.

    >>> checksum({"a": 1, "b": [0.5]}) == checksum({"b": [0.50], "a": 1.0})
    True
    >>> checksum({"a": 1}) == checksum({"a": 2})
    False
    """
    try:
        plain = _plain({key: value for key, value in content.items() if key != CHECKSUM})
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise InputError("its values are nested too deep") from error
    except ValueError as error:
        raise InputError("it holds a number that is not finite") from error
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its checksum, which stands behind the schema: near the top, where it is seen.

    >>> list(sealed({"schema": "example/1", "a": 1}))
    ['schema', 'checksum', 'a']
    """
    first = {key: content[key] for key in ("schema",) if key in content}
    return {
        **first,
        CHECKSUM: checksum(content),
        **{k: v for k, v in content.items() if k not in ("schema", CHECKSUM)},
    }


def check_seal(content: Mapping[str, Any]) -> None:
    """Raise InputError, in words that follow a file's name, unless the content is what was sealed.

    >>> check_seal(sealed({"a": 1}))
    >>> check_seal({**sealed({"a": 1}), "a": 2})
    Traceback (most recent call last):
    infimum.errors.InputError: its checksum does not match: a value was changed or damaged since infimum wrote it; \
take the file as it was written, or make it again
    """
    if CHECKSUM not in content:
        raise InputError(
            f"it has no {CHECKSUM!r}, which infimum writes: it was made by hand or another version; make it again"
        )
    if content[CHECKSUM] != checksum(content):
        raise InputError(
            "its checksum does not match: a value was changed or damaged since infimum wrote it; take the file as it "
            "was written, or make it again"
        )


def _plain(value: Any) -> Any:
    """One form for what is equal."""
    if isinstance(value, dict):
        return {key: _plain(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inside) for inside in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return int(value)
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        digest = hashlib.sha256(array.data).hexdigest()
        return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}
    return value
