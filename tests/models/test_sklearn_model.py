"""scikit-learn: every linear layer proved against predict_proba; the others give probabilities; files."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from infimum.errors import InputError
from infimum.head import Head, HeadFunction
from infimum.models import NetworkAdapter
from infimum.models._sklearn.model import cut_sklearn

X, Y3 = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
Y2 = (Y3 > 0).astype(int)


def perceptron(activation="relu", hidden=(9, 7)):
    # a few steps are enough for a test, and the warning that they are few is not
    return MLPClassifier(hidden, activation=activation, solver="lbfgs", max_iter=15, random_state=0, tol=10.0)


LINEAR = {
    "mlp relu": perceptron(),
    "mlp tanh": perceptron("tanh"),
    "mlp logistic": perceptron("logistic"),
    "mlp identity": perceptron("identity"),
    "mlp no hidden layer": perceptron(hidden=()),
    "logistic regression": LogisticRegression(max_iter=500),
    "sgd": SGDClassifier(loss="log_loss", random_state=0),
    "lda": LinearDiscriminantAnalysis(),
    "pipeline": make_pipeline(StandardScaler(), perceptron()),
    "search": GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}, cv=2),
    "search in a pipeline": make_pipeline(
        StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    ),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # the perceptrons are trained for a few steps
@pytest.mark.parametrize("labels", [Y2, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", LINEAR)
def test_linear_layers(name, labels):
    model = LINEAR[name].fit(X, labels)
    cut = cut_sklearn(model)
    logits, features = NetworkAdapter(cut).batch(X)
    assert logits.shape == (300, len(set(labels)))
    assert np.allclose(cut.head.logits(features), logits, atol=1e-12)
    assert np.allclose(softmax(logits, axis=1), model.predict_proba(X), atol=1e-9)
    assert np.array_equal(logits.argmax(axis=1), model.predict(X))
    one_vs_rest = name == "sgd" and labels is Y3
    assert isinstance(cut.head, HeadFunction if one_vs_rest else Head)


def test_hidden_activations_are_the_features():
    model = LINEAR["mlp no hidden layer"].fit(X, Y3)
    assert np.array_equal(NetworkAdapter(cut_sklearn(model)).batch(X)[1], X)
    model = LINEAR["pipeline"].fit(X, Y3)
    features = NetworkAdapter(cut_sklearn(model)).batch(X)[1]
    assert features.shape == (300, 7)
    assert features.min() == 0  # ReLU


PROBABILITIES = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "booster": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "pipeline": make_pipeline(StandardScaler(), CalibratedClassifierCV(LogisticRegression(), cv=2)),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
}


@pytest.mark.parametrize("labels", [Y2, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", PROBABILITIES)
def test_probabilities(name, labels):
    model = PROBABILITIES[name].fit(X, labels)
    cut = cut_sklearn(model)
    assert cut.head is None
    assert "gives probabilities" in cut.why_no_head
    (outputs,) = NetworkAdapter(cut).stream([(X, labels)])
    assert np.allclose(np.exp(outputs.logits), model.predict_proba(X), atol=1e-12)
    assert outputs.saturated == (model.predict_proba(X) == 1).any(axis=1).sum()
    assert outputs.accuracy == model.score(X, labels)


@pytest.mark.parametrize("names", [["cat", "dog", "eel"], [3, 5, 9]])
def test_labels_of_the_fit_are_mapped(names):
    labels = np.array(names)[Y3]
    model = LogisticRegression(max_iter=500).fit(X, labels)
    cut = cut_sklearn(model)
    assert cut.classes == tuple(names)
    (outputs,) = NetworkAdapter(cut).stream([(X, labels)])
    assert np.array_equal(outputs.labels, Y3)
    assert outputs.accuracy == model.score(X, labels)
    with pytest.raises(InputError, match=r"labels: row 1 .* was trained with the classes"):
        list(NetworkAdapter(cut).stream([(X[:2], [names[0], "fox" if names[0] == "cat" else 4])]))


def test_sparse_features_behind_a_pipeline():
    words = (X[:, :2] > 0).astype(int)
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(words, Y3)
    cut = cut_sklearn(model)
    logits, features = NetworkAdapter(cut).batch(words)
    assert features.shape == (300, 4)
    assert np.allclose(softmax(logits, axis=1), model.predict_proba(words))


def test_refusals():
    fitted = LogisticRegression().fit(X, Y2)
    for model, message in (
        (LogisticRegression(), "not fitted"),
        (LinearSVC().fit(X, Y2), "CalibratedClassifierCV"),
        (LinearRegression().fit(X, Y2), "no predict_proba"),
        (DecisionTreeClassifier().fit(X, np.column_stack([Y2, Y3])), "several labels"),
        (perceptron("relu", ()).set_params(max_iter=200).fit(X, np.column_stack([Y2, Y2])), "several labels"),
        (DecisionTreeClassifier().fit(X, np.zeros(300)), "single class"),
        (3, "not a scikit-learn estimator"),
    ):
        with pytest.raises(InputError, match=message):
            cut_sklearn(model)
    with pytest.raises(InputError, match=r"must|reads inputs of shape \(n, 8\)"):
        NetworkAdapter(cut_sklearn(fitted)).batch(X[:, :5])
    # its probabilities are cut off at 0 and 1, and the ties then fall otherwise than in predict
    cut_off = SGDClassifier(loss="modified_huber", random_state=0).fit(X, Y3)
    with pytest.raises(InputError, match="does not take the likeliest class"):
        NetworkAdapter(cut_sklearn(cut_off)).batch(X)
    tuned = FixedThresholdClassifier(fitted, threshold=0.9).fit(X, Y2)
    with pytest.raises(InputError, match="does not take the likeliest class"):
        NetworkAdapter(cut_sklearn(tuned)).batch(X)


def test_a_reading_that_does_not_fit_the_release_is_noticed():
    model = LogisticRegression().fit(X, Y2)
    model.multi_class = "multinomial"  # as in releases in which predict_proba has another meaning
    with pytest.raises(InputError, match="differs from predict_proba"):
        NetworkAdapter(cut_sklearn(model)).batch(X)


def test_skops_files(tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    model = LogisticRegression().fit(X, Y3)
    path = tmp_path / "model.bin"  # told by content, not by name
    skops.dump(model, path)
    logits, _ = NetworkAdapter(cut_sklearn(path)).batch(X)
    assert np.allclose(softmax(logits, axis=1), model.predict_proba(X))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="damaged"):
        cut_sklearn(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MLPClassifier((4,), max_iter=3),
        lambda: MLPClassifier((4,), max_iter=3, solver="sgd", early_stopping=True),
        lambda: CalibratedClassifierCV(SGDClassifier(), cv=2),
        lambda: GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2),
        lambda: VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft"),
    ],
    ids=["Adam", "SGD", "calibrated", "search", "vote"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_common_estimators_in_skops_need_no_trust(make, tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    model = make().fit(X, Y3)
    skops.dump(model, tmp_path / "model.skops")
    (outputs,) = NetworkAdapter(cut_sklearn(tmp_path / "model.skops")).stream([X])
    assert np.allclose(softmax(outputs.logits, axis=1), model.predict_proba(X), atol=1e-6)


def test_trees_in_skops_need_trust(tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    skops.dump(RandomForestClassifier(2, random_state=0).fit(X, Y3), tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"_tree\.Tree\. If you trust"):
        cut_sklearn(tmp_path / "model.skops")
    assert cut_sklearn(tmp_path / "model.skops", trust=True).head is None


class Own(LogisticRegression):
    """A type that skops does not know."""


def test_unknown_types_in_skops_need_trust(tmp_path):
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    skops.dump(Own().fit(X, Y3), tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"\.Own\. If you trust"):
        cut_sklearn(tmp_path / "model.skops")


@pytest.mark.parametrize("dump", [joblib.dump, lambda m, p: p.write_bytes(pickle.dumps(m))])
def test_pickles_need_trust_and_warn(dump, tmp_path):
    model, path = LogisticRegression().fit(X, Y3), tmp_path / "model.joblib"
    dump(model, path)
    with pytest.raises(InputError, match="--trust"):
        cut_sklearn(path)
    with pytest.warns(UserWarning, match="runs the code"):
        cut = cut_sklearn(path, trust=True)
    assert np.allclose(softmax(NetworkAdapter(cut).batch(X)[0], axis=1), model.predict_proba(X))


def test_a_pickle_is_not_run_without_trust(tmp_path):
    class Harm:
        def __reduce__(self):
            return (open, (str(tmp_path / "harm"), "w"))

    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(InputError):
        cut_sklearn(tmp_path / "model.pkl")
    assert not (tmp_path / "harm").exists()


def test_damaged_files(tmp_path):
    path = tmp_path / "model.joblib"
    for content in (b"", b"hello", pickle.dumps(LogisticRegression())[:40]):
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a pickle is read, see above
            with pytest.raises(InputError, match=r"damaged|not installed"):
                cut_sklearn(path, trust=True)
    with pytest.raises(InputError, match="does not exist"):
        cut_sklearn(tmp_path / "none.skops")
    with pytest.raises(InputError, match="directory"):
        cut_sklearn(tmp_path)
