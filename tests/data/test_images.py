"""Folders of images: classes, decoding as torchvision does it, bad files, links, and images made to hurt."""

from __future__ import annotations

import os

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")

from infimum import InputError  # noqa: E402
from infimum.data import ImageOptions, open_data  # noqa: E402

PLAIN = ImageOptions(resize=None, crop=None, mean=(0,), std=(1,))


def save(path, color, size=(8, 6), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, color).save(path)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "images"
    save(root / "cat" / "1.png", (255, 0, 0))
    save(root / "cat" / "deep" / "2.png", (0, 255, 0))
    save(root / "ant" / "3.png", (0, 0, 255))
    (root / "ant" / ".hidden").write_text("left out")
    return root


def one(data):
    (batch,) = data.batches(100)
    return batch


def test_a_folder_per_class_sorted_by_name(folder):
    data = open_data(folder, images=PLAIN)
    batch = one(data)
    assert data.class_names == ("ant", "cat")
    assert batch.ids.tolist() == ["ant/3.png", "cat/1.png", "cat/deep/2.png"]
    assert batch.labels.tolist() == [0, 1, 1]
    assert batch.inputs.shape == (3, 3, 6, 8)
    assert batch.inputs.dtype == np.float32
    np.testing.assert_array_equal(batch.inputs[:, :, 0, 0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    (second,) = data.batches(2, start=2)
    assert second.ids.tolist() == ["cat/deep/2.png"]
    assert second.stop == 3


def test_flat_with_csv_in_the_folder(tmp_path):
    save(tmp_path / "b.png", (0, 0, 0))
    save(tmp_path / "a.png", (9, 9, 9))
    csv = tmp_path / "labels.csv"
    csv.write_text("file,label\nb.png,1\na.png,0\n../a.png,5\n")
    batch = one(open_data(tmp_path, csv, images=PLAIN))
    assert (batch.ids.tolist(), batch.labels.tolist()) == (["a.png", "b.png"], [0, 1])
    csv.write_text("id,label\nb,1\na,0\n")
    assert one(open_data(tmp_path, csv, images=PLAIN)).labels.tolist() == [0, 1]
    csv.write_text("file,label\nb.png,1\n")
    with pytest.raises(InputError, match=r"no label for 'a\.png'"):
        one(open_data(tmp_path, csv, images=PLAIN))


def test_names_of_classes_in_a_csv(folder, tmp_path):
    csv = tmp_path / "labels.csv"
    csv.write_text("file,label\nant/3.png,cat\ncat/1.png,ant\ncat/deep/2.png,cat\n")
    assert one(open_data(folder, csv, images=PLAIN)).labels.tolist() == [1, 0, 1]
    csv.write_text("file,label\nant/3.png,dog\n")
    with pytest.raises(InputError, match="'dog' is none of the classes ant, cat"):
        open_data(folder, csv, images=PLAIN)


def test_decoding_follows_torchvisions_formula(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (300, 401, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "x.png")
    got = one(open_data(tmp_path)).inputs[0]
    # Resize(256): 300 x 401 -> 256 x int(256 * 401 / 300); CenterCrop(224): offsets round(16), round(59).
    small = np.asarray(Image.fromarray(pixels).resize((342, 256), Image.Resampling.BILINEAR))
    expected = small[16:240, 59:283] / 255
    expected = (expected - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    assert got.shape == (3, 224, 224)
    np.testing.assert_allclose(got, expected.transpose(2, 0, 1), atol=1e-5)


def test_layout_gray_and_padding(tmp_path):
    save(tmp_path / "x.png", 255, (4, 4), "L")
    gray = ImageOptions(resize=None, crop=6, mode="gray", mean=(0.5,), std=(0.5,), layout="nhwc")
    got = one(open_data(tmp_path, images=gray)).inputs[0]
    assert got.shape == (6, 6, 1)
    assert got[0, 0, 0] == -1  # the black border
    assert got[1, 1, 0] == 1


def test_a_bad_file_is_an_error_or_skipped_by_name(folder):
    (folder / "cat" / "0.png").write_bytes(b"not an image")
    whole = (folder / "cat" / "1.png").read_bytes()
    (folder / "cat" / "short.png").write_bytes(whole[:40])
    with pytest.raises(InputError, match=r"cat/0\.png: it is not an image.*--network skip_bad=yes"):
        one(open_data(folder, images=PLAIN))
    data = open_data(folder, images=PLAIN, skip_bad=True)
    batch = one(data)
    assert batch.ids.tolist() == ["ant/3.png", "cat/1.png", "cat/deep/2.png"]
    assert batch.positions.tolist() == [0, 2, 4]  # files of a folder come before its folders
    assert batch.stop == data.n == 5
    assert len(data.bad) == 2
    assert "cat/0.png" in data.bad[0]
    assert "cat/short.png" in data.bad[1]


def test_a_file_beside_class_folders(folder):
    save(folder / "lost.png", (0, 0, 0))
    with pytest.raises(InputError, match=r"lost\.png: it lies beside the class folders"):
        open_data(folder)
    assert len(open_data(folder, skip_bad=True).bad) == 1


def test_links_out_of_the_folder_are_not_followed(folder, tmp_path):
    save(tmp_path / "secret" / "s.png", (1, 2, 3))
    os.symlink(tmp_path / "secret" / "s.png", folder / "ant" / "link.png")
    os.symlink(tmp_path / "secret", folder / "ant" / "linked")
    os.symlink("3.png", folder / "ant" / "inside.png")
    os.symlink("loop.png", folder / "ant" / "loop.png")
    os.mkfifo(folder / "ant" / "pipe.png")
    data = open_data(folder, images=PLAIN, skip_bad=True)
    assert one(data).ids.tolist() == ["ant/3.png", "ant/inside.png", "cat/1.png", "cat/deep/2.png"]
    assert [name.rpartition("/")[2].split(":")[0] for name in data.bad] == [
        "link.png",
        "linked",
        "loop.png",
        "pipe.png",
    ]


def test_images_with_too_many_pixels(tmp_path):
    Image.new("1", (12_000, 12_000)).save(tmp_path / "bomb.png")
    with pytest.raises(InputError, match="12000 x 12000 pixels, more than the limit"):
        one(open_data(tmp_path))
    (tmp_path / "bomb.png").unlink()
    # Small itself, but resizing its shorter side to 256 makes 256 x 2,560,000 pixels of it.
    Image.new("L", (10_000, 1)).save(tmp_path / "long.png")
    with pytest.raises(InputError, match="before it is resized"):
        one(open_data(tmp_path))


def test_other_formats_than_images_do_not_start_programs(tmp_path):
    (tmp_path / "x.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    with pytest.raises(InputError, match="not an image of a known kind"):
        one(open_data(tmp_path))


def test_sixteen_bit_pixels_are_not_clipped_in_silence(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "x.png")
    with pytest.raises(InputError, match="not 8 bit"):
        one(open_data(tmp_path))


def test_sizes_that_differ(tmp_path):
    save(tmp_path / "a.png", 0, (4, 4), "L")
    save(tmp_path / "b.png", 0, (5, 4), "L")
    with pytest.raises(InputError, match=r"b\.png has shape.*--images resize="):
        one(open_data(tmp_path, images=PLAIN))


def test_empty_folder_and_options_that_cannot_be_meant(tmp_path):
    with pytest.raises(InputError, match="holds no images"):
        open_data(tmp_path)
    with pytest.raises(InputError, match="image options"):
        open_data(np.zeros((2, 2)), images=PLAIN)
    for options in ({"resize": 0}, {"std": (0.0,)}, {"mode": "gray"}, {"mean": (1.0, 2.0)}):
        with pytest.raises(InputError):
            ImageOptions(**options)
