"""What a PyTorch file is, told by its content, and its records, read once.

TorchScript, torch.export programs, state dicts and pickled modules are all zip files. What is checked here and what
PyTorch loads then are the same bytes in memory, so that nobody can change one for the other. Two readers may see
different things in one zip: only what Python's and PyTorch's see alike is taken.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.io.files import read_bytes
from infimum.io.memory import check_fits
from infimum.models._torch import run as tr

_PLAIN = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[\w.@ +=,()\[\]-]+(?:/[\w.@ +=,()\[\]-]+)*", re.ASCII)
"""Names of records that mean the same to everybody."""


class Untrusted(Exception):  # noqa: N818
    """A part of a file that may do more than compute: which, and where."""


@dataclass(frozen=True, eq=False)
class Archive:
    """A zip of PyTorch in memory: its bytes, and the sizes of its records by name."""

    path: Path
    data: bytes
    sizes: dict[str, int]
    reader: Any

    def read(self, name: str) -> bytes:
        """The bytes of a record, as PyTorch's own reader finds it."""
        with answering(self.path):
            content: bytes = self.reader.get_record(name)
        return content

    def opened(self) -> io.BytesIO:
        """The whole file, for PyTorch to load."""
        return io.BytesIO(self.data)


def recognise(path: Path) -> str:
    """The kind of a file: script, program (of torch.export), pickle (of torch.save) or safetensors, else InputError."""
    start = read_bytes(path, 9)
    if start[:4] == b"PK\x03\x04":
        names = _names(path)
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


def open_archive(path: Path) -> Archive:
    """A zip of PyTorch, read once; InputError if it is damaged, or if two readers see different things in it."""
    return open_bytes(read_bytes(path), path)


def open_bytes(data: bytes, path: Path) -> Archive:
    """The same of bytes; `path` is named in messages."""
    torch = tr.import_torch()
    with answering(path):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: info.file_size for info in archive.infolist()}
            count = len(archive.infolist())
        check_fits(sum(members.values()), path)
        reader = torch._C.PyTorchFileReader(io.BytesIO(data))
        names = reader.get_all_records()
        root = next(iter(members)).partition("/")[0]
        seen = {f"{root}/{name}" for name in names}
        alike = seen == set(members) and count == len(names) == len({name.casefold() for name in names})
    if not alike:
        raise InputError(f"{path} is damaged: it holds records that not every reader of zip files sees alike")
    for name in names:
        if not _PLAIN.fullmatch(name):
            raise InputError(f"{path} is damaged: it holds a record named {name[:80]!r}")
    return Archive(path, data, {name: members[f"{root}/{name}"] for name in names}, reader)


@contextlib.contextmanager
def answering(path: Path) -> Iterator[None]:
    """What is found in a file as an InputError: a part that asks for trust, or damaged bytes."""
    try:
        yield
    except InputError:
        raise
    except Untrusted as error:
        raise InputError(
            f"{path}: {str(error)[:220]}, so reading or running it could run code with your rights; not read. If you "
            "trust its author, pass trust=True (--trust)"
        ) from error
    except Exception as error:  # zip, JSON, text and PyTorch's own errors, of many kinds
        raise InputError(f"{path} is damaged, cut short or no PyTorch file ({first_line(error)})") from error


def first_line(error: BaseException) -> str:
    """The first line of an error's message that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _names(path: Path) -> list[str]:
    """The names in a zip, as PyTorch's reader sees them."""
    torch = tr.import_torch()
    with answering(path):
        with zipfile.ZipFile(path) as archive:
            roots = archive.namelist()
        # An old program's names have no folder. torch.export.load falls back to these, unpickling them.
        if any(name.startswith("serialized_") for name in roots):
            raise InputError(f"{path} was written by an old torch.export (before 2.8); export it again")
        names: list[str] = torch._C.PyTorchFileReader(str(path)).get_all_records()
    return names
