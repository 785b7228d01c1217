"""Damage in zip files (npz, PyTorch): every member's bytes against the CRC-32 that the file holds of it.

Readers that map a file, or that find their own way through it, never look at these.
"""

from __future__ import annotations

import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

from infimum.errors import InputError
from infimum.io.regular import check_regular

CHUNK = 2**20


def check_sums(path: Path, otherwise: str = "") -> None:
    """Raise InputError if a member of a zip is not what was written into it; `otherwise` ends the message.

    The file is read once, a piece at a time, and not again in this process unless it changes.

    >>> from pathlib import Path
    >>> check_sums(Path("missing.npz"))
    Traceback (most recent call last):
    infimum.errors.InputError: missing.npz does not exist
    """
    check_regular(path)
    try:
        status = path.stat()
        _read_through(path, status.st_size, status.st_mtime_ns)
    # ValueError: a name that is not the text it claims to be.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{path} is damaged or cut short ({error}); copy or write it again{otherwise}"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _read_through(path: Path, size: int, changed: int) -> None:
    del size, changed  # they tell one version of the file from another
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                while file.read(CHUNK):  # the end is where zipfile compares
                    pass
