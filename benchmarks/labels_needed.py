"""How far below the truth each bound lies at equal labels, on two published networks: the table of the docs.

    python benchmarks/labels_needed.py [folder of outputs] [draws]

The folder holds cifar10_vgg16.npz and cifar100_densenet-bc-100.npz (`probs`, `labels`). 1,000 labelled rows
calibrate λ(x), another 1,000 recalibrate it (isotonic regression), the 8,000 others are the operation, whose accuracy
is the truth. Of these, n labels are drawn anew for every draw: at random, or in 6 strata of the recalibrated level.
gap: mean of truth − bound. ratio: gap over that of Clopper–Pearson. labels: about how many times fewer labels
give the same gap, 1/ratio². miss: share of draws whose bound exceeds the truth; nominal 0.05.
"""

from __future__ import annotations

import sys
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

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "outputs"
FILES = ("cifar10_vgg16", "cifar100_densenet-bc-100")


def levels(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the operation: right or wrong, λ(x), recalibrated λ(x)."""
    with np.load(path) as npz:
        p, y = npz["probs"], npz["labels"]
    order = np.random.default_rng(0).permutation(len(y))
    cal, held_out, ops = (
        Outputs.from_probabilities(p[r], labels=y[r]) for r in np.split(order, [1000, 2000])
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
            draws=999,
            seed=seed,
        )
    return {name: bound.value for name, bound in found.items()}


def main(folder: Path = FOLDER, draws: int = 300) -> None:
    """Print one table for each network and number of labels."""
    for file in FILES:
        correct, raw, level = levels(folder / f"{file}.npz")
        parts = strata(level)
        truth = correct.mean()
        print(f"\n{file}: accuracy {truth:.4f}, {len(parts.weights)} strata, {draws} draws")
        for n in (150, 300, 1000):
            table = [one_draw(correct, raw, level, parts, n, seed) for seed in range(draws)]
            print(f"\n{f'n = {n}':44}     gap   ratio   labels    miss")
            base = truth - np.mean([row["clopper_pearson"] for row in table])
            for name in table[0]:
                values = np.array([row[name] for row in table])
                ratio = (truth - values.mean()) / base
                verdict = "" if ratio < 1 or name == "clopper_pearson" else "  wider than Clopper–Pearson"
                print(
                    f"{name:44} {truth - values.mean():7.4f} {ratio:7.2f} {1 / ratio**2:8.1f} "
                    f"{(values > truth).mean():7.3f}{verdict}"
                )


if __name__ == "__main__":
    main(*(convert(text) for convert, text in zip((Path, int), sys.argv[1:], strict=False)))
