"""The committed results page says what its JSON says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infimum.study import tables
from infimum.study.datasets import DATASETS, LEVELS

DOCS = Path(__file__).parents[2] / "docs"
PAPER = DOCS / "paper"

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the documentation is not part of a source distribution"
)


def test_page_and_tables_are_those_of_the_json() -> None:
    rows = json.loads((PAPER / "table.json").read_text())["networks"]
    page = (PAPER / "README.md").read_text()
    for mode in ("fidelity", "recommended"):
        assert tables.markdown(rows, mode) in page
        assert tables.markdown(rows, mode) in (PAPER / "table.md").read_text()
    assert tables.beside_markdown(rows, "recommended").rstrip() in page
    assert tables.latex(rows) == (PAPER / "table.tex").read_text()


def test_twelve_networks_in_two_modes_and_one_file() -> None:
    rows = json.loads((PAPER / "table.json").read_text())["networks"]
    found = [(r["dataset"], r["level"], r["mode"]) for r in rows]
    assert sorted(found) == sorted(
        (d, q, m) for d in DATASETS for q in LEVELS for m in ("fidelity", "recommended")
    )
    assert [path.parent.name for path in DOCS.rglob("table.json")] == ["paper"]


def test_readme_quotes_the_study_rightly() -> None:
    rows = json.loads((PAPER / "table.json").read_text())["networks"]
    below = sum(r["lambda_sampled"] <= r["success"] for r in rows if r["mode"] == "fidelity")
    own = [r["lambda_operation"] - r["success"] for r in rows if r["mode"] == "recommended"]
    readme = " ".join((DOCS.parent / "README.md").read_text().split())
    assert f"for {below} of 12 networks" in readme
    assert f"for {sum(x <= 0 for x in own)} of 12 and is up to {tables.number(max(own))} too high" in readme
