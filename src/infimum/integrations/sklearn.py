"""A scikit-learn classifier that says of each input how sure one may be of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from infimum._checks import Array
from infimum.bounds import clopper_pearson
from infimum.conformal import calibrate, score_named
from infimum.errors import InputError
from infimum.models._sklearn.model import cut_sklearn
from infimum.outputs._outputs import log_probabilities


class ConformalReliability(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with success levels λ(x), prediction sets and a certified bound.

    Parameters
    ----------
    estimator
        A classifier with `predict_proba`. Fitted already and wrapped in `sklearn.frozen.FrozenEstimator`: `fit`
        only calibrates, on all rows it is given, which must be unseen by training. Otherwise a clone is fitted
        to one part of the rows and calibrated on the other.
    conformity_score
        Score by name, under MAPIE's name of it: `score` is a method of every classifier. The default "lac"
        has no random form, so that the level of an input does not depend on the rows beside it.
    calibration_size
        Share of the rows to calibrate on, in (0, 1), where the estimator is not frozen; the split is stratified.
    confidence
        Of the certified bound.
    random_state
        Of the split and of scores with a random form: a whole number.

    Attributes
    ----------
    estimator_, classes_, calibration_
        The fitted classifier, its labels, and the `Calibration`.
    certified_
        Clopper–Pearson `Bound` on the success probability, from the calibration rows: it holds for inputs drawn
        like them.

    λ(x) is an estimate, not a guarantee. `score(X, y)` is the accuracy, as of every classifier.

    scikit-learn's `check_estimator` passes with an estimator that is fitted here, but for `check_dtype_object`: of a
    calibration row that cannot be read, InputError (a ValueError) is raised, not TypeError. It cannot be run on a
    frozen estimator, whose features and classes are fixed, since every check fits to data of its own.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500).fit(X[::2], y[::2])
    >>> reliable = ConformalReliability(FrozenEstimator(model)).fit(X[1::2], y[1::2])
    >>> reliable.success_levels(X[:3]).shape, round(reliable.certified_.value, 2)
    ((3,), 0.9)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        conformity_score: str = "lac",
        calibration_size: float = 0.25,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.conformity_score = conformity_score
        self.calibration_size = calibration_size
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ConformalReliability:
        """Calibrate on labelled rows, after fitting the estimator to a part of them unless it is frozen."""
        if self.estimator is None:
            raise InputError("estimator is missing: ConformalReliability(FrozenEstimator(classifier))")
        if y is None:
            raise InputError("fit requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if type(self.estimator).__name__ == "FrozenEstimator":
            self.estimator_, rows, labels = self.estimator.estimator, X, y
        else:
            train_X, rows, train_y, labels = self._split(X, y)
            self.estimator_ = clone(self.estimator).fit(train_X, train_y)
        self.classes_ = np.asarray(self.estimator_.classes_)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        logits = self._logits(rows)
        index = self._index(labels, len(logits))
        score = score_named(self.conformity_score)
        self.calibration_ = calibrate(logits, index, score=score, seed=self.random_state)
        self.certified_ = clopper_pearson(logits.argmax(axis=1) == index, self.confidence)
        return self

    def predict(self, X: Any) -> Array:
        """Labels (n,), as the estimator predicts them."""
        check_is_fitted(self)
        predicted: Array = self.estimator_.predict(X)
        return predicted

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n K"]:
        """Probabilities of the classes (n, K), as the estimator gives them."""
        check_is_fitted(self)
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def success_levels(self, X: Any) -> Float[np.ndarray, " n"]:
        """λ(x) of each input, in [0, m/(m+1)] after calibration on m rows; an estimate, not a guarantee."""
        check_is_fitted(self)
        return self.calibration_.success_levels(self._logits(X))

    def prediction_sets(self, X: Any, error: float) -> Bool[np.ndarray, "n K"]:
        """Which labels are in C_ε(x), columns as in `classes_`; the true one is with probability 1 − ε or more."""
        check_is_fitted(self)
        return self.calibration_.prediction_sets(self._logits(X), error)

    def _logits(self, X: Any) -> Array:
        cut = cut_sklearn(self.estimator_)  # not kept: it holds functions, which cannot be pickled
        outputs: Array = cut.forward(X)[0]
        return log_probabilities(outputs)[0] if cut.probabilities else outputs

    def _index(self, labels: Array, n: int) -> Array:
        """Column of each label; InputError for one that the estimator does not know."""
        if len(labels) != n:
            raise InputError(f"y has {len(labels)} entries, but X has {n} rows")
        index = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        unknown = np.flatnonzero(self.classes_[index] != labels)
        if len(unknown):
            row = int(unknown[0])
            label = np.asarray(labels)[row : row + 1].tolist()[0]
            raise InputError(f"y: row {row} is {label!r}, which the estimator was not fitted with")
        found: Array = index
        return found

    def _split(self, X: Any, y: Array) -> list[Any]:
        if len(y) < 2:
            raise ValueError(f"n_samples={len(y)}: there is nothing to calibrate on")
        split: list[Any] = train_test_split(
            X, y, test_size=self.calibration_size, random_state=self.random_state, stratify=y
        )
        return split

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
