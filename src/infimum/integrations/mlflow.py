"""MLflow: the figures, the reports and the JSON of an assessment in a run."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from infimum.assessment._results import Assessment
from infimum.errors import MissingExtraError

FOLDER = "infimum"
"""Where the files of a run go."""


def log_assessment(assessment: Assessment, run_id: str | None = None, prefix: str = "infimum") -> None:
    """Log an assessment to an MLflow run: the active one, a new one without it, or that with `run_id`.

    Metrics are named `prefix`.certified.METHOD, .lambda, .lambda_error, .accuracy and .target_met; what is not
    there is not logged. The run's tag `prefix`.verdict holds the sentence that may be quoted, and its folder
    infimum/PREFIX the JSON and the reports, so that two networks of one run need two prefixes.

    Raises MissingExtraError without MLflow (pip install 'infimum[mlflow]').
    """
    try:
        import mlflow
    except ModuleNotFoundError as error:
        raise MissingExtraError("logging to MLflow", "mlflow") from error
    from infimum._text import printable
    from infimum.report.figures import verdict

    client: Any = mlflow.MlflowClient()
    if run_id is None:
        active = mlflow.active_run() or mlflow.start_run()
        run_id = active.info.run_id
    for name, value in _metrics(assessment).items():
        client.log_metric(run_id, f"{prefix}.{name}", value)
    client.set_tag(run_id, f"{prefix}.network", printable(assessment.network))
    client.set_tag(run_id, f"{prefix}.verdict", printable(verdict(assessment)))
    with tempfile.TemporaryDirectory() as folder:
        assessment.save(folder)
        client.log_artifacts(run_id, folder, artifact_path=f"{FOLDER}/{Path(prefix).name}")


def _metrics(a: Assessment) -> dict[str, float]:
    figures = {f"certified.{re.sub(r'[^a-z0-9_]', '_', b.method)}": b.value for b in a.certified}
    figures["lambda"] = a.lambda_.value
    figures["lambda_error"] = a.lambda_.standard_error.total
    if a.success is not None:
        figures["accuracy"] = a.success.value
    if a.target is not None:
        figures["target_met"] = float(a.target.met)
    return figures
