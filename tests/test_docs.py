"""The how-to pages run as they stand: every Python block, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SAYS = {
    "networks": "λ is an estimate, not a guarantee",
    "certify": "Target 0.9: met.",
}
"""What the output of each page must hold."""

PAGES = sorted((Path(__file__).parents[1] / "docs" / "how-to").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if "import torch" in "".join(blocks):
        for framework in ("torch", "onnx", "onnxruntime", "onnxscript", "keras"):
            pytest.importorskip(framework, reason=f"the page uses {framework}, an optional extra")
    assert len(blocks) >= 5
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "KERAS_BACKEND": "torch"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert SAYS[page.stem] in done.stdout
