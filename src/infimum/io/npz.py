"""Arrays in an npz, by name: only those that are asked for are unpacked, and none before its header is believed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from infimum._checks import Array, check_text
from infimum.errors import InputError
from infimum.io.memory import check_fits
from infimum.io.npy import NpyHeader, read_npy_header
from infimum.io.regular import open_regular
from infimum.io.zips import open_zip, zip_members

PIECE = 2**20
"""Bytes that are unpacked at a time."""

_LOCAL_HEADER = 30
"""Bytes of a zip member's own header before its name; bytes 26–29 hold the lengths of name and extra field."""


class Npz:
    """An open npz: `members` by the names of their arrays."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self.archive = path, archive
        self.members: dict[str, zipfile.ZipInfo] = {}
        for filename, info in zip_members(archive, path).items():
            name = filename.removesuffix(".npy")
            if name in self.members:
                raise InputError(f"{path} holds {name!r} twice, with and without .npy; write it anew")
            self.members[name] = info

    def header(self, name: str) -> NpyHeader:
        """What an array's header says, without reading the array."""
        info = self.members[name]
        with self.archive.open(info) as file:
            return read_npy_header(file, f"{self.path}: {name}", info.file_size)

    def stored(self, name: str) -> bool:
        """Whether an array lies in the file as it is, so that it can be mapped."""
        return self.members[name].compress_type == zipfile.ZIP_STORED

    def place(self, name: str) -> int:
        """Where in the file a member's bytes begin, by its own header, which must name it as the directory does."""
        info = self.members[name]
        with open_regular(self.path) as file:
            file.seek(info.header_offset)
            header = file.read(_LOCAL_HEADER)
            lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
            written = file.read(lengths[0])
        known = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
        if header[:4] != b"PK\x03\x04" or written != known:
            raise InputError(f"{self.path} is damaged: no member begins where {name!r} should")
        return info.header_offset + _LOCAL_HEADER + sum(lengths)

    def read(self, name: str) -> Array:
        """An array, unpacked; InputError where its bytes are not those that were written (CRC-32)."""
        info = self.members[name]
        with self.archive.open(info) as file:
            header = read_npy_header(file, f"{self.path}: {name}", info.file_size)
            data = np.empty(header.size, np.uint8)
            begin = 0
            while piece := file.read(PIECE):  # to the end, where zipfile compares
                data[begin : begin + len(piece)] = np.frombuffer(piece, np.uint8)
                begin += len(piece)
        if begin < header.size:
            raise InputError(f"{self.path} is cut short: {name} has {begin} bytes of {header.size}")
        return check_text(header.array(data), f"{self.path}: {name}")


@contextmanager
def open_archive(path: Path) -> Iterator[Npz]:
    """An npz, closed in the end; what goes wrong with it inside the block is an InputError that names it."""
    with open_zip(path) as archive:
        yield Npz(path, archive)


def npz_names(path: Path) -> list[str]:
    """Names of the arrays, in the order of the file."""
    with open_archive(path) as npz:
        return list(npz.members)


def read_npz(path: Path, wanted: set[str] | None = None) -> dict[str, Array]:
    """Arrays by name, all or those `wanted`; InputError for what is damaged, or not numbers or text."""
    with open_archive(path) as npz:
        names = [name for name in npz.members if wanted is None or name in wanted]
        check_fits(sum(npz.members[name].file_size for name in names), path)
        return {name: npz.read(name) for name in names}
