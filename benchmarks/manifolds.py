"""Which manifold looks like the data: λ on samples against λ on unseen real inputs, for the study's networks.

    python benchmarks/manifolds.py --study DIR [--flow] [--only NAME]

DIR holds what `infimum reproduce` writes. Each manifold is fitted to features that training has not seen and judged
on test inputs that neither it nor the calibration has seen; λ is RAPS, exact, 100,000 samples. Seeds are fixed.
`auto` is what `select_manifold` takes, which sees neither test inputs nor labels; its time is that of choosing, too.
--flow adds the normalising flow (extra `flow`; minutes a network).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from study_networks import study_networks

from infimum.conformal import LambdaSummary
from infimum.manifold import (
    Manifold,
    choose_bandwidth,
    fidelity,
    fit_class_gaussians,
    fit_flow,
    fit_gmm,
    fit_kernel,
    fit_neighbors,
    fit_tree,
    select_manifold,
)

Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], Manifold]

MANIFOLDS: dict[str, Fit] = {
    "kernel h=0.05": lambda x, y, _: fit_kernel(x, y, 0.05),
    "kernel h=0.1": lambda x, y, _: fit_kernel(x, y, 0.1),
    "kernel h=0.3": lambda x, y, _: fit_kernel(x, y, 0.3),
    "kernel auto": lambda x, y, z: fit_kernel(x, y, choose_bandwidth(z, y)),
    "neighbors": lambda x, y, _: fit_neighbors(x, y),
    "tree": lambda x, y, _: fit_tree(x, y),
    "gaussians full": lambda x, y, _: fit_class_gaussians(x, y),
    "gaussians shrunk": lambda x, y, _: fit_class_gaussians(x, y, "shrunk"),
    "gaussians diag": lambda x, y, _: fit_class_gaussians(x, y, "diag"),
    "gmm full": lambda x, y, _: fit_gmm(x, y),
}
AIM = 0.01


def row(cells: list[str]) -> None:
    """One line of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table by network, then one by manifold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--flow", action="store_true")
    parser.add_argument("--only", default="", help="networks whose name holds this, as ham10000")
    options = parser.parse_args()
    manifolds = dict(MANIFOLDS)
    if options.flow:
        manifolds["flow"] = lambda x, y, _: fit_flow(x, y)
    print("λ on samples − λ on unseen real inputs (± standard error of the kernel's), by network:\n")
    row(["network", "λ real", "±", "features", *manifolds, "auto"])
    print(f"|{' --- |' * (5 + len(manifolds))}")
    found: dict[str, list[list[float]]] = {name: [] for name in ("features", *manifolds, "auto")}
    bandwidths, chosen = [], []
    for network in study_networks(options.study):
        if options.only not in network.name:
            continue
        calibration, rest = network.calibrated(0)
        held_out = network.test.features[rest]
        logits = network.head.logits(network.features)
        predicted = logits.argmax(axis=1)
        own, real = LambdaSummary(calibration.n), LambdaSummary(calibration.n)
        own.add(calibration.top_two(logits))
        real.add(calibration.top_two(network.head.logits(held_out)))
        found["features"].append([own.value - real.value, np.nan, np.nan, np.nan])
        cells, error = [f"{own.value - real.value:+.4f}"], np.nan
        for name in (*manifolds, "auto"):
            began = time.perf_counter()
            if name == "auto":
                law, selection = select_manifold(network.features, network.head, calibration)
                chosen.append(selection.chosen)
            else:
                law = manifolds[name](network.features, predicted, logits)
            seen = fidelity(law, network.head, calibration, held_out)
            seconds = time.perf_counter() - began
            likelihood = np.nan if seen.log_likelihood is None else seen.log_likelihood
            found[name].append([seen.difference, seen.auc, likelihood, seconds])
            cells.append(f"{seen.difference:+.4f}")
            error = seen.standard_error if name == "kernel h=0.1" else error
            if name == "kernel auto":
                bandwidths.append(law.fit.bandwidth)
        row([network.name, f"{real.value:.4f}", f"{error:.4f}", *cells])
    print("\nBy manifold; `features`: λ on the real features that the manifolds are fitted to, no sampling.")
    print("Time: fit, 100,000 samples and their scoring, and the comparison itself.\n")
    row(
        [
            "manifold",
            "mean abs. difference",
            "max",
            f"within {AIM}",
            "mean AUC",
            "mean held-out log-likelihood",
            "s",
        ]
    )
    print(f"|{' --- |' * 7}")
    for name, values in found.items():
        table = np.array(values)
        difference = np.abs(table[:, 0])
        within = f"{(difference <= AIM).sum()} of {len(table)}"
        cells = [name, f"{difference.mean():.4f}", f"{difference.max():.4f}", within]
        for column, digits in zip(table[:, 1:].T, (3, 2, 1), strict=True):
            cells.append("" if np.isnan(column).any() else f"{column.mean():.{digits}f}")
        row(cells)
    print(f"\nBandwidths chosen by leave-one-out likelihood: {', '.join(f'{h:.2f}' for h in bandwidths)}.")
    print(f"Manifolds that auto chose: {'; '.join(chosen)}.")


if __name__ == "__main__":
    main()
