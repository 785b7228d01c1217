"""λ over samples of a Gaussian mixture: behind the head, against scikit-learn's sampling in feature space.

    python benchmarks/sampling_speed.py [--samples 1000000] [--features 128] [--runs 5]

Ten components, full covariances. "Both" end in λ ± its sampling error by the same code; the first draws features
with GaussianMixtureLaw.sample and applies the head (in batches of 20,000), the second samples logits directly.
"""

from __future__ import annotations

import argparse

import numpy as np
from sampling_data import world
from sklearn.mixture import GaussianMixture as SklearnMixture
from timing import machine, medians, print_table

from infimum import Head, Stopping
from infimum.conformal import Calibration, LambdaSummary
from infimum.manifold import GaussianMixtureLaw
from infimum.manifold._sampling import SampledLambda, sample_lambda

BATCH = 20_000


def as_sklearn(law: GaussianMixtureLaw) -> SklearnMixture:
    """The same mixture as a scikit-learn object."""
    other = SklearnMixture(len(law.weights), random_state=np.random.RandomState(0))
    other.weights_, other.means_ = law.weights, law.means
    other.covariances_ = np.stack([factor.T @ factor for factor in law.factors])
    return other


def in_feature_space(mixture: SklearnMixture, layer: Head, cal: Calibration, n: int) -> LambdaSummary:
    """Sample features, apply the head, summarise."""
    summary = LambdaSummary(cal.n)
    for start in range(0, n, BATCH):
        x, _ = mixture.sample(min(BATCH, n - start))
        summary.add(cal.top_two(layer.logits(x), first_row=start, stream="samples"))
    return summary


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(machine() + "\n")
    layer, _, _, cal, law = world(options.features)
    mixture = as_sklearn(law)
    slow: list[LambdaSummary] = []
    fast: list[SampledLambda] = []
    rule = Stopping("samples", max_samples=options.samples, batch=BATCH)
    theirs, ours = medians(
        lambda: slow.append(in_feature_space(mixture, layer, cal, options.samples)),
        lambda: fast.append(sample_lambda(law, layer, cal, rule)),
        runs=options.runs,
        warm=False,
    )
    one, two = slow[0], fast[0].summary
    rows = [
        (
            "scikit-learn, features, head",
            f"{one.value:.4f} ± {one.sampling_error:.4f}",
            f"{theirs:.2f} s",
            "1",
        ),
        (
            "infimum, logits",
            f"{two.value:.4f} ± {two.sampling_error:.4f}",
            f"{ours:.2f} s",
            f"{theirs / ours:.1f}",
        ),
    ]
    print_table(
        (f"{options.samples:,} samples", "λ ± sampling error", f"median of {options.runs}", "times faster"),
        rows,
    )


if __name__ == "__main__":
    main()
