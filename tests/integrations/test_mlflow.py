"""log_assessment, into a store of local files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from reports import HOSTILE, toy_assessment

from infimum import Assessment
from infimum.errors import MissingExtraError
from infimum.integrations.mlflow import log_assessment


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"infimum\[mlflow\]"):
        log_assessment(toy_assessment(4, 200))


def test_figures_reports_and_json_are_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")  # no test asks a server for anything
    mlflow = pytest.importorskip("mlflow", reason="MLflow is an optional extra")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    good = toy_assessment(4, 500, target=0.5)
    plain = toy_assessment(4, 500, labelled=False)
    with mlflow.start_run() as run:
        log_assessment(good)
        log_assessment(plain, prefix="other")
    kept = mlflow.get_run(run.info.run_id)
    assert kept.data.metrics["infimum.certified.clopper_pearson"] == good.certified[0].value
    assert kept.data.metrics["infimum.lambda"] == good.lambda_.value
    assert kept.data.metrics["infimum.target_met"] == 1.0
    assert kept.data.metrics["infimum.accuracy"] == good.success.value
    assert "other.accuracy" not in kept.data.metrics
    assert kept.data.tags["infimum.verdict"].startswith("Target 0.5: met. At least 0.")
    for prefix, a in (("infimum", good), ("other", plain)):
        folder = tmp_path / "files" / prefix
        client = mlflow.MlflowClient()
        names = {Path(f.path).name for f in client.list_artifacts(run.info.run_id, f"infimum/{prefix}")}
        assert names == {"assessment.json", "report.html", "report.md"}
        folder.mkdir(parents=True)
        client.download_artifacts(run.info.run_id, f"infimum/{prefix}/assessment.json", str(folder))
        assert Assessment.load(next(folder.rglob("assessment.json"))) == a
    later = mlflow.MlflowClient().create_run("0").info.run_id
    log_assessment(toy_assessment(4, 200, name=HOSTILE[0]), run_id=later)
    assert mlflow.get_run(later).data.tags["infimum.network"] == HOSTILE[0]
    assert mlflow.active_run() is None
