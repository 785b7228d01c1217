"""Which framework a model is of: an object by its classes, a file by its content. No framework is imported."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from infimum.errors import InputError
from infimum.io.files import read_bytes
from infimum.io.regular import open_regular
from infimum.io.zips import open_zip

FRAMEWORKS = (
    "a PyTorch module, TorchScript or .pt2 file, a Hugging Face folder, an ONNX file, a Keras model or .keras file, "
    "a scikit-learn estimator or skops file, or a function"
)

ENDINGS = (".onnx", ".keras", ".pt", ".pth", ".pt2", ".safetensors", ".skops", ".h5")

_ONNX_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
"""Fields of ONNX's ModelProto and their wire types (0: varint, 2: length and bytes)."""

MOST_FIELDS = 100_000
"""Of a model: one is its graph, others its functions and notes; a crafted file could hold millions."""

_TORCH_LEGACY = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"
"""The number with which torch files from before 2020 begin, as pickle writes it."""


def framework_of_object(model: Any) -> str:
    """`keras`, `torch`, `sklearn` or `callable`; InputError for anything else.

    >>> framework_of_object(len)
    'callable'
    """
    homes = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    # On its torch backend a Keras model is a torch module too.
    if homes & {"keras", "tf_keras"}:
        return "keras"
    names = {f"{cls.__module__}.{cls.__name__}" for cls in type(model).__mro__}
    if names & {"torch.nn.modules.module.Module", "torch.export.exported_program.ExportedProgram"}:
        return "torch"
    if "sklearn" in homes:
        return "sklearn"
    if homes & {"onnx", "onnxruntime"}:
        raise InputError(f"a {type(model).__name__} in memory is not read; save it and pass the file")
    if callable(model):
        return "callable"
    raise InputError(f"a {type(model).__name__} is not a model; expected {FRAMEWORKS}")


def framework_of_path(path: Path) -> str:
    """`torch`, `huggingface`, `onnx`, `keras` or `sklearn`, by content; InputError for anything else."""
    if path.is_dir():
        if (path / "config.json").is_file():
            return "huggingface"
        hint = (
            "; a TensorFlow SavedModel: save it as .keras or ONNX"
            if (path / "saved_model.pb").is_file()
            else ""
        )
        raise InputError(f"{path} is a folder without config.json, so not a Hugging Face model{hint}")
    start = read_bytes(path, 64)
    if start[:4] == b"PK\x03\x04":
        return _framework_of_zip(path)
    if start[:8] == b"\x89HDF\r\n\x1a\n":
        return "keras"
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "torch" if _TORCH_LEGACY in start else "sklearn"
    if start[:2] in (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda"):  # what joblib compresses
        return "sklearn"
    if _is_safetensors(start, path):
        return "torch"
    if _is_onnx(path):
        return "onnx"
    if path.suffix in ENDINGS:
        raise InputError(
            f"{path} is not what its name says: it is damaged, cut short, or another kind of file"
        )
    raise InputError(f"{path} is not a model that can be read; expected {FRAMEWORKS}")


def _framework_of_zip(path: Path) -> str:
    with open_zip(path) as archive:
        names = archive.namelist()
    if {"metadata.json", "config.json"} <= set(names):
        return "keras"
    if "schema.json" in names:
        return "sklearn"
    ends = {name.partition("/")[2] for name in names} | set(names)
    if ends & {"data.pkl", "constants.pkl", "archive_format", "serialized_exported_program.json"}:
        return "torch"
    if names and all(name.endswith(".npy") for name in names):
        raise InputError(f"{path} is an .npz file of arrays, not a model; are these the data?")
    raise InputError(
        f"{path} is a zip file, but not of a model: it holds {', '.join(names[:5]) or 'nothing'}"
    )


def _is_safetensors(start: bytes, path: Path) -> bool:
    length = int.from_bytes(start[:8], "little")
    return len(start) > 8 and start[8:9] == b"{" and 8 + length <= path.stat().st_size


def _is_onnx(path: Path) -> bool:
    """Whether the file is, from end to end, protocol-buffer fields of a ModelProto, its graph (7) among them."""
    size = path.stat().st_size
    fields = set()
    with open_regular(path) as file:
        for _ in range(MOST_FIELDS):
            if file.tell() >= size:
                break
            tag = _varint(file)
            if tag is None or _ONNX_FIELDS.get(tag >> 3) != tag & 7:
                return False
            fields.add(tag >> 3)
            value = _varint(file)
            if value is None:
                return False
            if tag & 7 == 2:
                if file.tell() + value > size:
                    return False
                file.seek(value, 1)
        else:
            return False
    return {1, 7} <= fields


def _varint(file: IO[bytes]) -> int | None:
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None
