"""Table I of the study: means and standard deviations over repetitions, as JSON, Markdown and LaTeX."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import Any

from infimum.study.published import TABLE_I

SCHEMA = "infimum/study/1"

FIGURES = (
    "lambda_sampled",
    "lambda_operation",
    "success",
    "mse",
    "success_level",
    "success_level_correct",
    "success_level_incorrect",
    "position_incorrect",
    "pearson",
    "pearson_p",
    "clopper_pearson",
    "marginal_conformal",
    "average_confidence",
    "recalibrated",
)

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10", "ham10000": "HAM10000"}

PAPER_COLUMNS = (
    ("lambda_sampled", "lambda_", "λ", r"$\lambda$"),
    ("success", "success", "λ*", r"$\lambda^*$"),
    ("mse", "mse", "MSE", "MSE"),
    ("success_level", "success_level", "Success", "Success"),
    ("success_level_correct", "success_level_correct", "Success ✓", r"Success $\checkmark$"),
    ("success_level_incorrect", "success_level_incorrect", "Success ✗", r"Success $\times$"),
    ("position_incorrect", "position_incorrect", "Position ✗", r"Position $\times$"),
    ("pearson", "pearson", "Pearson", "Pearson"),
)
"""Our name, the published row's name, and the title in Markdown and LaTeX."""


def row(dataset: str, level: str, mode: str, repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    """One network in one mode: the mean of each figure over its repetitions, and `_sd` (None of a single one)."""
    made: dict[str, Any] = {"dataset": dataset, "level": level, "mode": mode}
    for name in FIGURES:
        values = [r["figures"][name] for r in repetitions if r["figures"][name] is not None]
        made[name] = fmean(values) if values else None
        made[f"{name}_sd"] = stdev(values) if len(values) > 1 else None
    made["n_calibration"] = repetitions[0]["n_calibration"]
    made["repetitions"] = len(repetitions)
    return made


def number(value: float | None, digits: int = 4) -> str:
    """A figure without its leading zero, as the paper prints it; a dash where there is none.

    >>> number(0.98765), number(-0.4), number(None), number(1.0), number(2.345, 1)
    ('.9877', '−.4000', '–', '1.0000', '2.3')
    """
    if value is None or math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    return ("−" if value < 0 and float(f"{value:.{digits}f}") != 0 else "") + text


def markdown(rows: list[dict[str, Any]], mode: str) -> str:
    """The paper's layout with the published figure behind each of ours, in small type."""
    head = ["network", *(title for _, _, title, _ in PAPER_COLUMNS)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for one in rows:
        if one["mode"] != mode:
            continue
        published = TABLE_I[(one["dataset"], one["level"])]
        cells = [f"{TITLES[one['dataset']]} {one['level']}"]
        for name, paper, _, _ in PAPER_COLUMNS:
            digits = 1 if name == "position_incorrect" else 4
            cells.append(
                f"**{number(one[name], digits)}** <sub>{number(getattr(published, paper), digits)}</sub>"
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def beside_markdown(rows: list[dict[str, Any]], mode: str) -> str:
    """What stands beside λ: bounds that hold and two estimates, with λ and λ* for comparison."""
    columns = (
        ("success", "λ*"),
        ("lambda_sampled", "λ on samples"),
        ("lambda_operation", "λ on D_eval"),
        ("clopper_pearson", "Clopper–Pearson, 95 %"),
        ("marginal_conformal", "marginal conformal, 95 %"),
        ("average_confidence", "average confidence"),
        ("recalibrated", "recalibrated λ"),
    )
    lines = [
        f"| network | {' | '.join(title for _, title in columns)} |",
        f"|{' --- |' * (len(columns) + 1)}",
    ]
    for one in rows:
        if one["mode"] == mode:
            cells = [
                number(one[name]) + ("" if one[f"{name}_sd"] is None else f" ± {number(one[f'{name}_sd'])}")
                for name, _ in columns
            ]
            lines.append(f"| {TITLES[one['dataset']]} {one['level']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def latex(rows: list[dict[str, Any]]) -> str:
    """The paper's layout, ours above the published figures; needs the packages booktabs and amssymb."""
    lines = [
        r"% Made by infimum reproduce; needs \usepackage{booktabs,amssymb}",
        rf"\begin{{tabular}}{{ll{'r' * len(PAPER_COLUMNS)}}}",
        r"\toprule",
        "network & run & " + " & ".join(title for _, _, _, title in PAPER_COLUMNS) + r" \\",
        r"\midrule",
    ]

    def cells(values: list[tuple[float | None, int]]) -> str:
        return " & ".join(f"${number(v, d).replace('−', '-')}$".replace("$–$", "--") for v, d in values)

    for key, published in TABLE_I.items():
        ours = [one for one in rows if (one["dataset"], one["level"]) == key]
        digits = [1 if name == "position_incorrect" else 4 for name, *_ in PAPER_COLUMNS]
        for one in ours:
            values = [(one[name], d) for (name, *_), d in zip(PAPER_COLUMNS, digits, strict=True)]
            lines.append(f"{TITLES[key[0]]} {key[1]} & {one['mode']} & {cells(values)} \\\\")
        if ours:
            paper = [
                (getattr(published, p), d) for (_, p, _, _), d in zip(PAPER_COLUMNS, digits, strict=True)
            ]
            lines += [f"& published & {cells(paper)} \\\\", r"\addlinespace"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
