"""A TorchScript file, loaded; without trust only after all that PyTorch would parse or unpickle was looked through.

Loading compiles the code and fills objects: it runs nothing but `__setstate__`, which is refused. Running is what the
operators do, and those are checked twice: in the code before it is loaded, and in the graph that PyTorch made of it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from infimum.models._torch import run as tr
from infimum.models._torch.archive import Archive, Untrusted, answering, open_archive
from infimum.models._torch.operators import graph_may_hold
from infimum.models._torch.pickles import check_script_pickle, check_storages
from infimum.models._torch.source import check_source

_SOURCE = re.compile(r"code/(?:\w+/)*\w+\.py", re.ASCII)

_TENSORS = re.compile(r"(?:data|constants|traced_inputs)/\d+|extra/.+")

_PICKLES = ("data.pkl", "constants.pkl", "traced_inputs.pkl")
"""Records that torch.jit.load unpickles. Of traced inputs PyTorch writes the shapes only, and nobody reads more."""

_NOTES = (
    "version",
    "byteorder",
    ".format_version",
    ".storage_alignment",
    ".data/serialization_id",
    ".data/version",
)
"""Records of a few bytes that are numbers to PyTorch."""

_MOBILE = ("bytecode.pkl", "mobile_debug_handles.pkl")
"""Records for phones, which torch.jit.load passes over."""


def load_script(path: Path, target: Any, trust: bool) -> Any:
    """The ScriptModule in a file, on the device `target`.

    Raises InputError for a damaged file, and without `trust` for one whose code may do more than compute.
    """
    torch = tr.import_torch()
    source: Any = str(path)
    if not trust:
        archive = open_archive(path)
        check_script(archive)
        source = archive.opened()
    with answering(path), warnings.catch_warnings():  # loading TorchScript is deprecated; files of it are not
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.load(source, map_location=target)
        if not trust and (kind := next(_foreign_kinds(module.inlined_graph), None)) is not None:
            raise Untrusted(f"its graph calls {kind}")
    return module


def check_script(archive: Archive) -> None:
    """Raise InputError, before anything is loaded, if a TorchScript file may do more than compute."""
    with answering(archive.path):
        sources = {name: archive.read(name) for name in archive.sizes if _SOURCE.fullmatch(name)}
        classes = check_source(sources)
        for name in archive.sizes:
            try:
                _check_record(archive, name, sources, classes)
            except Untrusted as error:
                raise Untrusted(f"{name[:80]} {error}") from error


def _check_record(archive: Archive, name: str, sources: Collection[str], classes: Collection[str]) -> None:
    if name in _PICKLES:
        content = archive.read(name)
        check_script_pickle(content, classes)
        if name != "traced_inputs.pkl":
            check_storages(content, archive.sizes, name.removesuffix(".pkl"))
    elif name.endswith(".debug_pkl") and name.removesuffix(".debug_pkl") in sources:
        check_script_pickle(archive.read(name), ())
    elif name not in (*sources, *_NOTES, *_MOBILE) and not _TENSORS.fullmatch(name):
        raise Untrusted("is a record that a network does not need")


def _foreign_kinds(block: Any) -> Iterator[str]:
    """Operators in a graph, and in the blocks inside it, that are on no list."""
    for node in block.nodes():
        if not graph_may_hold(node.kind()):
            yield node.kind()
        elif node.kind() == "prim::unchecked_cast" and "__torch__" in str(node.output().type()):
            yield "prim::unchecked_cast to a class"
        for inner in node.blocks():
            yield from _foreign_kinds(inner)
