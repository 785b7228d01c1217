"""ConformalReliability: scikit-learn's own checks, and that it says what infimum says."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from infimum import InputError, Outputs, clopper_pearson
from infimum.conformal import LAC, calibrate
from infimum.integrations.sklearn import ConformalReliability


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(900, 8, n_informative=5, n_classes=3, random_state=0)
    return X, np.array(["cat", "dog", "owl"])[y]


@pytest.fixture(scope="module")
def reliable(data: tuple[np.ndarray, np.ndarray]) -> ConformalReliability:
    X, y = data
    model = LogisticRegression(max_iter=500).fit(X[:300], y[:300])
    return ConformalReliability(FrozenEstimator(model)).fit(X[300:600], y[300:600])


CHECKS = """
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator
from infimum.integrations.sklearn import ConformalReliability

results = check_estimator(ConformalReliability(LogisticRegression()), on_fail=None, on_skip=None)
print({r["check_name"] for r in results if r["status"] == "failed"}, len(results))
"""


@pytest.mark.slow
def test_scikit_learns_own_checks() -> None:
    """In a process of its own: the checks pass wrong types to __init__, which must not look at them."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECKS],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    failed, number = done.stdout.rsplit(maxsplit=1)
    assert failed == "{'check_dtype_object'}"  # as the class says, and why
    assert int(number) > 45


def test_says_what_infimum_says(data: tuple[np.ndarray, np.ndarray], reliable: ConformalReliability) -> None:
    X, y = data
    model = reliable.estimator_
    logits, columns = model.decision_function(X), np.searchsorted(model.classes_, y)
    cal = calibrate(logits[300:600], columns[300:600], score=LAC())
    np.testing.assert_array_equal(reliable.success_levels(X[600:]), cal.success_levels(logits[600:]))
    np.testing.assert_array_equal(
        reliable.prediction_sets(X[600:], 0.1), cal.prediction_sets(logits[600:], 0.1)
    )
    np.testing.assert_array_equal(reliable.predict(X), model.predict(X))
    np.testing.assert_array_equal(reliable.predict_proba(X), model.predict_proba(X))
    assert reliable.score(X, y) == model.score(X, y)
    assert reliable.certified_ == clopper_pearson(Outputs(logits[300:600], columns[300:600]).correct)
    assert reliable.success_levels(X[600:601])[0] == reliable.success_levels(X[600:])[0]


def test_sets_cover(data: tuple[np.ndarray, np.ndarray]) -> None:
    """Marginal coverage at least 0.9 over draws of calibration and test rows."""
    X, y = data
    model = LogisticRegression(max_iter=500).fit(X[:300], y[:300])
    columns, covered = np.searchsorted(model.classes_, y), []
    for seed in range(100):
        rows = 300 + np.random.default_rng(seed).permutation(600)
        made = ConformalReliability(FrozenEstimator(model)).fit(X[rows[:99]], y[rows[:99]])
        sets = made.prediction_sets(X[rows[99:]], 0.1)
        covered.append(sets[np.arange(501), columns[rows[99:]]].mean())
    # Coverage given 99 calibration rows has sd √(.09/101) ≈ .03; of the mean of 100, .003: 4 of them.
    assert np.mean(covered) >= 0.9 - 0.012


@pytest.mark.parametrize("inner", [DecisionTreeClassifier(max_depth=4), LinearDiscriminantAnalysis()])
def test_fits_and_calibrates_on_different_rows(inner: object, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    made = ConformalReliability(inner, conformity_score="aps", random_state=3, calibration_size=0.4).fit(X, y)
    assert made.calibration_.n == 360
    assert not hasattr(inner, "classes_")  # a clone was fitted
    levels = made.success_levels(X)
    assert levels[made.predict(X) == y].mean() > levels[made.predict(X) != y].mean()
    again = ConformalReliability(inner, conformity_score="aps", random_state=3, calibration_size=0.4).fit(
        X, y
    )
    np.testing.assert_array_equal(again.success_levels(X), levels)


def test_bad_input(data: tuple[np.ndarray, np.ndarray], reliable: ConformalReliability) -> None:
    X, y = data
    other = np.where(y == "owl", "bat", y)
    for made, labels, message in (
        (ConformalReliability(), y, "estimator is missing"),
        (reliable, other, "'bat', which the estimator was not fitted with"),
        (reliable, y[:-1], "899 entries, but X has 900"),
        (reliable, None, "requires y"),
        (ConformalReliability(reliable.estimator, conformity_score="thr"), y, "score"),
    ):
        with pytest.raises(InputError, match=message):
            made.fit(X, labels)
