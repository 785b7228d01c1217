"""What a zip file holds, looked through before anything is unpacked: a zip can claim anything."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infimum.errors import InputError
from infimum.io.regular import open_regular

RATIO = 1032
"""Bytes that deflate can make of one."""


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file, closed in the end; what goes wrong with it inside the block is an InputError that names it.

    >>> with open_zip(Path("missing.npz")) as archive:
    ...     pass
    Traceback (most recent call last):
    infimum.errors.InputError: missing.npz does not exist
    """
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} claims more than this machine's memory holds ({error})") from error
    # What zipfile raises on damaged bytes; ValueError: a place before the file's beginning, a name that is no text.
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        IndexError,
        OverflowError,
    ) as error:
        raise InputError(f"{path} is damaged or cut short ({str(error)[:80]!r})") from error


def zip_members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Members by name.

    Raises InputError for a name that occurs twice, of which readers see one or the other; for members that are
    encrypted, or packed otherwise than by deflate; and for sizes that cannot be true.
    """
    length = path.stat().st_size
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if name in found:
            raise InputError(f"{path} holds {_shown(name)} twice; write it anew with each name once")
        if info.flag_bits & 1:
            raise InputError(f"{path}: {_shown(name)} is encrypted; write it without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{path}: {_shown(name)} is packed in a way that is not read; use np.savez")
        packed = info.compress_type != zipfile.ZIP_STORED
        most = RATIO * info.compress_size + RATIO if packed else info.compress_size
        there = max(0, length - info.header_offset)
        if info.file_size > most or info.compress_size > there or (not packed and info.file_size < most):
            raise InputError(
                f"{path} is damaged or cut short: {_shown(name)} claims {info.file_size} bytes, packed into "
                f"{info.compress_size}"
            )
        found[name] = info
    return found


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:60]}…")
