"""What a PyTorch file is, told by its content, and whether reading it would run somebody's code.

TorchScript, torch.export programs, state dicts and pickled modules are all zip files. `torch.export.load` unpickles
freely and evaluates expressions that the file holds, so an exported program is looked through before it is loaded:
with the reader that PyTorch itself uses, since two readers may see different things in one zip.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.files import check_fits, read_bytes
from infimum.models import torch_run as tr

OPERATORS = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!(save|from_file|__\w*)\.)\w+\.(?!__)\w+"
    r"|torch\.ops\.aten\.__(and|or|xor|lshift|rshift)__\.\w+"
    r"|torch\.sym_\w+|torch\.ops\.higher_order\.wrap_with_(set_grad_enabled|autocast)"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|pow|neg|eq|ne|lt|le|gt|ge|and_|or_|not_)"
    r"|math\.[a-z]\w*"
)
"""What an exported program may call: arithmetic on tensors and sizes."""

EXPRESSION = re.compile(
    r"(?:\b(?:z?[suf]+\d+|\d+(?:\.\d+)?|[A-Z][A-Za-z]*)\b|'\w+'|[a-z]+=(?:True|False)\b|[-+*/%(), <>=!])*"
)
"""A size such as `2*s0 + 1` or `Symbol('s0', integer=True)`; sympy evaluates it as Python."""

CONTAINERS = {None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}

SCRIPT_CALLS = re.compile(rb"\b(?:torch|aten)\.(?:save|from_file)\b")
"""What a TorchScript program can call to reach the file system."""


def recognise(path: Path) -> str:
    """The kind of a file: script, program (of torch.export), pickle (of torch.save) or safetensors, else InputError."""
    start = read_bytes(path, 9)
    if start[:2] == b"PK":
        names = _records(path)[1]
        if "archive_format" in names and any(name.startswith("models/") for name in names):
            return "program"
        if "constants.pkl" in names and any(name.startswith("code/") for name in names):
            return "script"
        if "data.pkl" in names:
            return "pickle"
    elif start[:1] == b"\x80":
        return "pickle"
    elif len(start) == 9 and start[8:] == b"{":
        return "safetensors"
    raise InputError(
        f"{path} is not a PyTorch file; TorchScript, a torch.export program (.pt2), weights written by torch.save or "
        "safetensors were expected"
    )


def check_script(path: Path) -> None:
    """Refuse a TorchScript file whose code reads or writes files."""
    reader, names = _records(path)
    for name in names:
        if name.startswith("code/") and name.endswith(".py"):
            with _answering(path):
                code = reader.get_record(name)
            if SCRIPT_CALLS.search(code):
                raise InputError(
                    f"{path}: {name} reads or writes files; not run. If you trust its author, pass trust=True (--trust)"
                )


def check_program(path: Path) -> None:
    """Refuse an exported program that could run anything but tensor operations when it is read or run."""
    reader, names = _records(path)
    with _answering(path):
        reason = next(_dangers(reader, names), None)
    if reason is not None:
        raise InputError(
            f"{path}: {reason}, so reading it could run code with your rights; not read. If you trust its author, "
            "pass trust=True (--trust)"
        )


def _records(path: Path) -> tuple[Any, list[str]]:
    """PyTorch's reader of a zip, and the names in it."""
    torch = tr.import_torch()
    read_bytes(path, 1)
    with _answering(path):
        with zipfile.ZipFile(path) as archive:
            size, roots = sum(info.file_size for info in archive.infolist()), archive.namelist()
        # An old program's names have no folder. torch.export.load falls back to these, unpickling them.
        old = any(name.startswith("serialized_") for name in roots)
        reader = None if old else torch._C.PyTorchFileReader(str(path))
        names = [] if reader is None else reader.get_all_records()
    check_fits(size, path)
    if old:
        raise InputError(f"{path} was written by an old torch.export (before 2.8); export it again")
    return reader, names


@contextlib.contextmanager
def _answering(path: Path) -> Iterator[None]:
    """What readers raise on damaged bytes, as an InputError."""
    try:
        yield
    except Exception as error:  # zip, JSON, text and PyTorch's own errors, of many kinds
        raise InputError(f"{path} is damaged, cut short or no PyTorch file ({_first_line(error)})") from error


def _dangers(reader: Any, names: list[str]) -> Iterator[str]:
    for name in names:
        folder, _, ending = name.rpartition(".")
        if name.startswith("data/aotinductor"):
            yield f"{name} holds compiled code"
        elif name.startswith("models/"):
            yield from _dangers_in(json.loads(reader.get_record(name)), name)
        elif name.endswith("_config.json") and name.startswith("data/"):
            for entry in json.loads(reader.get_record(name))["config"].values():
                record = entry["path_name"]
                if not re.fullmatch(r"(weight|tensor)_\d+", record):
                    yield f"{record} is a pickled object"
                elif entry["use_pickle"] and not _only_weights(
                    reader.get_record(f"{folder.rpartition('/')[0]}/{record}")
                ):
                    yield f"{record} is a pickle of more than tensors"
        elif ending == "pt" and folder and not _only_weights(reader.get_record(name)):
            yield f"{name} is a pickle of more than tensors"


def _dangers_in(content: Any, name: str) -> Iterator[str]:
    """Calls, expressions and containers in a program's JSON that are more than arithmetic on tensors."""
    if isinstance(content, list):
        for item in content:
            yield from _dangers_in(item, name)
    elif isinstance(content, dict):
        for key, value in content.items():
            if key in ("target", "as_operator") and not OPERATORS.fullmatch(str(value)):
                yield f"{name} calls {value!r}"
            elif key == "expr_str" and not EXPRESSION.fullmatch(str(value)):
                yield f"{name} holds the expression {value!r}"
            elif key in ("in_spec", "out_spec") and isinstance(value, str):
                yield from (
                    f"{name} makes a {kind}" for kind in _kinds(json.loads(value)) if kind not in CONTAINERS
                )
            else:
                yield from _dangers_in(value, name)


def _kinds(spec: Any) -> Iterator[Any]:
    """The types of containers in a pytree's description, and a mark for enums, whose modules would be imported."""
    if isinstance(spec, list):
        for item in spec:
            yield from _kinds(item)
    elif isinstance(spec, dict):
        yield spec.get("type")
        if any(sign in str(spec.get("context")) for sign in ("__", "\\")):
            yield str(spec["context"])
        yield from _kinds(spec.get("children_spec"))


def _only_weights(data: bytes) -> bool:
    """Whether a pickle of torch.save holds nothing but tensors and plain containers."""
    torch = tr.import_torch()
    try:
        torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
    except Exception:  # whatever is wrong with it, it is not plain weights
        return False
    return True


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
