"""The study's pictures, one panel per network: rows are data sets, columns best, avg and worst."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infimum.errors import MissingExtraError
from infimum.io.replacing import replace_file
from infimum.study.tables import TITLES

Found = dict[tuple[str, str], dict[str, list[dict[str, Any]]]]
"""By (data set, level): the repetitions of each mode."""

BLUE, ORANGE, GREEN, GREY = "#3b6ea8", "#c8641e", "#3d8b53", "#888888"


def draw(found: Found, mode: str, folder: Path) -> list[Path]:
    """Write convergence, positions, histogram and reliability of one mode as PNG; returns the paths."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("The study's pictures", "plots") from error
    pictures: dict[str, tuple[Callable[[Any, list[dict[str, Any]]], None], str, str]] = {
        "convergence": (_convergence, "samples", "λ"),
        "positions": (_positions, "position of the true label", "mean λ(x)"),
        "histogram": (_histogram, "success level λ(x)", "inputs per bin (log)"),
        "reliability": (_reliability, "mean λ(x) in the bin", "accuracy"),
    }
    datasets = list(dict.fromkeys(key[0] for key in found))
    levels = list(dict.fromkeys(key[1] for key in found))
    written = []
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        for name, (panel, x_title, y_title) in pictures.items():
            figure = Figure(figsize=(3.1 * len(levels), 2.2 * len(datasets)), layout="constrained")
            axes = figure.subplots(len(datasets), len(levels), squeeze=False)
            for (dataset, level), modes in found.items():
                ax = axes[datasets.index(dataset)][levels.index(level)]
                panel(ax, modes[mode])
                ax.set_title(f"{TITLES[dataset]} {level}", fontsize=9)
            for ax in axes[-1]:
                ax.set_xlabel(x_title)
            for line in axes:
                line[0].set_ylabel(y_title)
            handles, labels = axes[0][0].get_legend_handles_labels()
            figure.legend(
                handles,
                labels,
                loc="outside lower center",
                ncols=len(levels) + (len(levels) > 1),
                frameon=False,
            )
            path = folder / f"{name}-{mode}.png"
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph")  # a font without ✓ still draws the rest
                replace_file(path, lambda file, figure=figure: figure.savefig(file, dpi=110, format="png"))  # type: ignore[misc]
            written.append(path)
    return written


def _convergence(ax: Any, repetitions: list[dict[str, Any]]) -> None:
    """Mean of λ over the repetitions, and ± 1.96 of its standard deviation over them."""
    length = min(len(r["history"]) for r in repetitions)
    samples = np.array([point[0] for point in repetitions[0]["history"][:length]])
    values = np.array([[point[1] for point in r["history"][:length]] for r in repetitions])
    mean = values.mean(axis=0)
    ax.plot(samples, mean, color=BLUE, lw=1.2, label="λ on samples (mean)")
    if len(values) > 1:
        spread = 1.96 * values.std(axis=0, ddof=1)
        ax.fill_between(
            samples,
            mean - spread,
            mean + spread,
            color=BLUE,
            alpha=0.2,
            lw=0,
            label="95 % band over repetitions",
        )
    for name, colour, label in (
        ("lambda_operation", ORANGE, "λ on D_eval"),
        ("success", GREEN, "λ* (accuracy)"),
    ):
        ax.axhline(
            np.mean([r["figures"][name] for r in repetitions]), color=colour, lw=1, ls="--", label=label
        )
    ax.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))


def _positions(ax: Any, repetitions: list[dict[str, Any]]) -> None:
    """Mean success level by position, over all repetitions, with the number of inputs."""
    total: dict[int, float] = {}
    count: dict[int, int] = {}
    for r in repetitions:
        for one in r["by_position"]:
            p = int(one["position"])
            total[p] = total.get(p, 0.0) + one["mean"] * one["n"]
            count[p] = count.get(p, 0) + one["n"]
    places = sorted(count)
    ax.bar(
        places,
        [total[p] / count[p] for p in places],
        color=BLUE,
        label="mean λ(x); above: inputs per repetition",
    )
    for p in places:
        ax.text(
            p, total[p] / count[p], f"{count[p] / len(repetitions):.0f}", ha="center", va="bottom", fontsize=6
        )
    ax.set_ylim(0, 1.1)
    ax.set_xticks(places)


def _histogram(ax: Any, repetitions: list[dict[str, Any]]) -> None:
    """Success levels of correct and incorrect predictions, mean number per repetition."""
    for kind, colour in (("correct", GREEN), ("incorrect", ORANGE)):
        counts = np.mean([r["histogram"][kind] for r in repetitions], axis=0)
        ax.stairs(counts, np.linspace(0, 1, len(counts) + 1), color=colour, fill=True, alpha=0.5, label=kind)
    ax.set_yscale("symlog", linthresh=1)


def _reliability(ax: Any, repetitions: list[dict[str, Any]]) -> None:
    """Accuracy against mean λ(x) per bin of the first repetition, with 95 % Wilson intervals."""
    bins = repetitions[0]["reliability"]
    level = np.array([b["level"] for b in bins])
    n, k = np.array([b["n"] for b in bins]), np.array([b["correct"] for b in bins])
    share, z = k / n, 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", label="accuracy = λ(x)")
    around = np.maximum(0.0, np.stack([share - (middle - half), (middle + half) - share]))
    ax.errorbar(level, share, yerr=around, fmt="o-", ms=3, lw=1, color=BLUE, label="accuracy, 95 % interval")
    low = max(0.0, min(level.min(), (middle - half).min()) - 0.02)
    ax.set_xlim(low, 1.01)
    ax.set_ylim(low, 1.01)
