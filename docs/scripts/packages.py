"""What other packages do with the same outputs, beside infimum: the facts of comparison.md.

    python docs/scripts/packages.py NAME        (where infimum and the package are installed; prints what is found)

Names: crepes, mapie, puncc, torchcp, netcal, ppi_py, nannyml. The outputs: a logistic regression on
handwritten digits, 500 rows to calibrate, 997 of operation.
"""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from collections.abc import Callable
from datetime import date

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from infimum import Outputs
from infimum.bounds import prediction_powered
from infimum.conformal import APS, LAC, Score, calibrate
from infimum.estimators import average_confidence, calibrated_confidence

ERROR = 0.1
DISTRIBUTIONS = {"ppi_py": "ppi-python"}


class Data:
    """The same for every package: images, labels, a fitted classifier, its probabilities and Outputs."""

    def __init__(self) -> None:
        images, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(images))
        images, labels = images[order] / 16, labels[order]
        self.classifier = LogisticRegression(max_iter=5000).fit(images[:300], labels[:300])
        self.x, self.y = images[300:800], labels[300:800]
        self.x_new, self.y_new = images[800:], labels[800:]
        self.p, self.p_new = (self.classifier.predict_proba(x) for x in (self.x, self.x_new))
        self.cal = Outputs(self.classifier.decision_function(self.x), self.y)
        self.ops = Outputs(self.classifier.decision_function(self.x_new), self.y_new)

    def sets(self, score: Score) -> np.ndarray:
        """Infimum's prediction sets of the operation, deterministic."""
        made = calibrate(self.cal.logits, self.cal.known_labels, score=score, randomize=False)
        return made.prediction_sets(self.ops.logits, ERROR)


def same(d: Data, score: Score, theirs: np.ndarray) -> str:
    """How many of the sets agree; their mean sizes and coverage (infimum's first)."""
    ours = d.sets(score)
    agree = int((ours == theirs).all(axis=1).sum())
    sizes = ", ".join(f"{sets.sum(1).mean():.3f}" for sets in (ours, theirs))
    coverage = ", ".join(f"{sets[np.arange(len(sets)), d.y_new].mean():.3f}" for sets in (ours, theirs))
    return f"{agree} of {len(ours)} sets equal; mean sizes {sizes}; coverage {coverage}"


def crepes(d: Data) -> dict[str, str]:
    """p-values without smoothing, of LAC scores."""
    from crepes import ConformalClassifier

    made = ConformalClassifier().fit(1 - d.p[np.arange(len(d.y)), d.y])
    theirs = np.sort(made.predict_p(1 - d.p_new, smoothing=False), axis=1)
    calibration = calibrate(d.cal.logits, d.cal.known_labels, score=LAC())
    ours = np.sort(calibration.p_values(d.ops.logits), axis=1)
    level = calibration.success_levels(d.ops.logits)
    return {
        "largest difference of a p-value": f"{np.abs(ours - theirs).max():.2g}",
        "largest difference of 1 − its second p-value from λ(x)": f"{np.abs(1 - theirs[:, -2] - level).max():.2g}",
    }


def mapie(d: Data) -> dict[str, str]:
    """Sets of LAC and deterministic APS."""
    from mapie.classification import SplitConformalClassifier

    found = {}
    for name, score in (("lac", LAC()), ("aps", APS())):
        made = SplitConformalClassifier(d.classifier, 1 - ERROR, name, random_state=0).conformalize(d.x, d.y)
        params = {} if name == "lac" else {"conformity_score_params": {"include_last_label": True}}
        theirs = made.predict_set(d.x_new, **params)[1][:, :, 0]
        found[f"{name.upper()} sets"] = same(d, score, theirs)
    return found


def puncc(d: Data) -> dict[str, str]:
    """Sets of LAC and deterministic APS."""
    from deel.puncc import classification
    from deel.puncc.api.prediction import BasePredictor

    class Probabilities(BasePredictor):
        def predict(self, X: np.ndarray, **_: object) -> np.ndarray:
            return self.model.predict_proba(X)

    found = {}
    for name, score, options in (("LAC", LAC(), {}), ("APS", APS(), {"rand": False})):
        made = getattr(classification, name)(
            Probabilities(d.classifier, is_trained=True), train=False, **options
        )
        made.fit(X_calib=d.x, y_calib=d.y)
        sets = made.predict(d.x_new, alpha=ERROR)[1]
        theirs = np.array([[k in s for k in range(10)] for s in map(set, sets)])
        found[f"{name} sets"] = same(d, score, theirs)
    return found


def torchcp(d: Data) -> dict[str, str]:
    """Sets of LAC and deterministic APS."""
    import torch
    from torchcp.classification import score as theirs_of
    from torchcp.classification.predictor import SplitPredictor

    found = {}
    for name, score, theirs_score in (
        ("LAC", LAC(), theirs_of.LAC()),
        ("APS", APS(), theirs_of.APS(randomized=False)),
    ):
        made = SplitPredictor(theirs_score)
        made.calculate_threshold(torch.tensor(d.cal.logits), torch.tensor(d.y), ERROR)
        theirs = np.asarray(made.predict_with_logits(torch.tensor(d.ops.logits))).astype(bool)
        found[f"{name} sets"] = same(d, score, theirs)
    return found


def netcal(d: Data) -> dict[str, str]:
    """Mean confidence after temperature scaling."""
    from netcal.scaling import TemperatureScaling

    made = TemperatureScaling()
    made.fit(d.p, d.y)
    theirs = made.transform(d.p_new).max(axis=1).mean()
    ours = average_confidence(d.cal, d.ops).value
    return {"mean confidence of the operation, infimum and netcal": f"{ours:.4f}, {theirs:.4f}"}


def ppi_py(d: Data) -> dict[str, str]:
    """The PPI++ bound, from 200 labels."""
    from ppi_py import ppi_mean_ci

    level = calibrate(d.cal.logits, d.cal.known_labels).success_levels(d.ops.logits)
    right = d.ops.correct
    sample = (right[:200].astype(float), level[:200], level[200:])
    both = ppi_mean_ci(*sample, alpha=0.1)  # the lower end of a two-sided interval at 90 % is a bound at 95 %
    larger = ppi_mean_ci(*sample, alpha=0.05, alternative="larger")
    ours = prediction_powered(right[:200], level[:200], level[200:]).value
    return {
        "lower bound from 200 labels, infimum and ppi_py": f"{ours:.4f}, {float(np.ravel(both[0])[0]):.4f}",
        "what alternative='larger' returns": ", ".join(f"{float(np.ravel(end)[0]):.4f}" for end in larger),
    }


def nannyml(d: Data) -> dict[str, str]:
    """CBPE's accuracy of the operation."""
    import nannyml
    import pandas

    def frame(p: np.ndarray, y: np.ndarray) -> pandas.DataFrame:
        columns = {f"p{k}": p[:, k] for k in range(10)}
        return pandas.DataFrame({**columns, "predicted": p.argmax(1), "label": y})

    made = nannyml.CBPE(
        metrics=["accuracy"],
        y_true="label",
        y_pred="predicted",
        y_pred_proba={k: f"p{k}" for k in range(10)},
        problem_type="classification_multiclass",
        chunk_number=1,
    )
    made.fit(frame(d.p, d.y))
    theirs = made.estimate(frame(d.p_new, d.y_new).drop(columns="label")).to_df()
    rows = theirs[theirs[("chunk", "period")] == "analysis"]
    ours = calibrated_confidence(d.cal, d.ops).value
    value = float(rows[("accuracy", "value")].iloc[0])
    return {
        "accuracy estimated, infimum and nannyml": f"{ours:.4f}, {value:.4f} (truth {d.ops.accuracy:.4f})"
    }


PACKAGES: dict[str, Callable[[Data], dict[str, str]]] = {
    f.__name__: f for f in (crepes, mapie, puncc, torchcp, netcal, ppi_py, nannyml)
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name = sys.argv[1]
    print(f"{name} {importlib.metadata.version(DISTRIBUTIONS.get(name, name))}, {date.today()}")
    for what, found in PACKAGES[name](Data()).items():
        print(f"  {what}: {found}")
