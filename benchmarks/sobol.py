"""Samples needed for a sampling error of 1e-4: independent against scrambled Sobol points; and honest error bars.

    python benchmarks/sobol.py [--replications 200] [--target 1e-4] [--sizes 4096 8192 16384]

A mixture of ten components sampled behind the head. Sobol runs are eight replicates of a size each, 200 times; their
root mean squared error is against a long run. The samples they need follow from the two sizes around the target, on
straight lines in logarithms; those of independent samples are variance / target².
"""

from __future__ import annotations

import argparse

import numpy as np
from sampling_data import features, head
from timing import machine, print_table

from infimum import Stopping
from infimum.conformal import calibrate
from infimum.manifold import fit_gmm
from infimum.sampling import REPLICATES, sample_lambda


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--target", type=float, default=1e-4)
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 8192, 16384])
    parser.add_argument("--features", type=int, default=128)
    options = parser.parse_args()
    print(machine() + "\n")
    layer = head(options.features)
    x, _ = features(5000, options.features, seed=2)
    labelled, labels = features(1000, options.features, seed=3)
    cal = calibrate(layer.logits(labelled), labels)
    law = fit_gmm(x, layer.logits(x).argmax(axis=1))

    long_run = Stopping("samples", max_samples=2**22, batch=2**17)
    truth = sample_lambda(law, layer, cal, long_run, seed=10**6, draw="sobol").summary.value
    plain = sample_lambda(law, layer, cal, Stopping("samples", max_samples=2**20))
    variance = plain.sampling_error**2 * plain.summary.n
    rows: list[tuple[object, ...]] = []
    errors = []
    for size in options.sizes:
        rule = Stopping("samples", max_samples=REPLICATES * size, batch=size)
        runs = [
            sample_lambda(law, layer, cal, rule, seed=seed, draw="sobol")
            for seed in range(options.replications)
        ]
        off = np.array([run.summary.value for run in runs]) - truth
        told = np.array([run.sampling_error for run in runs])
        n = REPLICATES * size
        error = float(np.sqrt((off**2).mean()))
        errors.append((n, error))
        rows.append(
            (
                f"{n:,}",
                f"{np.sqrt(variance / n):.2e}",
                f"{error:.2e}",
                f"{told.mean():.2e}",
                f"{(np.abs(off) <= 1.96 * told).mean():.1%}",
                f"{variance / n / error**2:.1f}",
            )
        )
    needed = float(np.exp(np.interp(np.log(options.target), *np.log([e[::-1] for e in errors[::-1]]).T)))
    independent = variance / options.target**2
    rows.append(
        (
            f"for {options.target:g}: {independent:,.0f} independent, {needed:,.0f} Sobol",
            *([""] * 4),
            f"**{independent / needed:.1f}**",
        )
    )
    print_table(
        (
            "samples",
            "error, independent",
            "error, Sobol",
            "mean error told",
            "± 1.96 covers",
            "fewer samples",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
