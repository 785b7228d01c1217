"""Named arrays in files: npz, safetensors, Parquet, told apart by content. Files from others are untrusted.

Nothing is unpickled, and sizes are checked before memory is taken. How files are replaced: `replacing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.regular import open_regular, read_whole
from infimum.io.replacing import replace_file

READABLE = "npz, safetensors or Parquet"

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How an npz begins, with and without arrays."""


def read_arrays(path: str | Path, wanted: Iterable[str] | None = None) -> dict[str, Array]:
    """The arrays of a file by name, only those `wanted` if given; the kind of file is told by its content.

    A folder of Parquet parts is read as one file.

    Raises InputError for a missing, foreign, truncated or pickled file, naming it.
    """
    path = Path(path)
    names = None if wanted is None else set(wanted)
    if path.is_dir():
        from infimum.io.parquet_parts import read_parquet_folder

        return read_parquet_folder(path, names)
    start = read_bytes(path, 8)
    if start[:4] in ZIP:
        from infimum.io.npz import read_npz

        return read_npz(path, names)
    if start[:4] == b"PAR1":
        from infimum.io.parquet import read_parquet

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
    if start in ZIP:
        from infimum.io.npz import npz_names

        return npz_names(path)
    if start == b"PAR1":
        from infimum.io.parquet_parts import parquet_names

        return parquet_names(path)
    return sorted(safetensors_header(path)[0])


def read_bytes(path: Path, size: int = -1) -> bytes:
    """The (first) bytes of a regular file; InputError if it is missing, or something else."""
    if size < 0:
        return read_whole(path)
    with open_regular(path) as file:
        try:
            return file.read(size)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def safetensors_header(path: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the arrays, and the metadata, of a safetensors file; InputError where a name occurs twice."""
    from infimum.io.safetensors_file import safetensors_names

    return safetensors_names(path)


def read_safetensors(path: Path, wanted: set[str] | None = None) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays and metadata of a safetensors file."""
    from infimum.io.safetensors_file import open_safetensors

    arrays, metadata = open_safetensors(path, wanted)
    return {name: array[...] for name, array in arrays.items()}, metadata


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
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    # safetensors writes memory as it lies: an array in Fortran order would come back with its numbers mixed up.
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    def write(temporary: Path) -> None:
        try:
            save_file(ordered, temporary, dict(metadata))
        except SafetensorError as error:  # a full disk, which others tell by an OSError
            raise OSError(str(error)) from error

    replace_file(Path(path), write)
