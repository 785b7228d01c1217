"""Named arrays in files: npz, safetensors, Parquet, told apart by content. Files from others are untrusted.

Nothing is unpickled, sizes are checked before memory is taken, and writing goes to a temporary name first.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infimum.checks import Array
from infimum.errors import InputError, MissingExtraError

logger = logging.getLogger("infimum")

SAFETENSORS = (*(f"F{n}" for n in (16, 32, 64)), *(f"{k}{n}" for k in "IU" for n in (8, 16, 32, 64)), "BOOL")
"""Types of numbers in safetensors that numpy has too."""

READABLE = "npz, safetensors or Parquet"


def read_arrays(path: str | Path, wanted: Iterable[str] | None = None) -> dict[str, Array]:
    """The arrays of a file by name, only those `wanted` if given; the kind of file is told by its content.

    A folder of Parquet parts is read as one file.

    Raises InputError for a missing, foreign, truncated or pickled file, naming it.
    """
    path = Path(path)
    names = None if wanted is None else set(wanted)
    if path.is_dir():
        from infimum.parquet import read_parquet_folder

        return read_parquet_folder(path, names)
    start = read_bytes(path, 8)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _read_npz(path, names)
    if start[:4] == b"PAR1":
        from infimum.parquet import read_parquet

        return read_parquet(path, names)
    if start[:6] == b"\x93NUMPY":
        raise InputError(
            f"{path} is a single .npy array; infimum reads named arrays: np.savez('file.npz', logits=..., labels=...)"
        )
    if start[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise InputError(
            f"{path} is a pickle, which can run code when read; save arrays with np.savez instead"
        )
    if (len(start) == 8 and path.suffix in (".safetensors", "")) or path.suffix == ".safetensors":
        return read_safetensors(path, names)[0]
    raise InputError(f"{path} is not a readable {READABLE} file")


def array_names(path: str | Path) -> list[str]:
    """Names of the arrays in a file, without reading them (Parquet: its columns)."""
    path = Path(path)
    start = b"PAR1" if path.is_dir() else read_bytes(path, 4)
    if start in (b"PK\x03\x04", b"PK\x05\x06"):
        try:
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        except zipfile.BadZipFile as error:
            raise InputError(f"{path} is damaged or cut short ({error})") from error
    if start == b"PAR1":
        from infimum.parquet import parquet_names

        return parquet_names(path)
    return sorted(read_arrays(path))


def read_bytes(path: Path, size: int = -1) -> bytes:
    """The (first) bytes of a file; InputError if it is missing, a directory or not readable."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory; a {READABLE} file was expected") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_npz(path: Path, wanted: set[str] | None) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(
                info.file_size
                for info in archive.infolist()
                if wanted is None or info.filename.removesuffix(".npy") in wanted
            )
        check_fits(size, path)
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                if wanted is None or name in wanted:
                    arrays[name] = archive[name]
    except InputError:
        raise
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{path}: an array holds Python objects (a pickle), which can run code when read; "
                "save numbers or text, for example ids as strings: np.asarray(ids, dtype=str)"
            ) from error
        raise InputError(f"{path} is damaged: {error}") from error
    except MemoryError as error:
        raise InputError(f"{path} claims more than this machine's memory holds ({error})") from error
    except (zipfile.BadZipFile, EOFError, OSError, KeyError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is damaged or cut short ({error})") from error
    except Exception as error:
        if type(error).__module__ == "zlib":
            raise InputError(f"{path} is damaged ({error})") from error
        raise
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise InputError(f"{path}: {name} is not an array")
    return arrays


def read_safetensors(path: Path, wanted: set[str] | None = None) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays and metadata of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    read_bytes(path, 1)
    try:
        with safe_open(path, framework="numpy") as file:
            names = [name for name in file.keys() if wanted is None or name in wanted]  # noqa: SIM118
            for name in names:
                if (kind := file.get_slice(name).get_dtype()) not in SAFETENSORS:
                    raise InputError(
                        f"{path}: {name} is of type {kind}, which is not read; write it as float32: "
                        "tensor.float()"
                    )
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except (SafetensorError, OSError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{path} is not a readable {READABLE} file ({error})") from error


def physical_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_fits(size: int, path: Path) -> None:
    """Refuse a file whose arrays would not fit into this machine's memory (a zip can claim anything)."""
    memory = physical_memory()
    if memory is not None and size > memory:
        raise InputError(
            f"{path} unpacks to {size / 2**30:.1f} GiB, more than this machine's {memory / 2**30:.1f} GiB of memory"
        )


def write_npz(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to an npz, replaced in one move; arrays of Python objects are refused."""
    for name, array in arrays.items():
        if array.dtype.kind == "O":
            raise InputError(f"{name} holds Python objects and cannot be written without pickle")

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **dict(arrays))  # type: ignore[arg-type]

    replace_file(Path(path), write)


def write_safetensors(path: str | Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Write arrays to a safetensors file, replaced in one move."""
    from safetensors.numpy import save_file

    # safetensors writes memory as it lies: an array in Fortran order would come back with its numbers mixed up.
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    replace_file(Path(path), lambda temporary: save_file(ordered, temporary, dict(metadata)))


def json_text(document: Any) -> str:
    r"""A JSON document for people and programs; finite numbers only.

    Letters stand as they are. Half a letter, which a file name or an argument that is not UTF-8 gives, cannot be
    written so: it stands as its escape, which is JSON too.

    >>> json_text({"name": "λ \udcff"})
    '{\n  "name": "λ \\udcff"\n}\n'
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace").decode() + "\n"


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file, replaced in one move."""
    replace_file(Path(path), lambda temporary: temporary.write_bytes(data))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it: the old file or the new one, never half."""
    path = Path(
        os.path.realpath(path)
    )  # through a symbolic link: the file it names is replaced, not the link
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file (a device, pipe or directory) and is not replaced")
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        write(temporary)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
        logger.info("wrote %r", str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def make_directory(directory: Path) -> None:
    """Make a directory and those above it; InputError if a file is in the way or it is not allowed."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory} cannot be made: {error.strerror or error}") from error


def check_can_make(path: Path, *, directory: bool = False, inputs: Iterable[Path | None] = ()) -> None:
    """See, before work is spent, that a file (or directory) can be made at `path` and is none of the `inputs`.

    Nothing is left behind.
    """
    for given in inputs:
        if given is not None and path.resolve() == given.resolve():
            raise InputError(f"{path} is an input too and would be lost; write to another file")
    if path.exists() and path.is_dir() != directory:
        wanted, there = ("directory", "file") if directory else ("file", "directory")
        raise InputError(f"{path} is a {there}; a {wanted} is to be written there")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"{path} is a device or pipe and is not written to; - stands for stdout where that is possible"
        )
    place = path.absolute() if directory else path.absolute().parent
    if not directory and not place.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {place}")
    while not place.is_dir():
        if place.exists():
            raise InputError(f"{path} cannot be made: {place} is a file")
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def need_pyarrow() -> None:
    """Raise with the install command if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("Parquet", "parquet") from error
