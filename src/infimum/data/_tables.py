"""Inputs in Parquet files, or in a dataset that Hugging Face `datasets` saved to disk: read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infimum.data._arrow_streams import count_rows_of_stream, record_batches, stream_schema
from infimum.data._columns import class_names_of, find_columns, is_image, names_in_features, read_columns
from infimum.data._data import BadInputs, Batch, file_fingerprint
from infimum.data._images import ImageOptions
from infimum.errors import InputError
from infimum.io.documents import RECORD, read_json
from infimum.io.parquet import READ_BUFFER, answering, need_pyarrow
from infimum.io.regular import check_regular

Records = Callable[[int], Iterator[Any]]
"""Position to begin at -> Arrow record batches of any size."""


class TableData:
    """Rows of Arrow tables: columns named `label` and `id` (or the like) are those, the rest are the inputs."""

    def __init__(
        self,
        name: str,
        files: list[Path],
        schema: Any,
        n: int,
        records: Records,
        class_names: tuple[str, ...] | None,
        options: ImageOptions | None,
        skip_bad: bool,
    ) -> None:
        self.name, self.n, self.class_names = name, n, class_names
        self._files, self._records = files, records
        with answering(Path(name)):
            self._columns = find_columns(schema, name)
        images = any(is_image(schema.field(column).type) for column in self._columns.inputs)
        self.options = (options or ImageOptions()) if images else None
        self._bad = BadInputs(skip_bad)
        self.bad = self._bad.names
        if n == 0:
            raise InputError(f"{name} is empty")

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Batches of `size` rows, across the borders of row groups and files."""
        position = start
        with answering(Path(self.name)):
            for table in _exactly(self._records(start), size):
                inputs, positions, labels, ids = read_columns(
                    table, self._columns, self.options, self._bad, position, self.name
                )
                position += len(table)
                columns = self._columns.inputs if self._columns.stacked else None
                yield Batch(inputs, positions, position, labels, ids, columns)

    def fingerprint(self) -> str:
        """Of the files and, for images, the options."""
        return (
            "; ".join(f"{path.name}: {file_fingerprint(path)}" for path in self._files) + f"; {self.options}"
        )


def _exactly(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Tables of `size` rows, the last smaller, from record batches of any size."""
    import pyarrow as pa

    waiting: list[Any] = []
    missing = size
    for batch in batches:
        while len(batch):
            piece = batch.slice(0, missing)
            batch = batch.slice(len(piece))
            waiting.append(piece)
            missing -= len(piece)
            if missing == 0:
                yield pa.Table.from_batches(waiting)
                waiting, missing = [], size
    if waiting:
        yield pa.Table.from_batches(waiting)


def open_parquet(name: str, files: list[Path], options: ImageOptions | None, skip_bad: bool) -> TableData:
    """Rows of one or several Parquet files of one schema, in order; a row group's batches at a time."""
    need_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    def opened(path: Path) -> Any:
        check_regular(path)
        try:
            # Not mapped (see `stored`); pages are read as they are needed.
            return pq.ParquetFile(
                path, pre_buffer=False, buffer_size=READ_BUFFER, page_checksum_verification=True
            )
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path} is not a readable Parquet file ({error})") from error
        except UnicodeError as error:  # pyarrow takes names as text
            raise InputError(f"{str(path)!r} has a name that is not UTF-8; rename the file") from error

    lengths, schema = [], None
    for path in files:
        with opened(path) as file, answering(path):
            lengths.append(file.metadata.num_rows)
            if schema is not None and not file.schema_arrow.equals(schema):
                raise InputError(
                    f"{path} has other columns than {files[0]}; the files of a folder must agree"
                )
            schema = file.schema_arrow

    def records(start: int) -> Iterator[Any]:
        for path, length in zip(files, lengths, strict=True):
            if start >= length:
                start -= length
                continue
            with opened(path) as file:
                groups: list[int] = []
                before = 0
                for group in range(file.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    if groups or start < before + rows:
                        groups.append(group)
                    else:
                        before += rows
                yield from _after(file.iter_batches(1024, groups), start - before)
            start = 0

    return TableData(name, files, schema, sum(lengths), records, class_names_of(schema), options, skip_bad)


def open_arrow_folder(folder: Path, options: ImageOptions | None, skip_bad: bool) -> TableData:
    """Rows of a folder that `Dataset.save_to_disk` wrote (state.json and Arrow stream files)."""
    need_pyarrow()

    try:
        files = [
            folder / _plain(folder, entry["filename"])
            for entry in read_json(folder / "state.json", RECORD)["_data_files"]
        ]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}/state.json does not list the data files ({error!r})") from error
    features = (
        read_json(folder / "dataset_info.json", RECORD) if (folder / "dataset_info.json").exists() else {}
    )

    def records(start: int) -> Iterator[Any]:
        for path in files:
            for batch in record_batches(path):
                if start >= len(batch):
                    start -= len(batch)
                else:
                    yield batch.slice(start)
                    start = 0

    for path in files:
        check_regular(path)
    with answering(folder):
        n = sum(count_rows_of_stream(path) for path in files)
        if n == 0:
            raise InputError(f"{folder} is empty")
        schema = stream_schema(files[0])
    names = names_in_features(features.get("features")) or class_names_of(schema)
    return TableData(str(folder), files, schema, n, records, names, options, skip_bad)


def _after(batches: Iterator[Any], skip: int) -> Iterator[Any]:
    for batch in batches:
        if skip < len(batch):
            yield batch.slice(skip)
        skip = max(0, skip - len(batch))


def _plain(folder: Path, name: str) -> str:
    """A file name without a path: what a saved dataset names must lie in its folder."""
    if Path(name).name != name or (folder / name).is_symlink():
        raise InputError(f"{folder}/state.json names {name!r}, which is not a file in this folder")
    return name
