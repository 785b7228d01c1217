"""open_data(): which reader fits, told by type, by a file's content or by what a folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from infimum.data._arrays import ArrayData, from_named, open_npy, open_npz
from infimum.data._data import Data, to_numpy
from infimum.data._images import ImageOptions
from infimum.data._iterables import IterableData
from infimum.data._labels import with_labels
from infimum.errors import InputError
from infimum.io.files import read_bytes

READABLE = (
    "an .npy, .npz or Parquet file, a folder of images or Parquet files, or a saved Hugging Face dataset"
)


def open_data(
    data: Any, labels: Any = None, *, images: ImageOptions | None = None, skip_bad: bool = False
) -> Data:
    """A reader for a file, a folder, arrays in memory, or an iterable of batches.

    `labels` come from a CSV or .npy file, an array (n,), or the data itself; "none" drops those of the data.
    `images` says how images become arrays; images that cannot be read raise, or are left out with `skip_bad`.
    Raises InputError for anything else, naming it.

    >>> open_data(np.zeros((3, 2)), labels=[0, 1, 1]).n
    3
    """
    if isinstance(data, Data):
        opened = data
    elif isinstance(data, str | Path):
        opened = _open_path(Path(data), images, skip_bad, labels)
    else:
        opened = _open_object(data)
    if images is not None and getattr(opened, "options", None) is None:
        raise InputError(
            f"{opened.name} holds arrays, to which image options (resize, crop, mean, …) do not apply"
        )
    return opened if labels is None else with_labels(opened, labels)


def _open_path(path: Path, images: ImageOptions | None, skip_bad: bool, labels: Any) -> Data:
    if path.is_dir():
        return _open_folder(path, images, skip_bad, labels)
    start = read_bytes(path, 6)
    if start == b"\x93NUMPY":
        return open_npy(path)
    if start[:2] == b"PK":
        return open_npz(path)
    if start[:4] == b"PAR1":
        from infimum.data._tables import open_parquet

        return open_parquet(str(path), [path], images, skip_bad)
    raise InputError(f"{path} is not data that can be read; expected {READABLE}")


def _open_folder(path: Path, images: ImageOptions | None, skip_bad: bool, labels: Any) -> Data:
    from infimum.data._tables import open_arrow_folder, open_parquet

    if (path / "dataset_dict.json").is_file():
        splits = sorted(entry.name for entry in path.iterdir() if (entry / "state.json").is_file())
        raise InputError(f"{path} holds several data sets; name one of them: {', '.join(splits)}")
    if (path / "state.json").is_file():
        return open_arrow_folder(path, images, skip_bad)
    parquet = sorted(path.glob("*.parquet"))
    if parquet:
        return open_parquet(str(path), parquet, images, skip_bad)
    from infimum.data._image_folder import ImageFolder

    return ImageFolder(path, images, skip_bad, Path(labels) if isinstance(labels, str | Path) else None)


def _open_object(data: Any) -> Data:
    if isinstance(data, tuple | list) and len(data) == 2 and _is_array(data[0]) and np.ndim(data[1]) == 1:
        inputs, labels = data
        return ArrayData(to_numpy(inputs), to_numpy(labels))
    if isinstance(data, tuple) and len(data) > 1 and all(_is_array(array) for array in data):
        raise InputError(
            "a tuple of arrays was given, which is neither (inputs, labels), with labels (n,), nor batches; for a "
            "network of several inputs pass a dict of them by name, for batches a list"
        )
    if _is_array(data):
        return ArrayData(to_numpy(data))
    if isinstance(data, dict):
        return from_named({name: to_numpy(array) for name, array in data.items()}, "the data")
    if any(
        cls.__module__.startswith("torch.utils.data") and cls.__name__ == "Dataset"
        for cls in type(data).__mro__
    ):
        raise InputError("a torch Dataset gives single inputs; wrap it: DataLoader(dataset, batch_size=64)")
    if hasattr(data, "__iter__"):
        return IterableData(data)
    raise InputError(
        f"a {type(data).__name__} is not data that can be read; expected {READABLE}, arrays or batches"
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "shape"))
