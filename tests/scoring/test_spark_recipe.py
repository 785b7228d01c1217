"""The recipe for Spark in docs/how-to/cluster.md, on Spark: the levels and the summary of one process."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest_types import Toy

from infimum.conformal import LambdaSummary, calibrate

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md"

SCRIPT = """
import json

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from scoring import levels, summary, together

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
logits = np.load("logits.npy")
rows = np.random.default_rng(0).permutation(len(logits))
table = spark.createDataFrame(pd.DataFrame({"row": rows, "logits": logits[rows].tolist()})).repartition(5)

RECIPE

found = pd.read_parquet("levels").sort_values("row")
np.savez("found.npz", row=found["row"], levels=found["success_level"])
with open("summary.json", "w") as file:
    json.dump(together(texts).to_dict(), file)
"""


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of a source distribution")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_the_recipe_on_spark(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(
        "pyspark", reason="Spark is not among the packages that tests install (pip install pyspark)"
    )
    text = PAGE.read_text(encoding="utf-8")
    scoring = re.search(r"```python\n(# file: scoring.py\n.*?)```", text, re.DOTALL)
    recipe = re.search(r"### Spark\n.*?\n\n((?:    [^\n]*\n)+)", text, re.DOTALL)
    assert scoring is not None
    assert recipe is not None
    (tmp_path / "scoring.py").write_text(scoring[1], encoding="utf-8")
    rng = np.random.default_rng(4)
    labelled, logits = toy.outputs(200, rng), toy.outputs(3000, rng).logits
    cal = calibrate(labelled.logits, labelled.labels, seed=6)
    cal.save(tmp_path / "cal.json")
    np.save(tmp_path / "logits.npy", logits)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    script = SCRIPT.replace("RECIPE", re.sub("^    ", "", recipe[1], flags=re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["row"], np.arange(3000))
        np.testing.assert_array_equal(found["levels"], cal.success_levels(logits))
    whole = LambdaSummary(cal.n)
    whole.add(cal.top_two(logits))
    assert json.loads((tmp_path / "summary.json").read_text()) == whole.to_dict()
