"""Samples needed for a sampling error of 1e-4: independent against scrambled Sobol points; and honest error bars.

    python benchmarks/sobol.py [--replications 200] [--target 1e-4]

A mixture of ten components sampled behind the head. Sobol runs are eight replicates of a size each, 200 times; their
root mean squared error is against a long run. The samples they need follow from the two sizes around the target, on
straight lines in logarithms; those of independent samples are variance / target².
"""

from __future__ import annotations

import argparse

import numpy as np
from sampling_data import APART, world
from timing import machine, print_table

from infimum import Stopping
from infimum.manifold._sampling import REPLICATES, sample_lambda


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--target", type=float, default=1e-4)
    parser.add_argument("--features", type=int, default=128)
    options = parser.parse_args()
    print(machine() + "\n")
    rows: list[tuple[object, ...]] = []
    for name, apart in APART.items():
        layer, _, _, cal, law = world(options.features, apart)
        long_run = Stopping("samples", max_samples=2**23, batch=2**19)
        truth = sample_lambda(law, layer, cal, long_run, seed=10**6, draw="sobol").summary.value
        plain = sample_lambda(law, layer, cal, Stopping("samples", max_samples=2**20))
        variance = plain.sampling_error**2 * plain.summary.n
        independent = variance / options.target**2
        # Powers of two; eight replicates of the larger are about an eighth of what independent samples need.
        middle = round(np.log2(independent / REPLICATES / 8))
        errors = []
        for size in (2 ** (middle - 1), 2**middle):
            rule = Stopping("samples", max_samples=REPLICATES * size, batch=size)
            seeds = range(options.replications)
            runs = [sample_lambda(law, layer, cal, rule, seed=seed, draw="sobol") for seed in seeds]
            off = np.array([run.summary.value for run in runs]) - truth
            told = np.array([run.sampling_error for run in runs])
            n = REPLICATES * size
            error = float(np.sqrt((off**2).mean()))
            errors.append((n, error))
            covered = (np.abs(off) <= 1.96 * told).mean()
            rows.append(
                (
                    f"{name}, {n:,} samples",
                    f"{np.sqrt(variance / n):.2e}",
                    f"{error:.2e}",
                    f"{told.mean():.2e}",
                    f"{covered:.1%}",
                    f"{variance / n / error**2:.1f}",
                )
            )
        (n_one, error_one), (n_two, error_two) = errors
        slope = np.log(n_two / n_one) / np.log(error_two / error_one)
        needed = n_one * (options.target / error_one) ** slope
        asked = f"{name}, for {options.target:g}: {needed:,.0f} instead of {independent:,.0f}"
        rows.append((asked, "", "", "", "", f"**{independent / needed:.1f}**"))
    print_table(
        ("network", "error, independent", "error, Sobol", "mean error told", "± 1.96 covers", "times fewer"),
        rows,
    )


if __name__ == "__main__":
    main()
