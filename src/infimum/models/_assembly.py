"""Chunks to one npz or safetensors file, a chunk at a time: no more than one is in memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.checksums import check_sums
from infimum.io.lazily import map_npz
from infimum.io.replacing import replace_file
from infimum.models._finished import KEY, as_text

ALIGNMENT = 64

_SAFETENSORS = {
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    "bool": "BOOL",
}


@dataclass(frozen=True)
class _Whole:
    """An array that lies in chunks: its name, shape, dtype, and the chunks' blocks in order."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    files: tuple[Path, ...]

    def blocks(self) -> Iterator[bytes]:
        for path in self.files:
            yield np.ascontiguousarray(map_npz(path)[self.name][...], self.dtype).tobytes()


def assemble(
    parts: list[Path], out: Path, class_names: tuple[str, ...] | None, settings: Mapping[str, Any]
) -> None:
    """Write the chunks' arrays, joined, and the settings to `out` (.npz or .safetensors), replaced in one move."""
    arrays, text = _join(parts), as_text(settings)
    if out.suffix == ".safetensors":
        check_safetensors(arrays, class_names)
        replace_file(out, lambda temporary: _write_safetensors(temporary, arrays, text))
    else:
        replace_file(out, lambda temporary: _write_npz(temporary, arrays, class_names, text))


def check_safetensors(arrays: list[_Whole] | dict[str, Array], class_names: tuple[str, ...] | None) -> None:
    """Raise where there is text, which safetensors cannot hold."""
    items = arrays.items() if isinstance(arrays, dict) else ((array.name, array) for array in arrays)
    text = [name for name, array in items if array.dtype.name not in _SAFETENSORS]
    if class_names is not None:
        text.append("class_names")
    if text:
        raise InputError(f"safetensors cannot hold text ({', '.join(text)}); write .npz or a .parquet folder")


def _join(parts: list[Path]) -> list[_Whole]:
    found: dict[str, _Whole] = {}
    for number, path in enumerate(parts):
        check_sums(path)
        arrays = map_npz(path)
        if number and set(arrays) != set(found):
            raise InputError(f"{path} holds {', '.join(arrays)}, the chunks before it {', '.join(found)}")
        for name, array in arrays.items():
            before = found.get(name)
            if before is None:
                found[name] = _Whole(name, array.shape, array.dtype, (path,))
                continue
            if before.shape[1:] != array.shape[1:]:
                raise InputError(
                    f"{path}: {name} has shape {array.shape}, the chunks before it {before.shape}"
                )
            found[name] = _Whole(
                name,
                (before.shape[0] + len(array), *array.shape[1:]),
                np.promote_types(before.dtype, array.dtype),
                (),
            )
    return [_Whole(a.name, a.shape, a.dtype, tuple(parts)) for a in found.values()]


def _write_npz(path: Path, arrays: list[_Whole], class_names: tuple[str, ...] | None, text: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = text.encode()
        for array in arrays:
            with _aligned_member(archive, array.name) as file:
                _write_header(file, array.shape, array.dtype)
                for block in array.blocks():
                    file.write(block)
        if class_names is not None:
            names = np.asarray(class_names, dtype=str)
            with _aligned_member(archive, "class_names") as file:
                _write_header(file, names.shape, names.dtype)
                file.write(names.tobytes())


def _aligned_member(archive: zipfile.ZipFile, name: str) -> Any:
    """A member whose data begin at a multiple of 64 bytes, so that the array can be mapped and used as it lies."""
    member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
    local_header = 30 + len(member.filename) + 20  # 20: the sizes of a large file, which force_zip64 writes
    begin = (archive.fp.tell() if archive.fp is not None else 0) + local_header + 4
    padding = -begin % ALIGNMENT
    # An extra field that no reader knows is skipped by all: 0x4950, its length, zeros.
    member.extra = (0x4950).to_bytes(2, "little") + padding.to_bytes(2, "little") + bytes(padding)
    return archive.open(member, "w", force_zip64=True)


def _write_header(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    document = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, document)


def _write_safetensors(path: Path, arrays: list[_Whole], text: str) -> None:
    header: dict[str, Any] = {"__metadata__": {KEY: text}}
    begin = 0
    arrays = sorted(
        arrays, key=lambda array: -array.dtype.itemsize
    )  # the widest first keeps all of them aligned
    for array in arrays:
        end = begin + int(np.prod(array.shape, dtype=object)) * array.dtype.itemsize
        header[array.name] = {
            "dtype": _SAFETENSORS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    start = json.dumps(header, separators=(",", ":")).encode()
    start += b" " * (-len(start) % 8)
    with path.open("wb") as file:
        file.write(len(start).to_bytes(8, "little"))
        file.write(start)
        for array in arrays:
            for block in array.blocks():
                file.write(block)
