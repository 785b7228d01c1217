"""A folder of part files that an extraction fills: a manifest, and whole chunks named by the positions they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infimum._checks import Array
from infimum.errors import InputError
from infimum.io.checksums import check_sums
from infimum.io.content import sealed
from infimum.io.documents import json_text
from infimum.io.files import write_npz
from infimum.io.parquet import MANIFEST, SCHEMA, read_parquet, write_parquet
from infimum.io.records import read_sealed
from infimum.io.replacing import make_directory, write_bytes
from infimum.models._finished import check_settings

_PART = re.compile(r"part-(\d{12})-(\d{12})\.(npz|parquet)")

_LEFT = re.compile(rf"\.(part-|{re.escape(MANIFEST)}\.).*\.part")
"""Temporary names of chunks and of the manifest."""


class PartFolder:
    """Chunks of one extraction. A chunk is renamed into place when whole; nothing else is believed.

    The manifest says which network, data and settings the chunks belong to.
    """

    def __init__(self, folder: Path, suffix: str) -> None:
        self.folder, self.suffix = folder, suffix

    def begin(self, manifest: Mapping[str, Any], resume: bool) -> None:
        """Make the folder, or see that what is in it may be continued."""
        if self.folder.name.endswith(".parts") and self.folder.is_symlink():
            raise InputError(f"{self.folder} is a link, and is not written into; remove it")
        if not self.folder.exists():
            make_directory(self.folder)
            self._write_manifest({**manifest, "complete": False})
            return
        if not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; it must not exist, or be the folder of an extraction")
        for place in self.folder.iterdir():
            if place.is_symlink():
                raise InputError(
                    f"{place} is a link, through which others' files would be written; remove it"
                )
        old = self._manifest()
        if old is None:
            if any(path for path in self.folder.iterdir() if not _LEFT.fullmatch(path.name)):
                raise InputError(
                    f"{self.folder} is there already and not of an extraction; name another place"
                )
            self.sweep()
            self._write_manifest({**manifest, "complete": False})
            return
        if not resume:
            what = "a finished extraction" if old.get("complete") else "an interrupted extraction"
            raise InputError(
                f"{self.folder} holds {what}: continue it with --resume (resume=True), or remove the folder"
            )
        check_settings(self.folder, old, manifest)
        self.sweep()
        if not old.get("complete"):
            self._check_chunks()

    def _check_chunks(self) -> None:
        """InputError for a chunk that is not what was written: what stopped the run may have damaged the disk."""
        for _, _, path in self.found():
            try:
                if self.suffix == "parquet":
                    read_parquet(path)
                else:
                    check_sums(path)
            except InputError as error:
                raise InputError(f"{error}; remove this file: --resume makes it anew") from error

    @property
    def complete(self) -> bool:
        """Whether the extraction was finished."""
        return bool((self._manifest() or {}).get("complete"))

    def parts(self) -> list[tuple[int, int, Path]]:
        """Chunks in order: first position, position after the last, file. InputError where one is missing."""
        position = 0
        for start, stop, path in (found := self.found()):
            if start != position:
                raise InputError(
                    f"{self.folder} lacks the chunk before {path.name}; remove the folder to begin anew"
                )
            position = stop
        return found

    def found(self) -> list[tuple[int, int, Path]]:
        """The chunks that are there, in order; between them there may be gaps."""
        found = []
        for path in self.folder.iterdir():
            if (match := _PART.fullmatch(path.name)) and match[3] == self.suffix:
                found.append((int(match[1]), int(match[2]), path))
        return sorted(found)

    def write(self, start: int, stop: int, arrays: Mapping[str, Array]) -> None:
        """Add the chunk of positions start..stop."""
        path = self.folder / f"part-{start:012d}-{stop:012d}.{self.suffix}"
        if self.suffix == "parquet":
            write_parquet(path, arrays)
        else:
            write_npz(path, arrays)

    def finish(self) -> None:
        """Mark the extraction as finished."""
        self._write_manifest({**(self._manifest() or {}), "complete": True})

    def clear(self) -> None:
        """Remove the chunks once all they hold lies elsewhere. Marked first: half of them are not gone on from."""
        self.finish()
        self.remove()

    def clear_finished(self) -> None:
        """Remove what a run that was killed while it cleared left; other folders stay as they are."""
        if self.folder.is_dir() and self.complete:
            self.remove()
        elif self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def sweep(self) -> None:
        """Remove what a killed run was writing."""
        for left in self.folder.iterdir():
            if _LEFT.fullmatch(left.name):
                left.unlink()

    def remove(self) -> None:
        """Remove chunks, manifest and folder; files of others are left where they are."""
        self.sweep()
        for _, _, path in self.found():
            path.unlink()
        (self.folder / MANIFEST).unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _manifest(self) -> dict[str, Any] | None:
        path = self.folder / MANIFEST
        return read_sealed(path, SCHEMA) if path.exists() else None

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        write_bytes(self.folder / MANIFEST, json_text(sealed({**manifest, "schema": SCHEMA})).encode())
