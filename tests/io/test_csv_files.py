"""CSV files: no cell is a formula in a spreadsheet, and what is written comes back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infimum import Outputs
from infimum.certification._labelled import Labelled
from infimum.certification._selection import select
from infimum.data._labels import read_label_csv
from infimum.io.csv_files import plain_cell, read_csv, safe_cells, write_csv

FORMULAS = ["=1+1", "+1", "-1", "−1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1", "''-1"]
PLAIN = ["1", "a=b", "'tis", "'", "", "a\tb", "user@host", "0-1"]

TEXT = st.one_of(st.sampled_from(FORMULAS + PLAIN), st.text("'=+-@\t\ra1 ", max_size=6))


@given(st.lists(TEXT, min_size=1))
def test_what_is_written_is_no_formula_and_reads_the_same(entries: list[str]) -> None:
    cells = safe_cells(entries)
    assert not [cell for cell in cells if cell[:1] in tuple("=+-−@\t\r＝＋－＠")]
    assert [plain_cell(cell) for cell in cells] == entries


def test_only_formulas_are_changed() -> None:
    assert safe_cells(PLAIN) == PLAIN
    assert safe_cells(FORMULAS) == [f"'{entry}" for entry in FORMULAS]
    assert safe_cells([-1, -0.5, True]) == [-1, -0.5, True]


def test_through_a_file(tmp_path: Path) -> None:
    entries = [e for e in FORMULAS + PLAIN if e]
    write_csv(tmp_path / "a.csv", {"id": entries, "x": [-0.5] * len(entries)})
    read = read_csv(tmp_path / "a.csv")
    assert read["id"].tolist() == entries
    assert set(read["x"].tolist()) == {"-0.5"}


@pytest.mark.parametrize("names", [None, ("=cat", "-dog", "@owl")])
def test_a_selection_comes_back_with_its_ids_and_classes(
    names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 3)) * 3
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    ids = np.array([f"{'=+-@'[i % 4]}{i}" for i in range(200)])
    operation = Outputs(logits[:200], ids=ids, class_names=names)
    drawn = select(operation, Outputs(logits[200:], labels[200:], class_names=names), 60)
    drawn.save(tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(row["id"].startswith("'") for row in rows)
    for row, at in zip(
        rows, drawn.row.tolist(), strict=True
    ):  # as a person copies what is shown, or types it
        row["label"] = str(labels[at]) if names is None else names[labels[at]]
    with (tmp_path / "filled.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    labelled = Labelled.load(tmp_path / "filled.csv")
    assert labelled.ids is not None
    assert labelled.ids.tolist() == ids[drawn.row].tolist()
    assert labelled.correct.tolist() == (labels == logits.argmax(axis=1))[drawn.row].tolist()


def test_labels_of_inputs_are_read_so_too(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("id,label\n'=1,2\n'tis,0\n")
    assert read_label_csv(tmp_path / "l.csv")[0] == {"=1": 2, "'tis": 0}
