"""extract(): a network over data, its outputs to a file, in bounded memory and able to go on where it stopped."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.data._data import Data
from infimum.data._images import ImageOptions
from infimum.data._opening import open_data
from infimum.errors import InputError
from infimum.io.lazily import map_npz
from infimum.io.parquet import need_pyarrow
from infimum.io.places import Folder, check_places
from infimum.io.stored import StoredArray
from infimum.models._adapter import NetworkAdapter
from infimum.models._assembly import assemble, check_safetensors
from infimum.models._class_names import NetworkLabels
from infimum.models._finished import check_settings, first_rows, read_settings
from infimum.models._parts import PartFolder
from infimum.models._running import Preprocess, choose_batch_size, run
from infimum.outputs._outputs import ABOUT_ROWS, Outputs

CHUNK_BYTES = 2**24
CHUNK_SECONDS = 30.0
"""A chunk is written when it has 16 MiB, or after 30 s: what a killed run loses, and what memory holds."""

LONG = 1000
"""Characters of one setting in the manifest; a zip's comment holds 65,535 bytes."""

Progress = Callable[[int, int | None], None]
"""Called after each batch with the positions done and how many there are (None: not known)."""


@dataclass(frozen=True)
class Extraction:
    """What `extract` wrote: `rows` outputs to `path`; `skipped` bad inputs, of which this run met those in `bad`.

    `finished`: all of it was there already, and nothing was written.
    """

    path: Path
    rows: int
    skipped: int
    resumed_at: int
    bad: tuple[str, ...] = ()
    finished: bool = False


def extract(
    adapter: NetworkAdapter,
    data: Any,
    out: str | Path,
    *,
    labels: Any = None,
    batch_size: int | None = None,
    preprocess: Preprocess | None = None,
    images: ImageOptions | None = None,
    skip_bad: bool = False,
    resume: bool = False,
    settings: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Extraction:
    """Write a network's outputs on data to `out`: .npz, .safetensors, or a folder of Parquet parts (.parquet).

    Memory is that of a few batches and a chunk of outputs (16 MiB), however many inputs there are. Chunks lie
    in `OUT.parts/` (Parquet: in `OUT` itself) until all are there. `resume` goes on after the last whole chunk, and
    leaves a finished `OUT` as it is; it refuses if the data, `settings` (text that tells what else decides the
    outputs, as the model file's fingerprint) or the first batch's outputs differ from those the extraction was
    begun with.

    Raises InputError for data that cannot be read or do not fit, and for a folder that must not be continued.
    """
    out = Path(out)
    if out.suffix not in (".npz", ".safetensors", ".parquet"):
        raise InputError(f"{out}: the name must end in .npz, .safetensors or .parquet")
    if out.suffix == ".parquet":
        need_pyarrow()
        folder = PartFolder(out, "parquet")
    else:
        folder = PartFolder(out.with_name(out.name + ".parts"), "npz")
        if out.is_dir():
            raise InputError(f"{out} is a directory; a file was expected")
    given = {"data": data, "labels": None if labels == "none" else labels}
    files = {name: path for name, path in given.items() if isinstance(path, str | Path)}
    check_places({"out": places_of(out)}, files)
    opened = NetworkLabels(open_data(data, labels, images=images, skip_bad=skip_bad), adapter.cut)
    size = choose_batch_size(adapter, batch_size)
    manifest = {
        "data": _short(opened.fingerprint()),
        "network": _short(f"{adapter.cut.framework}, cut before {adapter.cut.layer or 'nothing'}"),
        "batch_size": size,
        **{key: _short(value) for key, value in (settings or {}).items()},
    }
    if resume and out.suffix != ".parquet":
        folder.clear_finished()
    if resume and not folder.folder.exists() and (old := read_settings(out)) is not None:
        check_settings(out, old, manifest)
        _check_same(adapter, opened, size, preprocess, out)
        return Extraction(out, old["rows"], old["read"] - old["rows"], old["read"], finished=True)
    folder.begin(manifest, resume)
    done, finished = folder.parts(), folder.complete
    position, rows = done[-1][1] if done else 0, sum(_rows(path) for _, _, path in done)
    resumed_at = position
    try:
        if done:
            _check_same(adapter, opened, size, preprocess, done[0][2])
        if not finished:
            position, rows = _fill(folder, adapter, opened, size, preprocess, position, rows, out, progress)
    except BaseException:
        if not folder.parts():  # nothing to go on from, and the mended command must not find it in its way
            folder.remove()
        raise
    if rows == 0:
        folder.remove()
        raise InputError(f"{opened.name} gave no inputs" + (f"; {position} were bad" if opened.bad else ""))
    read = position if opened.n is None else opened.n
    if out.suffix == ".parquet" and not finished:
        folder.finish()
    elif out.suffix != ".parquet":
        parts = [path for _, _, path in folder.parts()]
        assemble(parts, out, opened.class_names, {**manifest, "rows": rows, "read": read})
        folder.clear()
    return Extraction(out, rows, read - rows, resumed_at, tuple(opened.bad), finished)


def places_of(out: Path) -> list[Path | Folder]:
    """What is written for `out`, `OUT.parts/` too; a Parquet folder is one of its own."""
    if out.suffix == ".parquet":
        return [Folder(out)]
    return [out, Folder(out.with_name(out.name + ".parts"))]


def mapped_outputs(path: Path, name: str) -> Outputs:
    """Outputs in an npz that `extract` wrote into a folder of this process's own, mapped: they stay on disk until
    they are looked at.
    """
    arrays = {
        name: array.mapped() if isinstance(array, StoredArray) else array
        for name, array in map_npz(path).items()
    }
    return Outputs(**arrays, name=name)  # type: ignore[arg-type]


def _fill(
    folder: PartFolder,
    adapter: NetworkAdapter,
    data: Data,
    size: int,
    preprocess: Preprocess | None,
    position: int,
    rows: int,
    out: Path,
    progress: Progress | None,
) -> tuple[int, int]:
    """Run what is missing, chunk by chunk; the position and rows reached."""
    chunk: list[Outputs] = []
    start, held, begun = position, 0, time.monotonic()
    for stop, made in run(adapter, data, size, preprocess, position, rows):
        position = stop
        if made is not None:
            if out.suffix == ".safetensors" and rows == 0:
                check_safetensors(_arrays([made], None), data.class_names)
            chunk.append(made)
            rows += len(made)
            held += made.logits.nbytes + (0 if made.features is None else made.features.nbytes)
        # A chunk without rows would have no columns; its positions go to the next one.
        if chunk and (held >= CHUNK_BYTES or time.monotonic() - begun >= CHUNK_SECONDS):
            folder.write(start, stop, _arrays(chunk, data.class_names if out.suffix == ".parquet" else None))
            chunk, start, held, begun = [], stop, 0, time.monotonic()
        if progress is not None:
            progress(position, data.n)
    if chunk:
        folder.write(start, position, _arrays(chunk, data.class_names if out.suffix == ".parquet" else None))
    return position, rows


def _arrays(chunk: list[Outputs], class_names: tuple[str, ...] | None) -> dict[str, Array]:
    """The arrays of a chunk by name."""
    arrays = {}
    for name in ("logits", *ABOUT_ROWS):
        values = [getattr(outputs, name) for outputs in chunk]
        known = [value for value in values if value is not None]
        if known and len(known) < len(values):
            raise InputError(f"some batches have {name} and some have none; give them all {name}, or none")
        if known:
            arrays[name] = np.concatenate(known)
    if class_names is not None:
        arrays["class_names"] = np.asarray(class_names, dtype=str)
    return arrays


def _short(text: str) -> str:
    """Text for a manifest, which is kept small: what is long (the fingerprints of many files) is hashed."""
    return text if len(text) <= LONG else f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _rows(path: Path) -> int:
    if path.suffix == ".npz":
        return len(map_npz(path)["logits"])
    from infimum.io.parquet import parquet_rows

    return parquet_rows(path)


def _check_same(
    adapter: NetworkAdapter,
    data: Data,
    size: int,
    preprocess: Preprocess | None,
    begun: Path,
) -> None:
    """Run the first batch again: it must give what the file `begun` begins with.

    This tells a changed network, preprocessing or order of a DataLoader that no fingerprint shows.
    """
    made = next((made for _, made in run(adapter, data, size, preprocess) if made is not None), None)
    stored = first_rows(begun, ("logits", "labels", "ids"), 0 if made is None else len(made))
    same = (
        made is not None
        and made.logits.shape == stored["logits"].shape
        and float(np.abs(made.logits - stored["logits"]).max())
        <= adapter.TOLERANCE * max(1.0, float(np.abs(made.logits).max()))
        and all(
            (getattr(made, name) is None) == (name not in stored)
            and (name not in stored or np.array_equal(getattr(made, name), stored[name]))
            for name in ("labels", "ids")
        )
    )
    if not same:
        place = begun.parent if begun.name.startswith("part-") else begun
        raise InputError(
            f"{place} cannot be continued: the first batch gives other outputs now, so the network, "
            "the preprocessing or the order of the data has changed; remove it to begin anew"
        )
