"""Reading a .keras file that others made: known layers only, no code from the file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.io.files import read_bytes
from infimum.io.memory import check_fits
from infimum.models._at_fault import at_fault


def load_keras(path: Path) -> Any:
    """The model in a .keras file, read in safe mode.

    Raises InputError for a missing, damaged or foreign file, and for one with layers or functions that are not
    Keras's own.
    """
    import keras

    if path.is_dir():
        raise InputError(
            f"{path} is a directory (a SavedModel?); save the model as a .keras file: model.save"
        )
    if read_bytes(path, 4) != b"PK\x03\x04":
        raise InputError(f"{path} is not a .keras file; an .h5 file can be read in Keras and saved as .keras")
    with at_fault(path, "is not a .keras file, or is damaged or cut short"), zipfile.ZipFile(path) as archive:
        check_fits(sum(info.file_size for info in archive.infolist()), path)
        config = json.loads(archive.read("config.json"))
        if not isinstance(config, dict):
            raise ValueError("its config.json does not hold an object")
        foreign = sorted(set(_foreign({k: v for k, v in config.items() if k != "compile_config"})))
    if foreign:
        raise InputError(
            f"{path} holds layers or functions that are not Keras's own ({', '.join(foreign)}), whose code is not in "
            "the file; load it in Python, where that code is, and pass the model itself"
        )
    try:
        # compile=False: losses and optimisers are not needed, and may be the user's own.
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras and h5py raise nearly everything for a damaged file
        reason = str(error).rsplit("Exception encountered: ", 1)[-1]  # Keras repeats the whole configuration
        raise InputError(f"{path} cannot be loaded by Keras: {' '.join(reason.split())[:300]}") from error


def _foreign(config: Any) -> Iterator[str]:
    """Names of the objects in a configuration that do not come from Keras."""
    if isinstance(config, list):
        for part in config:
            yield from _foreign(part)
    elif isinstance(config, dict):
        name, module = config.get("class_name"), config.get("module", "keras")
        own = isinstance(module, str) and module.split(".")[0] == "keras"
        own &= name not in ("function", "__lambda__", "Lambda")
        if isinstance(name, str) and "config" in config and not own:
            yield str(config.get("registered_name") or name)
        for part in config.values():
            yield from _foreign(part)
