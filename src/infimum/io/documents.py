"""JSON and TOML that others wrote, read strictly: no key twice, no number without bounds, no nesting without end."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.io.regular import LARGEST, MEBIBYTE, read_whole

DEPTH = 100
"""Lists and objects within one another; whoever walks through a document may call itself so often."""

DIGITS = 308
"""Of a whole number: with more it fits into no float."""

RECORD = 64 * MEBIBYTE
"""Bytes of what infimum writes of one network or comparison, at most."""

DOTS = 50
"""In a line of TOML: tomllib's time grows with the square of a dotted key's parts."""


def parse_json(text: bytes | str, what: str) -> Any:
    """The value of a JSON text, UTF-8 where it is bytes; `what` is what errors call it.

    Raises InputError for what is no JSON, a key that occurs twice in an object, NaN and Infinity, whole numbers
    beyond every float, and nesting beyond 100.

    >>> parse_json('{"n": 3}', "it")
    {'n': 3}
    >>> parse_json('{"n": 3, "n": 4}', "it")
    Traceback (most recent call last):
    infimum.errors.InputError: it is not JSON that can be read: the key 'n' occurs twice
    """
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(decoded, object_pairs_hook=_once, parse_int=_bounded, parse_constant=_no_number)
        _check_depth(document)
    except RecursionError as error:
        raise InputError(f"{what} is not JSON that can be read: {_TOO_DEEP}") from error
    except ValueError as error:
        raise InputError(f"{what} is not JSON that can be read: {error}") from error
    return document


def read_json(path: Path, at_most: int = LARGEST) -> dict[str, Any]:
    """The object in a JSON file of at most `at_most` bytes; InputError as `parse_json`, and for another value."""
    document = parse_json(read_whole(path, at_most), str(path))
    if not isinstance(document, dict):
        raise InputError(f"{path} holds {_kind(document)}, a JSON object was expected")
    return document


def read_toml(path: Path) -> dict[str, Any]:
    """The document in a TOML file of at most 1 MiB; InputError for what is no TOML, or nested without end."""
    data = read_whole(path, MEBIBYTE)
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b".") > DOTS:
            raise InputError(f"{path} is not TOML that can be read: line {number} has more than {DOTS} dots")
    try:
        document = tomllib.loads(data.decode())
        _check_depth(document)
    except RecursionError as error:
        raise InputError(f"{path} is not TOML that can be read: {_TOO_DEEP}") from error
    except ValueError as error:
        raise InputError(f"{path} is not TOML that can be read: {error}") from error
    return document


_TOO_DEEP = f"lists or objects are nested more than {DEPTH} deep"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:60]!r} occurs twice")
        found[name] = value
    return found


def _bounded(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a whole number has {len(digits)} digits, at most {DIGITS} are read")
    return int(digits)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _check_depth(document: Any) -> None:
    level = [[document]]
    for _ in range(DEPTH + 1):
        level = [list(_inside(value)) for container in level for value in container if _inside(value)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _inside(value: Any) -> Collection[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else repr(value)[:60]


def json_text(document: Any) -> str:
    r"""A JSON document for people and programs; finite numbers only.

    Letters stand as they are. Half a letter, which a file name or an argument that is not UTF-8 gives, cannot be
    written so: it stands as its escape, which is JSON too.

    >>> json_text({"name": "λ \udcff"})
    '{\n  "name": "λ \\udcff"\n}\n'
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace").decode() + "\n"
