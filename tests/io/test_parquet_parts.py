"""Folders of Parquet files as one: in order, partitions as columns, and no guess where two readings are possible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum.io.files import array_names, read_arrays
from infimum.outputs._stream import open_stream

pytest.importorskip("pyarrow", reason="Parquet is an optional extra")

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(size=(60, 3))


def write(folder: Path, *places: str) -> None:
    """Ten rows of LOGITS to each place, in this order."""
    for number, place in enumerate(places):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        Outputs(LOGITS[10 * number : 10 * number + 10]).save(folder / place)


NESTED = (
    "date=2026-01-01/hour=0/part-0.parquet",
    "date=2026-01-01/hour=0/part-1.parquet",
    "date=2026-01-01/hour=13/part-0.parquet",
    "date=2026-01-02/hour=7/part-0.parquet",
)


def test_partitions_are_columns_in_the_order_of_the_folders(tmp_path: Path) -> None:
    write(tmp_path, *NESTED)
    (tmp_path / "_SUCCESS").touch()
    found = read_arrays(tmp_path)
    np.testing.assert_array_equal(found["logits"], LOGITS[:40])
    assert found["date"].tolist() == ["2026-01-01"] * 30 + ["2026-01-02"] * 10
    assert (found["hour"].dtype.kind, found["hour"].tolist()) == ("i", [0] * 20 + [13] * 10 + [7] * 10)
    assert array_names(tmp_path) == ["date", "hour", "logits"]
    assert set(read_arrays(tmp_path, ["logits", "hour"])) == {"logits", "hour"}


def test_pyarrow_writes_what_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    names, rows = np.array(["a b", "c/d", "e=f"])[np.arange(60) % 3], [row.tolist() for row in LOGITS]
    table = pa.table({"logits": rows, "place": names, "ids": np.arange(60).astype(str)})
    ds.write_dataset(
        table, tmp_path / "ops", format="parquet", partitioning=["place"], partitioning_flavor="hive"
    )
    found = read_arrays(tmp_path / "ops")
    order = found["ids"].astype(int)
    assert sorted(order) == list(range(60))
    np.testing.assert_array_equal(found["place"], names[order])
    np.testing.assert_array_equal(found["logits"], LOGITS[order])


@pytest.mark.parametrize("start", [0, 25])
def test_a_stream_gives_the_rows_of_the_whole(tmp_path: Path, start: int) -> None:
    write(tmp_path, *NESTED)
    stream = open_stream(tmp_path)
    assert stream.n == 40
    rows = [block.logits for _, block in stream.blocks(start)]
    np.testing.assert_array_equal(np.concatenate(rows), LOGITS[start:40])


def test_a_partition_may_be_an_array_of_outputs(tmp_path: Path) -> None:
    write(tmp_path, "labels=0/a.parquet", "labels=2/a.parquet", "labels=1/a.parquet")
    whole, labels = Outputs.load(tmp_path), [0] * 10 + [1] * 10 + [2] * 10
    assert whole.known_labels.tolist() == labels
    blocks = [block.known_labels for _, block in open_stream(tmp_path).blocks()]
    assert np.concatenate(blocks).tolist() == labels


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            ("a.parquet", "date=1/a.parquet"),
            r"Parquet files and partitions at one level \(a\.parquet, date=1\)",
        ),
        (
            ("date=1/a.parquet", "date=2/hour=1/a.parquet"),
            r"in date=…/, date=2/hour=1/a\.parquet in date=…/hour=…/",
        ),
        (("date=1/a.parquet", "hour=2/a.parquet"), "in date=…/, .* in hour=…/; move the parts"),
        (("date=1/date=2/a.parquet",), "in two folders of one key"),
        (("date=1/a.parquet", "old/a.parquet"), "old lies beside date=1, and is not named key=value"),
        (("date=1/a.parquet", "date=2/a.npz"), "date=2 is a partition without Parquet files"),
        (("old/a.parquet",), "a directory without Parquet files"),
        (("logits=1/a.parquet",), "a column 'logits', and its folder's name says logits too"),
        (("labels=__HIVE_DEFAULT_PARTITION__/a.parquet",), "labels is missing"),
    ],
)
def test_what_could_mean_two_things_is_refused(tmp_path: Path, places: tuple[str, ...], message: str) -> None:
    write(tmp_path, *places)
    with pytest.raises(InputError, match=message):
        Outputs.load(tmp_path)
    with pytest.raises(InputError, match=message):
        list(open_stream(tmp_path).blocks())


def test_links_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "ops", "date=1/a.parquet")
    (tmp_path / "ops" / "date=2").symlink_to(tmp_path / "ops" / "date=1")
    with pytest.raises(InputError, match="date=2 is a link"):
        read_arrays(tmp_path / "ops")
