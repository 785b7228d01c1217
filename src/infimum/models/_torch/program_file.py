"""A program of torch.export (.pt2), loaded; without trust only after every record was looked through.

`torch.export.load` unpickles freely, evaluates size expressions, imports what containers name, loads compiled code,
and writes the names in the file into Python source that it executes. So names must be plain words, sizes arithmetic,
pickles plain tensors, containers Python's own, and operators on the list.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.models._torch import run as tr
from infimum.models._torch.archive import Archive, Untrusted, answering, open_archive, open_bytes
from infimum.models._torch.operators import program_may_call
from infimum.models._torch.pickles import check_storages
from infimum.models._torch.sizes import check_size

_RECORDS = re.compile(
    r"archive_format|archive_version|version|byteorder|\.format_version|\.storage_alignment"
    r"|\.data/(?:version|serialization_id)|models/\w+\.json|data/weights/weight_\d+|data/constants/tensor_\d+"
    r"|data/(?:weights|constants)/\w+_(?:weights|constants)_config\.json"
    r"|data/(?:weights|constants|sample_inputs)/\w+\.pt|extra/.+",
    re.ASCII,
)
"""The records of a plain program; others hold compiled code, pickled objects, or what PyTorch will yet think of."""

_WORD = re.compile(r"[\w.@ :+<>-]*", re.ASCII)
"""Names as PyTorch writes them. They become Python source, where these characters alone can call nothing."""

_IDENTIFIER = re.compile(r"\w*", re.ASCII)

_NAMES = frozenset({"name", "as_name", "forward_arg_names", "user_input_name"})
"""Where a name becomes a variable in that source."""

_TEXT = frozenset({"as_string", "as_strings", "metadata", "guards_code", "torch_version"})
"""Where any text may stand: it is quoted there, or not looked at."""

_CONTAINERS = {None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}

_LOGGERS = ("torch.export", "torch.export.pt2_archive._package", "torch._export.serde.serialize")

MOST_PARTS = 200_000
"""Parts of all size expressions together: sympy takes about a millisecond for some ten."""


def load_program(path: Path, trust: bool) -> Any:
    """The ExportedProgram in a file.

    Raises InputError for a damaged file, and without `trust` for one that may do more than compute.
    """
    torch = tr.import_torch()
    if trust:
        with answering(path), _silent(), path.open("rb") as opened:
            return torch.export.load(opened)
    archive = open_archive(path)
    check_program(archive)
    with answering(path), _silent():
        return torch.export.load(archive.opened())


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Let PyTorch log nothing: it writes the stack and the file's text to the terminal before it raises."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def check_program(archive: Archive) -> None:
    """Raise InputError, before anything is loaded, if an exported program may do more than compute."""
    with answering(archive.path):
        for name in archive.sizes:
            try:
                _check_record(archive, name)
            except Untrusted as error:
                raise Untrusted(f"{name[:80]} {error}") from error


def _check_record(archive: Archive, name: str) -> None:
    if not _RECORDS.fullmatch(name):
        raise Untrusted("is a record that a network does not need")
    if name.startswith("models/"):
        parts = 0
        for expression in _expressions(_json(archive, name), ""):
            parts += _check_expression(expression)
            if parts > MOST_PARTS:
                raise Untrusted(f"holds sizes of more than {MOST_PARTS} parts")
    elif name.endswith("_config.json"):
        _check_config(archive, name)
    elif name.endswith(".pt") and not name.startswith("extra/"):
        _check_weights(archive, name)


def _check_expression(text: str) -> int:
    try:
        return check_size(text)
    except Untrusted as error:
        raise Untrusted(f"holds the expression {text[:60]!r}, which {error}") from error


def _json(archive: Archive, name: str) -> Any:
    return json.loads(archive.read(name).decode("utf-8"))


def _expressions(content: Any, key: str) -> Iterator[str]:
    """The sizes in a program's JSON, for further checks; Untrusted at what is no name, number or known operator."""
    if isinstance(content, list):
        for item in content:
            yield from _expressions(item, key)
    elif isinstance(content, dict):
        for inner, value in content.items():
            if not _WORD.fullmatch(inner):
                raise Untrusted(f"names something {inner[:80]!r}")
            if key in ("tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"):
                _check_text("name", inner)
            if inner not in _TEXT:
                yield from _expressions(value, inner)
    elif isinstance(content, str):
        if key == "expr_str":
            yield content
        else:
            _check_text(key, content)


def _check_text(key: str, text: str) -> None:
    if key in ("target", "as_operator"):
        if not program_may_call(text):
            raise Untrusted(f"calls {text[:80]!r}")
    elif key in ("in_spec", "out_spec"):
        for kind in _kinds(json.loads(text), key):
            raise Untrusted(f"makes a {str(kind)[:80]!r}")
    elif key == "custom_obj_name" or key == "class_fqn":
        raise Untrusted(f"holds an object of {text[:80]!r}")
    elif not (_IDENTIFIER if key in _NAMES else _WORD).fullmatch(text):
        raise Untrusted(f"names something {text[:80]!r}")


def _kinds(spec: Any, key: str) -> Iterator[Any]:
    """The containers in a pytree's description that are not Python's own, and keys that are not text and words.

    The keys of what goes in become the names of arguments, in source; an enum's module would be imported.
    """
    if isinstance(spec, list):
        for item in spec:
            yield from _kinds(item, key)
    elif isinstance(spec, dict):
        kind, context = spec.get("type"), str(spec.get("context"))
        if kind not in _CONTAINERS:
            yield kind
        words = _IDENTIFIER if key == "in_spec" else re.compile(r"(?!.*__)[^\\\x00-\x1f]*")
        keys = json.loads(context) if context not in ("null", "None", "") else []
        if not isinstance(keys, list) or not all(
            isinstance(each, str) and words.fullmatch(each) for each in keys
        ):
            yield context
        yield from _kinds(spec.get("children_spec"), key)


def _check_config(archive: Archive, name: str) -> None:
    """The list of a program's weights or constants: which are pickled, and where they lie."""
    folder = name.rpartition("/")[0]
    content = _json(archive, name)
    for entry in content["config"].values() if isinstance(content, dict) and "config" in content else ():
        record = str(entry.get("path_name"))
        if not re.fullmatch(r"(?:weight|tensor)_\d+", record, re.ASCII):
            raise Untrusted(f"names {record[:80]!r}, a pickled object")
        if entry.get("use_pickle"):
            _check_weights(archive, f"{folder}/{record}", f"of which {record} ")


def _check_weights(archive: Archive, name: str, called: str = "") -> None:
    """A pickle of torch.save inside the program: tensors and plain containers only."""
    torch = tr.import_torch()
    data = archive.read(name)
    if not data:
        return
    try:
        inner = open_bytes(data, archive.path)
        check_storages(inner.read("data.pkl"), inner.sizes, "data")
        torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
    except Exception as error:  # whatever is wrong with it, it is not plain weights
        raise Untrusted(f"{called}is a pickle of more than tensors") from error
