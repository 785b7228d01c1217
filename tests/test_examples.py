"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from infimum import Assessment

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLES / "digits.py"))["main"]
    results = main(tmp_path)
    out = capsys.readouterr().out
    assert "λ is an estimate, not a guarantee" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["avg", "best", "worst"]
    order = [Assessment.load(tmp_path / name).success.value for name in ("best", "avg", "worst")]
    assert order == sorted(order, reverse=True)
    for by in results.values():
        for a in by.values():
            assert a.lambda_.converged
            assert a.lambda_.source == "manifold"
            assert a.certified[0].value < a.success.value
            # Sampled and real λ agree within three of their joint errors, the calibration being common.
            part = a.lambda_.standard_error.manifold + a.lambda_operation.standard_error.sampling
            assert abs(a.lambda_.value - a.lambda_operation.value) < 3 * part
