"""Labels beside the data: CSV by file or id, npy by position, none."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import InputError
from infimum.data import open_data

X = np.zeros((3, 2))


def labels_of(data):
    return np.concatenate([batch.labels for batch in data.batches(2)]).tolist()


def test_by_id_and_by_row_number(tmp_path):
    csv = tmp_path / "labels.csv"
    csv.write_text("label,id\n2,c\n0,a\n1,b\n7,another\n")
    assert labels_of(open_data({"x": X, "ids": np.array(["a", "b", "c"])}, csv)) == [0, 1, 2]
    csv.write_text("id,label\n0,5\n1,6\n2,7\n")
    assert labels_of(open_data(X, csv)) == [5, 6, 7]


def test_npy_array_and_none(tmp_path):
    np.save(tmp_path / "y.npy", np.array([2, 1, 0]))
    assert labels_of(open_data(X, tmp_path / "y.npy")) == [2, 1, 0]
    assert labels_of(open_data((X, [1, 1, 1]), [2, 1, 0])) == [2, 1, 0]
    assert next(open_data((X, [1, 1, 1]), "none").batches(3)).labels is None
    with pytest.raises(InputError, match="labels has 2 labels, but the data has 3"):
        open_data(X, [1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\n0,1\n2,1\n", "no label for '1'"),
        ("id,label\n0,1\n1,\n2,1\n", "line 3 is not complete"),
        ("id,label\n0,1\n1,1\n1,2\n", "line 4: '1' is there twice"),
        ("id,label\n0,cat\n1,2\n", "class indices and names, as 2 and 'cat'"),
        ("id,label\n0,99999999999999999999999\n", "is not a class index"),
        ("id,label\n0,-1\n", "'-1' is not a class index"),
        ("a,b\n0,1\n", "file,label or id,label"),
        ("id,label\n", "holds no labels"),
        ("id,label,label\n0,1,2\n", "two columns 'label'"),
        ("id,label, id\n0,1,0\n", "two columns 'id'"),
        ("id,label\n0,1,2\n", "line 2 has 3 entries, but there are 2 columns"),
        ("id,label\n0,1\0\n", "NUL"),
        ('id,label\n0,"1\n', "line 2: unexpected end"),
        ("", "file,label or id,label"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        labels_of(open_data(X, tmp_path / "labels.csv"))


def test_not_a_csv(tmp_path):
    (tmp_path / "labels.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InputError, match="not UTF-8 text"):
        open_data(X, tmp_path / "labels.csv")
    with pytest.raises(InputError, match="does not exist"):
        open_data(X, tmp_path / "nothing.csv")
