"""Pictures by row or path: from folders, arrays and tables; what cannot be trusted gives none, or an error."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError
from infimum.data._pictures import check_pictures, holds_pictures, pictures
from infimum.errors import MissingExtraError

Image = pytest.importorskip("PIL.Image", reason="pictures are made with Pillow")


def save(path: Path, value: int, size: tuple[int, int] = (20, 10)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (value, 0, 0)).save(path)


def test_of_a_folder_by_row(tmp_path: Path) -> None:
    for k in range(5):
        save(tmp_path / f"{k}.png", 40 * k)
    found = pictures(tmp_path, [(3, None), (0, "not a path")], 5)
    assert {row: (p.dtype, p.shape, p[0, 0].tolist()) for row, p in found.items()} == {
        3: (np.uint8, (96, 192, 3), [120, 0, 0]),
        0: (np.uint8, (96, 192, 3), [0, 0, 0]),
    }
    with pytest.raises(InputError, match="holds 5 inputs, but 6 were assessed"):
        pictures(tmp_path, [(3, None)], 6)


def test_of_a_folder_by_path(tmp_path: Path) -> None:
    """Rows that were left out move the others: the id tells where an input came from."""
    save(tmp_path / "cat" / "a.png", 40)
    save(tmp_path / "dog" / "b.png", 80)
    (tmp_path / "cat" / "0.png").write_bytes(b"broken")
    outside = tmp_path.with_name(f"{tmp_path.name}.png")
    save(outside, 9)
    found = pictures(
        tmp_path, [(0, "cat/a.png"), (1, "dog/b.png"), (2, f"../{outside.name}"), (3, "cat/0.png")], 4
    )
    assert {row: int(p[0, 0, 0]) for row, p in found.items()} == {0: 40, 1: 80}


def test_links_out_of_the_folder_and_giants_have_no_picture(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    save(inside / "0.png", 1)
    save(tmp_path / "secret.png", 2)
    (inside / "1.png").symlink_to(tmp_path / "secret.png")
    giant = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(giant, "PNG")  # a few kB that unpack to 1.2 GB
    (inside / "2.png").write_bytes(giant.getvalue())
    assert list(pictures(inside, [(0, None), (1, None), (2, None)], 3)) == [0]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.full((2, 4, 5), 7, dtype=np.uint8), (4, 5, 7)),
        (np.full((2, 4, 5, 3), 7, dtype=np.uint8), (4, 5, 3, 7)),
        (np.full((2, 1, 4, 5), 0.5, dtype=np.float32), (4, 5, 1, 128)),
        (np.full((2, 3, 4, 5), 90.0), (4, 5, 3, 90)),
        (np.full((2, 4, 5), True), (4, 5, 255)),
        (np.full((2, 4, 5), -3.0), (4, 5, 0)),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_of_arrays(tmp_path: Path, array: np.ndarray, expected: tuple[int, ...]) -> None:
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", x=array, labels=np.zeros(2))
    for name in ("x.npy", "x.npz"):
        picture = pictures(tmp_path / name, [(1, None)], 2)[1]
        assert picture.dtype == np.uint8
        assert (*picture.shape, int(picture.flat[0])) == expected


def test_values_are_stretched(tmp_path: Path) -> None:
    array = np.stack([np.linspace(-2, 2, 12).reshape(3, 4), np.full((3, 4), np.nan)])
    np.save(tmp_path / "x.npy", array)
    found = pictures(tmp_path / "x.npy", [(0, None), (1, None)], 2)
    assert list(found) == [0]
    assert (found[0].min(), found[0].max()) == (0, 255)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.zeros((4, 8)))
    np.savez(tmp_path / "two.npz", a=np.zeros((4, 8, 8)), b=np.zeros((4, 8, 8)))
    np.savez_compressed(tmp_path / "packed.npz", a=np.zeros((4, 8, 8)))
    np.save(
        tmp_path / "wide.npy", np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (1, 0, 9), (0, 0, 0))
    )
    for name, message in (
        ("rows.npy", "no pictures"),
        ("two.npz", "several arrays"),
        ("packed.npz", "compressed"),
        ("wide.npy", "or none"),
        ("missing", "does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            check_pictures(tmp_path / name)
        assert not holds_pictures(tmp_path / name)


def test_what_is_surely_a_picture(tmp_path: Path) -> None:
    np.save(tmp_path / "series.npy", np.zeros((4, 50, 6)))
    np.save(tmp_path / "digits.npy", np.zeros((4, 8, 8), dtype=np.uint8))
    np.save(tmp_path / "batch.npy", np.zeros((4, 1, 8, 8)))
    save(tmp_path / "folder" / "0.png", 1)
    names = ("series.npy", "digits.npy", "batch.npy", "folder")
    assert [holds_pictures(tmp_path / name) for name in names] == [False, True, True, True]
    check_pictures(tmp_path / "series.npy")  # where someone says so


def test_of_a_parquet_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet is read with pyarrow")
    import pyarrow.parquet as pq

    def encoded(value: int) -> dict[str, object]:
        file = io.BytesIO()
        Image.new("L", (8, 8), value).save(file, "PNG")
        return {"bytes": file.getvalue(), "path": None}

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    pq.write_table(
        pa.table({"image": pa.array([encoded(10), encoded(20), encoded(30)], kind)}), tmp_path / "x.parquet"
    )
    found = pictures(tmp_path / "x.parquet", [(2, None)], 3)
    assert found[2][5, 5].tolist() == [30, 30, 30]


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "digits.npy", np.zeros((4, 8, 8), dtype=np.uint8))
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(MissingExtraError, match="images"):
        pictures(tmp_path / "digits.npy", [(0, None)], 4)
