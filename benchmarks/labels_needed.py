"""How far below the truth each bound lies at equal labels, on real networks: the table of docs/few-labels.md.

    python benchmarks/labels_needed.py [--outputs ../shared/data/outputs] [--study DIR] [--draws 100]

The first folder holds what two published networks said, cifar10_vgg16.npz and cifar100_densenet-bc-100.npz (`probs`,
`labels`). --study: what the networks of `infimum reproduce` said on their test sets, DIR/<data set>-<level>/test.npz
(`logits`, `labels`). A tenth of the rows calibrates λ(x), another tenth recalibrates it (isotonic regression), the
rest is the operation, whose accuracy is the truth. Of these, n labels are drawn anew for every draw: at random, or in
6 strata of the recalibrated level; n is at most a third of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.isotonic import IsotonicRegression

from infimum import Outputs
from infimum.bounds import (
    Strata,
    allocate,
    betting,
    clopper_pearson,
    prediction_powered,
    strata,
    stratified,
)
from infimum.conformal import calibrate

OUTPUTS = Path(__file__).parents[2] / "shared" / "data" / "outputs"
PUBLISHED = {"CIFAR-10 VGG-16": "cifar10_vgg16", "CIFAR-100 DenseNet": "cifar100_densenet-bc-100"}
LABELLED = (150, 300, 1000)
BOOTSTRAP = 199
"""Draws of the parametric bootstrap, fewer than its default of 2,000: as valid, but less smooth."""
SHORT = {
    "clopper_pearson": "Clopper–Pearson: gap / miss",
    "betting": "betting",
    "prediction_powered asymptotic, λ(x)": "≈ PPI++ λ(x)",
    "prediction_powered asymptotic, recalibrated": "≈ PPI++ recal.",
    "prediction_powered betting, λ(x)": "PPI betting λ(x)",
    "prediction_powered betting, recalibrated": "PPI betting recal.",
    "stratified bootstrap": "≈ strat. bootstrap",
    "stratified signed_root": "≈ strat. signed root",
    "stratified e_process": "strat. e-process",
    "stratified bonferroni": "strat. Bonferroni",
}


def published(folder: Path) -> Iterator[tuple[str, Outputs]]:
    """Name and outputs of the published networks; says how to get them where they are not."""
    for name, file in PUBLISHED.items():
        path = folder / f"{file}.npz"
        if not path.is_file():
            raise SystemExit(
                f"{path} is missing: it holds the test outputs (`probs`, `labels`) of a published network, which are "
                "not part of the repository. Give the folder that holds them with --outputs."
            )
        with np.load(path) as npz:
            yield name, Outputs.from_probabilities(npz["probs"], labels=npz["labels"])


def of_study(folder: Path) -> Iterator[tuple[str, Outputs]]:
    """Name and test outputs of the networks that the study trained."""
    paths = sorted(folder.glob("*/test.npz"))
    if not paths:
        raise SystemExit(
            f"{folder} holds no <data set>-<level>/test.npz: give the folder of the study's networks"
        )
    for path in paths:
        with np.load(path) as npz:
            yield path.parent.name, Outputs(logits=npz["logits"], labels=npz["labels"])


def levels(outputs: Outputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the operation: right or wrong, λ(x), recalibrated λ(x)."""
    z, y, tenth = outputs.logits, outputs.known_labels, len(outputs) // 10
    order = np.random.default_rng(0).permutation(len(y))
    cal, held_out, ops = (
        Outputs(logits=z[rows], labels=y[rows]) for rows in np.split(order, [tenth, 2 * tenth])
    )
    conformal = calibrate(cal.logits, cal.known_labels)
    level = conformal.success_levels(ops.logits)
    curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    curve.fit(conformal.success_levels(held_out.logits), held_out.correct)
    return ops.correct, level, curve.predict(level)


def one_draw(
    correct: np.ndarray, raw: np.ndarray, level: np.ndarray, parts: Strata, n: int, seed: int
) -> dict[str, float]:
    """Every bound, from one random and one stratified sample of n labels."""
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(len(correct))
    labelled, rest = order[:n], order[n:]
    right = correct[labelled]
    found = {"clopper_pearson": clopper_pearson(right), "betting": betting(right)}
    for name, g in (("λ(x)", raw), ("recalibrated", level)):
        for method in ("asymptotic", "betting"):
            bound = prediction_powered(right, g[labelled], g[rest], method=method)
            found[f"prediction_powered {method}, {name}"] = bound
    part = parts.assign(level)
    sizes = allocate(n, parts.weights, parts.levels, available=np.bincount(part))
    rows = np.concatenate([order[part[order] == s][:size] for s, size in enumerate(sizes)])
    for method in ("bootstrap", "signed_root", "e_process", "bonferroni"):
        found[f"stratified {method}"] = stratified(
            correct[rows],
            part[rows],
            parts.weights,
            method=method,
            levels=parts.levels,
            draws=BOOTSTRAP,
            seed=seed,
        )
    return {name: bound.value for name, bound in found.items()}


def networks(outputs: Path, study: Path | None) -> Iterator[tuple[str, Outputs]]:
    """All networks of the table."""
    yield from published(outputs)
    if study is not None:
        yield from of_study(study)


def main() -> None:
    """Print the table, a row as soon as it is there, and then how each method did over all rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="folder of the published outputs")
    parser.add_argument("--study", type=Path, help="folder of the study's networks")
    parser.add_argument("--draws", type=int, default=100, help="samples of labels for each row (100)")
    options = parser.parse_args()
    print("| network | accuracy | operation | n | " + " | ".join(SHORT.values()) + " |")
    print("| --- " * (4 + len(SHORT)) + "|")
    table = []
    for network, outputs in networks(options.outputs, options.study):
        for row, gaps, missed in rows(network, outputs, options.draws):
            print(row, flush=True)
            table.append((gaps / gaps[0], missed))
    print(summary(table))


def rows(network: str, outputs: Outputs, draws: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """For every n: the row of the table, and the mean gap and share of misses of each method."""
    correct, raw, level = levels(outputs)
    parts, truth = strata(level), correct.mean()
    for n in (n for n in LABELLED if n <= len(correct) / 3):
        drawn = [one_draw(correct, raw, level, parts, n, seed) for seed in range(draws)]
        bounds = np.array([[row[name] for name in SHORT] for row in drawn])
        gaps, missed = truth - bounds.mean(axis=0), (bounds > truth).mean(axis=0)
        cells = [f"{gaps[0]:.4f} / {100 * missed[0]:.1f}"]
        cells += [f"{g / gaps[0]:.2f} / {100 * m:.1f}" for g, m in zip(gaps[1:], missed[1:], strict=True)]
        yield f"| {network} | {truth:.4f} | {len(correct)} | {n} | " + " | ".join(cells) + " |", gaps, missed


def summary(table: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """Each method over all rows."""
    ratios, misses = (np.array(column) for column in zip(*table, strict=True))
    lines = [
        "\n| method | median ratio | from | to | fewer labels, median | narrower in | misses %, all rows |"
    ]
    lines.append("| --- " * 7 + "|")
    for name, r, m in zip(SHORT.values(), ratios.T, misses.T, strict=True):
        lines.append(
            f"| {name.split(':')[0]} | {np.median(r):.2f} | {r.min():.2f} | {r.max():.2f} | "
            f"{np.median(1 / r**2):.1f} | {(r < 1).sum()} of {len(r)} | {100 * m.mean():.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
