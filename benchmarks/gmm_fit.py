"""EM of a Gaussian mixture: infimum's against scikit-learn's from the same start, side by side in one run.

    python benchmarks/gmm_fit.py [--n 50000] [--features 128] [--runs 5]

Ten classes of ReLU features that overlap, full covariances; both start from the classes. The log-likelihood per
feature vector is that of scikit-learn, in float64, under either fit.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from timing import machine, medians, print_table

from infimum.manifold import _em as em
from infimum.manifold._gmm import RIDGE, starting_point

COMPONENTS = 10


def relu_features(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) of ten classes after a ReLU, and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(COMPONENTS, size=n)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d)
    x = rng.normal(size=(n, d)) @ mixing * 1.5 + rng.normal(size=(COMPONENTS, d))[labels] * 0.5
    return np.maximum(x, 0), labels


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(machine() + "\n")
    x, labels = relu_features(options.n, options.features)
    ridge = RIDGE * float(x.var(axis=0).mean())
    weights, means, covariances = starting_point(x, labels, "full", ridge)
    theirs = GaussianMixture(
        COMPONENTS,
        weights_init=weights,
        means_init=means,
        precisions_init=np.linalg.inv(covariances),
        reg_covar=ridge,
        max_iter=200,
    )

    def fit_theirs() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.fit(x)

    found: list[em.Fitted] = []

    def fit_ours() -> None:
        found[:] = [em.fit_full(x, weights, means, covariances, ridge)]

    slow, fast = medians(fit_theirs, fit_ours, runs=options.runs, warm=False)
    ours = found[0]
    rows = [
        (
            "scikit-learn",
            theirs.n_iter_,
            f"{theirs.score(x):.5f}",
            f"{slow:.2f} s",
            f"{slow / theirs.n_iter_:.3f} s",
            "1",
        )
    ]
    theirs.weights_, theirs.means_, theirs.covariances_ = ours.weights, ours.means, ours.covariances
    roots = np.linalg.cholesky(np.linalg.inv(ours.covariances))
    theirs.precisions_cholesky_ = roots
    rows.append(
        (
            "infimum",
            ours.iterations,
            f"{theirs.score(x):.5f}",
            f"{fast:.2f} s",
            f"{fast / ours.iterations:.3f} s",
            f"{slow / fast:.1f}",
        )
    )
    head = (
        "EM",
        "iterations",
        "log-likelihood",
        f"median of {options.runs}",
        "per iteration",
        "times faster",
    )
    print_table(head, rows)


if __name__ == "__main__":
    main()
