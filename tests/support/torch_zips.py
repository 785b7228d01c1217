"""PyTorch's zip files taken apart and put together again, as somebody with bad intent would."""

from __future__ import annotations

import zipfile


def records(path):
    """The records of a zip by name, without its root folder, and that folder."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        root = names[0].partition("/")[0]
        return {name.partition("/")[2]: archive.read(name) for name in names}, root


def write(path, content, root="net"):
    """A zip of records, as PyTorch lays them out: stored, in a folder."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(f"{root}/{name}", data)
    return path


def changed(path, change):
    """The same zip with `change(records)` done to it."""
    content, root = records(path)
    change(content)
    return write(path, content, root)
