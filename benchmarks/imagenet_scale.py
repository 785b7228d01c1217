"""A million samples to λ at ImageNet's size: 50,000 × 2,048 features, 1,000 classes, on two cores.

    python benchmarks/imagenet_scale.py [--samples 1000000]

Features are synthetic: class means and noise whose variances fall as 1/j, as those behind a deep network do, turned
so that no axis is special; each class has its own variances within a factor of two. Each manifold runs in a process
of its own, so that its peak memory is its own; synthetic data and head are made before the clock starts ("before" is
the peak until then). On a busy machine read the CPU seconds: on two free cores the clock shows between half of them
and all.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from infimum import Head
from infimum.conformal import Calibration, calibrate
from infimum.manifold import fit_class_gaussians, fit_kernel, select_manifold
from infimum.manifold._sampling import sample_lambda
from infimum.manifold._stopping import Stopping

ROWS, FEATURES, CLASSES, LABELLED = 50_000, 2048, 1000, 10_000
MANIFOLDS = {
    "kernel": fit_kernel,
    "class-gaussians shrunk": lambda x, y: fit_class_gaussians(x, y, "shrunk"),
    "class-gaussians lowrank:10": lambda x, y: fit_class_gaussians(x, y, "lowrank:10"),
    "class-gaussians diag": lambda x, y: fit_class_gaussians(x, y, "diag"),
}
AUTO = "auto"
"""What `select_manifold` takes; its time is that of choosing, too."""


def network() -> tuple[np.ndarray, np.ndarray, Head, Calibration]:
    """Features (50,000, 2,048) in float32, their predicted classes, the head, and a calibration of 10,000 rows."""
    rng = np.random.default_rng(0)
    scale = (1 / np.sqrt(np.arange(1, FEATURES + 1))).astype(np.float32)
    means = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32) * scale * np.float32(0.125)
    own = rng.uniform(0.7, 1.4, (CLASSES, FEATURES)).astype(np.float32)
    labels = np.arange(ROWS + LABELLED) % CLASSES
    x = rng.standard_normal((ROWS + LABELLED, FEATURES), dtype=np.float32)
    for start in range(0, len(x), 5000):
        rows = slice(start, start + 5000)
        x[rows] = means[labels[rows]] + x[rows] * scale * own[labels[rows]]
    # The discriminant for the average variances; the distance of the means makes about three rows in four right.
    weight, bias = means / scale**2, -0.5 * (means**2 / scale**2).sum(axis=1)
    for _ in range(3):  # Householder reflections: the same law in other axes
        v = rng.standard_normal(FEATURES).astype(np.float32)
        v /= np.linalg.norm(v)
        x -= np.outer(2 * (x @ v), v)
        weight -= np.outer(2 * (weight @ v), v)
    head = Head(weight, bias)
    logits = np.concatenate([x[start : start + 5000] @ weight.T + bias for start in range(0, len(x), 5000)])
    return x[:ROWS], logits[:ROWS].argmax(axis=1), head, calibrate(logits[ROWS:], labels[ROWS:])


def measure(name: str, samples: int) -> dict[str, float | str]:
    """Seconds, peak memory and λ of one manifold, and its name."""
    x, predicted, head, calibration = network()
    before = peak()
    busy, began = time.process_time(), time.perf_counter()
    if name == AUTO:
        law, selection = select_manifold(x, head, calibration)
        name = f"{AUTO}, which took {selection.chosen}"
    else:
        law = MANIFOLDS[name](x, predicted)
    fitted = time.perf_counter()
    run = sample_lambda(law, head, calibration, Stopping("samples", max_samples=samples))
    return {
        "name": name,
        "fit": fitted - began,
        "sample": time.perf_counter() - fitted,
        "cpu": time.process_time() - busy,
        "before": before,
        "peak": peak(),
        "value": run.summary.value,
        "error": run.sampling_error,
    }


def peak() -> float:
    """Largest resident memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def why_not_em() -> None:
    """What scikit-learn's full mixture would need: covariances, their Cholesky factors, and n K d² per step."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    matrices = CLASSES * FEATURES**2 * 8 / 2**30
    print(
        f"\nscikit-learn's GaussianMixture(1000, covariance_type='full') keeps {matrices:.0f} GiB of covariances"
    )
    print(f"and {matrices:.0f} GiB of Cholesky factors of precisions, whatever the number of rows.")
    n, k, d = 2000, 20, 256
    x = np.random.default_rng(0).normal(size=(n, d))
    em = GaussianMixture(k, max_iter=1, init_params="random_from_data", random_state=0)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        em.fit(x)
    seconds = time.perf_counter() - began
    scaled = seconds * (ROWS / n) * (CLASSES / k) * (FEATURES / d) ** 2
    print(f"One step on {n:,} × {d} with {k} components takes {seconds:.2f} s; n K d² makes that")
    print(
        f"{scaled / 3600:.1f} hours per step at 50,000 × 2,048 with 1,000 components, if the memory were there."
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--one", choices=[*MANIFOLDS, AUTO], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.samples)))
        return
    print(f"{ROWS:,} × {FEATURES:,} features, {CLASSES:,} classes, {options.samples:,} samples to λ:\n")
    print(
        "| manifold | fit, s | samples and λ, s | both, CPU s | peak memory, GiB | before | λ | ± sampling |"
    )
    print(f"|{' --- |' * 8}")
    for name in (*MANIFOLDS, AUTO):
        command = [sys.executable, __file__, "--one", name, "--samples", str(options.samples)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"| {found['name']} | {found['fit']:.1f} | {found['sample']:.1f} | {found['cpu']:.1f} | "
            f"{found['peak']:.2f} | {found['before']:.2f} | {found['value']:.4f} | {found['error']:.5f} |",
            flush=True,
        )
    why_not_em()


if __name__ == "__main__":
    main()
