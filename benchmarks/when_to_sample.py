"""When is sampling worth it? The error of λ by the number of unlabelled inputs: real inputs alone, and manifolds.

    python benchmarks/when_to_sample.py --study DIR [--draws 3]

DIR holds what `infimum reproduce` writes. In every draw m inputs that neither training nor the calibration has seen
are drawn; λ of these inputs, and λ on 16,384 Sobol points of manifolds fitted to them, are compared with λ on all
the others. RAPS, exact; seeds are fixed. "many u": λ of the same inputs, averaged over as many draws u of the
randomised score as the samples have, to tell what smoothing does from what averaging does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from study_networks import StudyNetwork, study_networks

from infimum.conformal import Calibration, LambdaSummary
from infimum.manifold import Manifold, fit_class_gaussians, fit_kernel, fit_neighbors, fit_tree
from infimum.manifold._sampling import sample_lambda
from infimum.manifold._stopping import Stopping

SIZES = (50, 100, 200, 500, 1000, 2000, 4000, 8000)
SAMPLES = Stopping("samples", max_samples=2**14, batch=2**14)
MANIFOLDS: dict[str, Callable[[np.ndarray, np.ndarray], Manifold]] = {
    "kernel h=0.1": lambda x, y: fit_kernel(x, y, 0.1),
    "neighbors": fit_neighbors,
    "tree": fit_tree,
    "gaussians shrunk": lambda x, y: fit_class_gaussians(x, y, "shrunk"),
}
NAMES = ("real inputs", "the same, many u", *MANIFOLDS)


def success_levels(calibration: Calibration, logits: np.ndarray) -> float:
    """λ of these inputs."""
    summary = LambdaSummary(calibration.n)
    summary.add(calibration.top_two(logits))
    return summary.value


def errors(network: StudyNetwork, draw: int) -> np.ndarray:
    """λ − λ on all other real inputs: (sizes, names), NaN where the network has too few inputs."""
    calibration, rest = network.calibrated(draw)
    features = np.concatenate([network.features, network.test.features[rest]])
    features = features[np.random.default_rng([draw, 0x3E]).permutation(len(features))]
    logits = network.head.logits(features)
    found = np.full((len(SIZES), len(NAMES)), np.nan)
    for i, m in enumerate(SIZES):
        if 2 * m > len(features):
            break
        x, z = features[:m], logits[:m]
        truth = success_levels(calibration, logits[m:])
        laws = [fit(x, z.argmax(axis=1)) for fit in MANIFOLDS.values()]
        runs = [sample_lambda(law, network.head, calibration, SAMPLES, draw, draw="sobol") for law in laws]
        many = np.repeat(z, 2**14 // m, axis=0)  # as many draws of u as the manifolds get
        real = [success_levels(calibration, rows) for rows in (z, many)]
        found[i] = np.array([*real, *(run.summary.value for run in runs)]) - truth
    return found


def main() -> None:
    """Print the mean absolute error and the bias by m, and how often each manifold beats the real inputs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    networks = list(study_networks(options.study))
    found = np.array([[errors(network, draw) for draw in range(options.draws)] for network in networks])
    size = found.shape[1]
    for title, table in (
        ("Mean absolute error of λ", np.abs(found).mean(axis=1)),
        ("Mean error (bias) of λ", found.mean(axis=1)),
        ("Share of draws with a smaller absolute error than the real inputs alone", None),
    ):
        print(f"\n{title}, {size} draws of each network:\n")
        print(f"| unlabelled inputs | networks | {' | '.join(NAMES)} |\n|{' --- |' * (2 + len(NAMES))}")
        for i, m in enumerate(SIZES):
            known = ~np.isnan(found[:, 0, i, 0])
            if table is None:
                absolute = np.abs(found[known, :, i])
                cells = [f"{share:.0%}" for share in (absolute < absolute[..., :1]).mean(axis=(0, 1))]
            else:
                form = "+.4f" if "bias" in title else ".4f"
                cells = [format(value, form) for value in table[known, i].mean(axis=0)]
            print(f"| {m:,} | {known.sum()} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
