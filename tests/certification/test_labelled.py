"""Labelled rows from outputs and tables; stratified draws read back; every way in which such a table can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum.certification._design import read_design
from infimum.certification._labelled import Labelled
from infimum.io.csv_files import read_csv, write_csv

GOOD = {
    "id": ["a", "b", "c", "d"],
    "predicted": [1, 0, 2, 1],
    "stratum": [0, 1, 0, 1],
    "sampling_probability": [0.25, 0.5, 0.25, 0.5],
    "stratum_weight": [2 / 3, 1 / 3, 2 / 3, 1 / 3],
    "row": [7, 3, 5, 1],
    "order": [1, 2, 3, 4],
    "n_selected": [4, 4, 4, 4],
    "n_classes": [3, 3, 3, 3],
    "checksum": ["own"] * 4,
    "label": [1, 1, 2, 1],
}


def table(path: Path, **changed: list | None) -> Path:
    columns = {**GOOD, **changed}
    write_csv(path, {name: column for name, column in columns.items() if column is not None})
    return path


def test_csv_and_npz_say_the_same(tmp_path: Path) -> None:
    rows = Labelled.load(table(tmp_path / "x.csv"))
    np.savez(tmp_path / "x.npz", **{name: np.array(column) for name, column in GOOD.items()})
    again = Labelled.load(tmp_path / "x.npz")
    for r in (rows, again):
        assert r.correct.tolist() == [True, False, True, True]
        assert r.ids.tolist() == ["a", "b", "c", "d"]
        assert r.design.stratum.tolist() == [0, 1, 0, 1]
        assert r.design.weights == pytest.approx([2 / 3, 1 / 3])


def test_names_of_classes_and_words(tmp_path: Path) -> None:
    plain = dict.fromkeys(
        ("stratum", "sampling_probability", "stratum_weight", "n_classes", "n_selected", "checksum")
    )
    rows = Labelled.load(
        table(
            tmp_path / "x.csv",
            **plain,
            predicted=["cat", "dog", "cat", "1"],
            label=["cat", "cat", "cat", "1"],
        )
    )
    assert rows.correct.tolist() == [True, False, True, True]
    assert rows.design is None
    rows = Labelled.load(table(tmp_path / "y.csv", **plain, label=None, correct=["yes", "FALSE", "1", "0"]))
    assert rows.correct.tolist() == [True, False, True, False]


def test_what_is_blank_at_the_end_is_not_labelled_yet(tmp_path: Path) -> None:
    rows = Labelled.load(table(tmp_path / "x.csv", label=[1, 1, "", ""]))
    assert rows.correct.tolist() == [True, False]
    assert rows.design.stratum.tolist() == [0, 1]
    with pytest.raises(InputError, match="row 1 is blank, but later rows are not"):
        Labelled.load(table(tmp_path / "x.csv", label=[1, "", 2, ""]))


def test_outputs(tmp_path: Path) -> None:
    Outputs(np.eye(2), np.array([0, 0]), ids=np.array(["a", "b"])).save(tmp_path / "o.npz")
    rows = Labelled.load(tmp_path / "o.npz")
    assert rows.correct.tolist() == [True, False]
    assert rows.wrong == 1
    assert rows.outputs.n_classes == 2


def test_weights_are_refused() -> None:
    with pytest.raises(InputError, match="lab has weights; the binomial bound is of inputs that count alike"):
        Labelled.of(Outputs(np.eye(2), np.array([0, 1]), weights=np.ones(2), name="lab"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": ["a", "b", "a", "d"]}, "id 'a' occurs 2 times"),
        ({"label": ["", "", "", ""]}, "has no labels"),
        ({"label": [1, 1, "cat", 1]}, "label: row 2 is 'cat'; a whole number is expected, 0..2"),
        ({"label": [1, 1, "nan", 1]}, "label: row 2 is 'nan'; a whole number"),
        ({"label": [1, 1, 1.5, 1]}, "label: row 2 is '1.5'"),
        ({"label": [1, 1, 3, 1]}, "row 2 is '3'; a whole number is expected, 0..2 .the network has 3"),
        ({"label": [1, 1, -1, 1], "n_classes": None}, "row 2 is '-1'"),
        ({"predicted": [1, 0, 3, 1]}, "predicted: row 2 is '3'"),
        ({"predicted": [1, -1, 1, 1], "n_classes": None}, "predicted: row 1 is '-1'"),
        ({"n_classes": [3, 3, 4, 3]}, "n_classes must be the same"),
        ({"order": None}, "no order"),
        ({"order": [1, 3, 2, 4]}, "order: row 1 is 3, expected 2: the rows were sorted"),
        ({"n_selected": [8, 8, 8, 8]}, "has 4 rows, but its n_selected says 8: rows were deleted"),
        ({"row": [7, 3, 7, 1]}, "row '7' occurs 2 times"),
        ({"id": ["a", "b", "d", "d"], "label": [1, "", "", ""]}, "id 'd' occurs 2 times"),
        ({"predicted": None}, "no 'predicted'"),
        ({"correct": [1, 1, 1, 1]}, "both 'correct' and 'label'"),
        ({"label": None, "correct": [1, 1, "maybe", 0]}, "row 2 is 'maybe'"),
        ({"sampling_probability": None}, "no sampling_probability"),
        ({"stratum_weight": None, "stratum": None}, "no stratum and no stratum_weight"),
        ({"sampling_probability": [0.25, 0, 0.25, 0.5]}, "sampling_probability: row 1 is 0"),
        ({"sampling_probability": [0.25, "", 0.25, 0.5]}, "row 1 is empty"),
        ({"sampling_probability": [0.25, 0.5, 0.3, 0.5]}, "row 2 differs from other rows of stratum 0"),
        ({"sampling_probability": [0.25, 0.4, 0.25, 0.4]}, "rows were deleted or added"),
        ({"stratum_weight": [2 / 3, "nan", 2 / 3, 1 / 3]}, "stratum_weight: row 1 is 'nan'"),
        ({"stratum_weight": [0.5, 0.1, 0.5, 0.1]}, "sum to 0.6"),
        ({"stratum_weight": [-1, 0.1, 0.5, 0.1]}, "row 0 is -1"),
        ({"stratum": ["a", "b", "c", "d"]}, "stratum: row 0 is 'a'"),
    ],
)
def test_bad_tables(tmp_path: Path, changed: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Labelled.load(table(tmp_path / "x.csv", **changed))


def test_deleted_rows_are_noticed() -> None:
    columns = {name: np.array(column) for name, column in GOOD.items()}
    with pytest.raises(InputError, match="rows were deleted"):
        read_design({name: column[:3] for name, column in columns.items()}, "x")
    with pytest.raises(InputError, match="rows were deleted"):  # in proportion: the shares still fit
        read_design({name: column[:2] for name, column in columns.items()}, "x")
    alone = {**columns, "stratum": np.zeros(4), "stratum_weight": np.ones(4)}
    alone["sampling_probability"] = np.full(4, 0.5)
    assert len(read_design(alone, "x").stratum) == 4
    with pytest.raises(InputError, match="rows were deleted"):  # a single stratum
        read_design({name: column[:3] for name, column in alone.items()}, "x")
    assert read_design({"logits": np.eye(2)}, "x") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,\0\n", "NUL"),
        (b"a,a\n1,2\n", "two columns 'a'"),
        (b"a,\n1,2\n", "names must be given"),
        (b"a,b\n1\n", "row 2 has 1 entries"),
        (b"a\n\xff\xfe\n", "UTF-8"),
        (b'a\n"1\n', "not a readable CSV"),
    ],
)
def test_bad_csv(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "x.csv")


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", {"p": [1 / 3, 1e-17], "q": ["ä,b", '"']})
    columns = read_csv(tmp_path / "x.csv")
    assert [float(p) for p in columns["p"]] == [1 / 3, 1e-17]
    assert columns["q"].tolist() == ["ä,b", '"']


def test_two_columns_of_one_meaning(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("predicted,label,labels\n0,0,1\n")
    with pytest.raises(InputError, match="both 'label' and 'labels'"):
        Labelled.load(tmp_path / "t.csv")


def test_of_outputs_only_what_is_needed_is_read(tmp_path: Path) -> None:
    arrays = {"logits": np.eye(3), "labels": np.arange(3), "ids": np.arange(3)}
    np.savez(tmp_path / "o.npz", **arrays, more=np.array([{}, None, []], dtype=object))
    assert len(Labelled.load(tmp_path / "o.npz")) == 3
    np.savez(tmp_path / "t.npz", correct=np.ones(3), more=np.ones((3, 2)))
    with pytest.raises(InputError, match="more must be one-dimensional"):
        Labelled.load(tmp_path / "t.npz")


def test_a_draw_without_its_strata_is_no_random_sample(tmp_path: Path) -> None:
    for column in ("n_selected", "stratum_from", "checksum"):
        np.savez(tmp_path / "t.npz", correct=np.ones(9), **{column: np.ones(9)})
        with pytest.raises(InputError, match="columns of a stratified draw but no stratum"):
            Labelled.load(tmp_path / "t.npz")
