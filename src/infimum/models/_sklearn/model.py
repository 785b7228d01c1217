"""A scikit-learn estimator: a linear layer where it has one, probabilities where it has not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from infimum._checks import Array
from infimum.errors import InputError
from infimum.head import Head, HeadFunction
from infimum.models._at_fault import at_fault
from infimum.models._cut import Cut, Forward
from infimum.models._endings import two_classes
from infimum.models._sklearn.load import load_estimator

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "logistic": expit,
    "identity": lambda x: x,
}

TOLERANCE = 1e-5
"""Largest difference between the softmax of the logits and the estimator's own probabilities."""


def cut_sklearn(estimator: Any, trust: bool = False) -> Cut:
    """A fitted classifier, or a file of one (skops; joblib or pickle with `trust`), cut before its linear layer.

    MLPClassifier: features are its last hidden activations. LogisticRegression, linear discriminant analysis and
    SGDClassifier with log loss: features are the inputs. Two classes become the logits [0, z]. One-vs-rest
    probabilities are no softmax of a linear layer: their logarithms are the logits, and the head is a function.
    A pipeline is cut in its last step. All others give their probabilities and no head. `Cut.classes` holds the
    labels of the fit. The first batch proves logits against the estimator's own probabilities and predictions.

    Raises InputError for an estimator that is not fitted, gives no probabilities or several labels at once.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> cut_sklearn(model).classes
    ('high', 'low')
    """
    if isinstance(estimator, str | Path):
        path = Path(estimator)
        with at_fault(path, "holds no estimator that can be used"):
            return cut_sklearn(load_estimator(path, trust))
    cut = _cut(estimator)
    classes = np.asarray(estimator.classes_)
    names = tuple(map(str, getattr(estimator, "feature_names_in_", ())))
    forward = _proved(cut, estimator, classes)
    return replace(cut, forward=forward, classes=tuple(classes.tolist()), input_names=names)


def _cut(estimator: Any) -> Cut:
    """The cut of an estimator, or of what it wraps; not yet proved."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # isort: skip
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import Pipeline

    _check(estimator)
    if isinstance(estimator, Pipeline) and len(estimator) > 1 and estimator[-1] != "passthrough":
        return _pipeline(estimator)
    if hasattr(estimator, "best_estimator_"):
        return _cut(estimator.best_estimator_)
    if isinstance(estimator, MLPClassifier):
        return _perceptron(estimator)
    if isinstance(estimator, LogisticRegression | LinearDiscriminantAnalysis) or (
        isinstance(estimator, SGDClassifier) and estimator.loss == "log_loss"
    ):
        return _linear(estimator)
    name = type(estimator).__name__
    return Cut(
        forward=lambda inputs: (np.asarray(estimator.predict_proba(inputs)), None),
        head=None,
        framework="scikit-learn",
        why_no_head=f"{name} gives probabilities, and has no linear prediction layer that reads features",
        probabilities=True,
    )


def _check(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name = type(estimator).__name__
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted; call fit first") from error
    except TypeError as error:
        raise InputError(f"{name} is not a scikit-learn estimator") from error
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{name} has no predict_proba: a classifier with probabilities is needed; of one with a decision "
            "function only, fit CalibratedClassifierCV(estimator)"
        )
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise InputError(f"{name} predicts several labels at once; hand over one classifier per label")
    if len(classes) < 2:
        raise InputError(f"{name} was fitted with a single class, {classes[0]!r}; at least two are needed")


def _pipeline(pipeline: Any) -> Cut:
    """The last step's cut, behind the steps before it."""
    cut, before = _cut(pipeline[-1]), pipeline[:-1]
    return replace(cut, forward=lambda inputs: cut.forward(before.transform(inputs)))


def _dense(inputs: Any) -> Array:
    """Inputs as an array of float64; a sparse batch is filled up."""
    return np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=np.float64)


def _linear(estimator: Any) -> Cut:
    from sklearn.linear_model import SGDClassifier

    weight, bias = np.asarray(estimator.coef_), np.broadcast_to(estimator.intercept_, len(estimator.coef_))
    name = type(estimator).__name__
    if len(weight) == 1:
        # Older releases have multi_class="multinomial", whose two logits are [-z, z]: z is then doubled.
        double = 2.0 if getattr(estimator, "multi_class", None) == "multinomial" else 1.0
        weight, bias = two_classes(double * weight, double * bias)
    elif isinstance(estimator, SGDClassifier) or _one_vs_rest(estimator):
        return _over_rest(estimator, Head(weight, bias, name=name))
    head = Head(weight, bias, name=name)
    return Cut(lambda inputs: _on(_features(inputs, head), head), head, "scikit-learn", f"{name}.coef_")


def _features(inputs: Any, head: Head | HeadFunction) -> Array:
    features = _dense(inputs)
    if features.ndim != 2 or features.shape[1] != head.n_features:
        raise InputError(f"{head.name} reads inputs of shape (n, {head.n_features}), not {features.shape}")
    return features


def _on(features: Array, head: Head | HeadFunction) -> tuple[Array, Array]:
    return head.logits(features), features


def _one_vs_rest(estimator: Any) -> bool:
    """Whether a LogisticRegression of three classes or more is one binary model per class (older releases)."""
    return getattr(estimator, "solver", "") == "liblinear" or getattr(estimator, "multi_class", "") == "ovr"


def _over_rest(estimator: Any, linear: Head) -> Cut:
    """Probabilities σ(z_k) / Σ_j σ(z_j): their logarithms are the logits, a function of the features."""

    def log_probabilities(features: Array) -> Array:
        logs = log_expit(linear.logits(features))
        normalised: Array = logs - logsumexp(logs, axis=1, keepdims=True)
        return normalised

    head = HeadFunction(log_probabilities, linear.n_features, linear.n_classes, name=linear.name)
    layer = f"{linear.name}.coef_ (one-vs-rest)"
    return Cut(lambda inputs: _on(_features(inputs, head), head), head, "scikit-learn", layer)


def _perceptron(estimator: Any) -> Cut:
    """A multi-layer perceptron: all but the last of its layers make the features."""
    if estimator.out_activation_ == "logistic" and estimator.n_outputs_ > 1:
        raise InputError("MLPClassifier predicts several labels at once; hand over one classifier per label")
    activation = ACTIVATIONS[estimator.activation]
    weight, bias = estimator.coefs_[-1].T, estimator.intercepts_[-1]
    if len(weight) == 1:
        weight, bias = two_classes(weight, bias)
    head = Head(weight, bias, name="MLPClassifier")

    def forward(inputs: Any) -> tuple[Array, Array]:
        x = _dense(inputs)
        if x.ndim != 2 or x.shape[1] != estimator.n_features_in_:
            raise InputError(
                f"MLPClassifier reads inputs of shape (n, {estimator.n_features_in_}), not {x.shape}"
            )
        for w, b in zip(estimator.coefs_[:-1], estimator.intercepts_[:-1], strict=True):
            x = activation(x @ w + b)
        return _on(x, head)

    return Cut(forward, head, "scikit-learn", f"MLPClassifier.coefs_[{len(estimator.coefs_) - 1}]")


def _proved(cut: Cut, estimator: Any, classes: Array) -> Forward:
    """`forward`, proved on its first batch: same probabilities, and the likeliest class is the one predicted."""
    done = False

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        nonlocal done
        try:
            with _without_names():
                logits, features = cut.forward(inputs)
                if not done:
                    probabilities = np.asarray(estimator.predict_proba(inputs))
                    predicted = np.asarray(estimator.predict(inputs))
                    _compare(cut, logits, probabilities, classes, predicted)
        except InputError:
            raise
        except Exception as error:  # estimators of others, or out of a damaged file, raise anything
            raise InputError(f"{type(estimator).__name__} cannot read the inputs: {error}") from error
        done = True
        return logits, features

    return forward


@contextmanager
def _without_names() -> Iterator[None]:
    """Without scikit-learn's warning of arrays where it was fitted on named columns: a table's are in order here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def _compare(cut: Cut, logits: Array, probabilities: Array, classes: Array, predicted: Array) -> None:
    if not cut.probabilities:
        ours = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        if ours.shape != probabilities.shape or (gap := np.abs(ours - probabilities).max()) > TOLERANCE:
            gap = "their number of columns" if ours.shape != probabilities.shape else f"up to {gap:.3g}"
            raise InputError(
                f"the cut is wrong: the softmax of {cut.layer or 'the logits'} differs from predict_proba by {gap}; "
                "pass a function that returns the logarithms of predict_proba (any callable)"
            )
    scores = probabilities if cut.probabilities else logits
    two = np.sort(scores, axis=1)[:, -2:]
    rounding = (two[:, 1] > two[:, 0]) & (two[:, 1] - two[:, 0] <= 1e-9)
    other = np.flatnonzero(~rounding & (classes[scores.argmax(axis=1)] != predicted))
    if len(other):
        raise InputError(
            f"predict does not take the likeliest class: row {int(other[0])} and {len(other) - 1} more of "
            f"{len(predicted)} differ from predict_proba's argmax (a tuned threshold? ties? SVC?); hand over an "
            "estimator that decides by its probabilities, such as the inner one, or CalibratedClassifierCV of it"
        )
