"""Run by a peer's own Python: its prediction sets at many error levels, timed. Imports numpy and the peer only.

    python peer_sets.py torchcp|mapie|puncc SCORE IN.npz OUT.npz

IN holds logits of calibration and operation, `labels` and `errors`; OUT gets `sets` (levels, n, K) and `seconds`.
Scores are deterministic: "lac" or "aps".
"""

from __future__ import annotations

import sys
import time
import warnings
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

UNUSED = ("graph", "regression", "llm", "classification.loss", "classification.trainer")
"""Parts of torchcp that import further packages; prediction sets do not use them."""


def softmax(z: np.ndarray) -> np.ndarray:
    """In float64."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def torchcp(score: str, given: Any) -> np.ndarray:
    """SplitPredictor, a call per level on logits."""
    import torch

    for name in UNUSED:
        sys.modules[f"torchcp.{name}"] = MagicMock(__spec__=None)
    from torchcp.classification.predictor import SplitPredictor
    from torchcp.classification.score import APS, LAC

    cal, labels, z = (torch.from_numpy(given[name]) for name in ("cal", "labels", "logits"))
    predictor = SplitPredictor(LAC() if score == "lac" else APS(randomized=False))
    sets = []
    for error in given["errors"]:
        predictor.calculate_threshold(cal, labels, float(error))
        sets.append(predictor.predict_with_logits(z).numpy().astype(bool))
    return np.stack(sets)


def mapie(score: str, given: Any) -> np.ndarray:
    """SplitConformalClassifier, all levels in one call, on probabilities."""
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        classes_ = np.arange(given["cal"].shape[1])
        fitted_ = True

        def fit(self, x: np.ndarray, y: np.ndarray) -> Given:
            return self

        def predict(self, x: np.ndarray) -> np.ndarray:
            return x.argmax(axis=1)

        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            return x

    levels = [1 - float(error) for error in given["errors"]]
    found = SplitConformalClassifier(Given(), confidence_level=levels, conformity_score=score, random_state=0)
    found.conformalize(softmax(given["cal"]), given["labels"])
    options = {"include_last_label": True} if score == "aps" else None
    return np.moveaxis(found.predict_set(softmax(given["logits"]), conformity_score_params=options)[1], 2, 0)


def puncc(score: str, given: Any) -> np.ndarray:
    """LAC and APS, a call per level, on probabilities; sets come as lists of labels."""
    from deel.puncc.classification import APS, LAC

    predictor = SimpleNamespace(predict=lambda x, **_: x, fit=None, is_trained=True, copy=lambda: predictor)
    found = LAC(predictor, train=False) if score == "lac" else APS(predictor, train=False, rand=False)
    found.fit(X_calib=softmax(given["cal"]), y_calib=given["labels"])
    p = softmax(given["logits"])
    sets = np.zeros((len(given["errors"]), *p.shape), dtype=bool)
    for i, error in enumerate(given["errors"]):
        labels = found.predict(p, alpha=float(error))[1]
        lengths = [len(one) for one in labels]
        sets[i, np.repeat(np.arange(len(p)), lengths), np.concatenate(labels).astype(int)] = True
    return sets


def main(peer: str, score: str, source: str, target: str) -> None:
    """Time one peer."""
    warnings.simplefilter("ignore")
    with np.load(source) as npz:
        given = {name: npz[name] for name in npz.files}
    small = {**given, "logits": given["logits"][:10]}
    work = {"torchcp": torchcp, "mapie": mapie, "puncc": puncc}[peer]
    work(score, small)  # imports
    began = time.perf_counter()
    sets = work(score, given)
    np.savez(target, sets=np.packbits(sets), seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
