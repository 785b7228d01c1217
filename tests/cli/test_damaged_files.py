"""Damaged files of every kind: bad input is one line and exit 2, never a defect, a hang, or another number.

INFIMUM_MUTANTS=20000 damages as many. One mutant again, as a message names it, in an empty folder:
PYTHONPATH=src:tests/support python tests/support/damaging.py "state:17"
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sound_files import CASES

MUTANTS = int(os.environ.get("INFIMUM_MUTANTS", "2000"))
SUPPORT = Path(__file__).parents[1] / "support"

for extra in ("pyarrow", "onnx", "onnxruntime", "skops", "torch", "PIL"):
    pytest.importorskip(extra, reason="files of every kind need every extra")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of the mutants. In a process of its own: no type checks, and a crash ends no tests."""
    done = subprocess.run(
        [sys.executable, SUPPORT / "damaging.py", str(MUTANTS)],
        cwd=tmp_path_factory.mktemp("damaged"),
        capture_output=True,
        text=True,
        check=False,
        timeout=1800 + MUTANTS,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([*sys.path, str(SUPPORT)])},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_mutants(name: str, found: dict[str, Any]) -> None:
    case = found["cases"][name]
    assert not case["wrong"], f"{len(case['wrong'])} of {case['codes']}:\n" + "\n".join(case["wrong"][:5])
    assert case["codes"].get("2", 0) > 0  # some were refused: the mutants are read at all


@pytest.mark.slow
def test_memory_and_time(found: dict[str, Any]) -> None:
    # A page of a Parquet file may claim 2 GiB, which pyarrow takes before it looks.
    assert found["peak_gib"] < 4
    assert max(case["slowest"] for case in found["cases"].values()) < 10
    total = sum(sum(case["codes"].values()) for case in found["cases"].values())
    assert total == pytest.approx(MUTANTS, abs=len(CASES))
