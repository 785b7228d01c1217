"""A folder of images: one folder per class, sorted by name, or images side by side."""

from __future__ import annotations

import os
import stat
import warnings
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from infimum._checks import Array
from infimum.data._data import BadInputs, Batch, folder_fingerprint
from infimum.data._images import MAX_BYTES, BadImageError, ImageOptions, need_pillow, stack_images
from infimum.errors import InputError

MACOS = "__MACOSX"
"""What a Mac's zip program adds: no class."""


class ImageFolder:
    """Images of a folder as float32 arrays (see `ImageOptions`), by name, files before folders, as in torchvision.

    Where the folder holds folders, each is a class and its label its place in the sorted names; else there are
    no labels. Ids are paths relative to the folder. Hidden files are left out. A file that is no image, is too
    large, or is a link that leads out of the folder is named: an error, unless `skip_bad`. The list of paths is
    kept in memory, about 100 bytes per image.
    """

    def __init__(
        self,
        root: Path,
        options: ImageOptions | None = None,
        skip_bad: bool = False,
        leave_out: Path | None = None,
    ) -> None:
        need_pillow()
        self.name, self.root = str(root), root
        self.options = ImageOptions() if options is None else options
        self._bad = BadInputs(skip_bad)
        self.bad = self._bad.names
        self._real = os.path.realpath(root)
        self._leave_out = None if leave_out is None else os.path.realpath(leave_out)
        try:
            self._scan()
        except OSError as error:
            raise InputError(f"{error.filename or root} cannot be read: {error.strerror or error}") from error

    def _scan(self) -> None:
        seen = (e for e in os.scandir(self.root) if e.name[:1] != "." and e.name != MACOS)
        entries = sorted(seen, key=lambda e: e.name)
        folders = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        files = [e.name for e in entries if not e.is_dir(follow_symlinks=False) and self._counts(e.path)]
        self.class_names = tuple(folders) or None
        _warn_of_numbers(self.name, folders)
        self._labels = array("q")
        if folders:
            # A file beside class folders has no class, so it cannot be one of the inputs.
            for name in files:
                self._bad.meet(str(self.root / name), "it lies beside the class folders, in none of them")
            self._paths: list[str] = []
            for label, folder in enumerate(folders):
                inside = list(self._walk(folder))
                self._paths += inside
                self._labels.extend([label] * len(inside))
        else:
            self._paths = files
        self.n = len(self._paths)
        # A path relative to one folder names another image in another folder.
        self._source = int(folder_fingerprint(self.root)[-16:], 16)
        if not self.n:
            raise InputError(f"{self.name} holds no images (nor a Parquet file or a saved dataset)")

    def _walk(self, folder: str) -> Iterator[str]:
        for place, inner, files in os.walk(self.root / folder, followlinks=False, onerror=_raise):
            # Links to folders are not entered; listed as files, they are named as bad.
            links = [name for name in inner if os.path.islink(os.path.join(place, name))]
            inner[:] = sorted(name for name in inner if name[:1] != "." and name not in links)
            relative = os.path.relpath(place, self.root)
            for name in sorted(files + links):
                if name[:1] != "." and self._counts(os.path.join(place, name)):
                    yield os.path.join(relative, name).replace(os.sep, "/")

    def _counts(self, path: str) -> bool:
        return self._leave_out is None or os.path.realpath(path) != self._leave_out

    @property
    def paths(self) -> Sequence[str]:
        """The images' paths relative to the folder, by position; a batch's ids."""
        return self._paths

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Batches of up to `size` images; skipped images leave gaps in `positions`."""
        for begin in range(start, self.n, size):
            stop = min(begin + size, self.n)
            images: list[Array] = []
            kept: list[int] = []
            for position in range(begin, stop):
                path = self._paths[position]
                try:
                    images.append(self._read(path))
                    kept.append(position)
                except BadImageError as error:
                    self._bad.meet(f"{self.name}/{path}", str(error))
            ids = [self._paths[position] for position in kept]
            yield Batch(
                inputs=stack_images(images, ids) if images else np.empty((0,), np.float32),
                positions=np.array(kept, dtype=np.int64),
                stop=stop,
                labels=np.array([self._labels[p] for p in kept], np.int64) if self.class_names else None,
                ids=np.array(ids, dtype=str),
                id_source=self._source,
            )

    def fingerprint(self) -> str:
        """Of the folder's files and the options."""
        return f"{folder_fingerprint(self.root)}, {self.options}"

    def _read(self, relative: str) -> Array:
        path = os.path.join(self._real, relative)
        try:
            real = os.path.realpath(path, strict=True)
            if os.path.commonpath((real, self._real)) != self._real:
                raise BadImageError("it is a link that leads out of the folder")
            status = os.stat(real)
            if not stat.S_ISREG(status.st_mode):
                raise BadImageError("it is not a file")
            if status.st_size > MAX_BYTES:
                raise BadImageError(f"it has {status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}")
            with open(real, "rb") as file:
                return self.options.decode(file)
        except OSError as error:
            raise BadImageError(f"it cannot be read ({error.strerror or error})") from error


def _warn_of_numbers(root: str, folders: list[str]) -> None:
    """Say so where class folders are numbers and sorting them as text, as torchvision does, gives other numbers."""
    if not all(name.isdecimal() for name in folders):
        return
    moved = [(name, place) for place, name in enumerate(folders) if int(name) != place]
    if moved:
        warnings.warn(
            f"{root}: the class folders are numbers, but sorted as text folder {moved[0][0]} is class {moved[0][1]}, "
            "as in torchvision; if the network numbers its classes as the folders say, pass the labels apart (a CSV)",
            UserWarning,
            stacklevel=2,
        )


def _raise(error: OSError) -> None:
    raise error
