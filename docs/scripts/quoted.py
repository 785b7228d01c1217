"""The figures that pages quote from the study (docs/paper/table.json): computed, written into the pages, checked.

A quoted figure stands before a mark that names it: `0.0865<!-- excess -->`.
The chart of what-lambda-is.md is drawn here.

    python docs/scripts/quoted.py          (writes the figures and the chart)
    python docs/scripts/quoted.py check    (exit code 1 where a page or the chart says something else)
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from infimum.study.published import TABLE_I

DOCS = Path(__file__).parents[1]
PAGES = ("index.md", "what-lambda-is.md", "faq.md", "comparison.md")
CHART = DOCS / "images" / "lambda-and-accuracy.svg"
QUOTED = re.compile(r"([\w.,−%/]+)<!-- ([a-z_]+) -->")
NAMES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10", "ham10000": "HAM10000"}


def rows(mode: str) -> list[dict[str, Any]]:
    """The networks of one mode of the study."""
    found = json.loads((DOCS / "paper" / "table.json").read_text(encoding="utf-8"))["networks"]
    return [row for row in found if row["mode"] == mode]


def mean_error(found: list[dict[str, Any]], key: str) -> str:
    """Mean absolute difference from λ*."""
    return f"{sum(abs(r[key] - r['success']) for r in found) / len(found):.4f}"


def figures() -> dict[str, str]:
    """Every figure that a page may quote, by name."""
    ours, papers = rows("recommended"), rows("fidelity")
    excess = {f"{NAMES[r['dataset']]} {r['level']}": r["lambda_operation"] - r["success"] for r in ours}
    return {
        "networks": str(len(ours)),
        "published_below": str(sum(row.lambda_ <= row.success for row in TABLE_I.values())),
        "fidelity_below": str(sum(r["lambda_sampled"] <= r["success"] for r in papers)),
        "recommended_below": str(sum(r["lambda_sampled"] <= r["success"] for r in ours)),
        "real_below": str(sum(r["lambda_operation"] <= r["success"] for r in ours)),
        "excess_least": f"{min(excess.values()):.4f}",
        "excess_most": f"{max(excess.values()):.4f}",
        "ordered": str(sum(r["success_level_correct"] > r["success_level_incorrect"] for r in ours)),
        "binomial_below": str(sum(r["clopper_pearson"] <= r["success"] for r in ours)),
        "binomial_gap": mean_error(ours, "clopper_pearson"),
        "marginal_gap": mean_error(ours, "marginal_conformal"),
        "real_error": mean_error(ours, "lambda_operation"),
        "samples_error": mean_error(ours, "lambda_sampled"),
        "confidence_error": mean_error(ours, "average_confidence"),
        "recalibrated_error": mean_error(ours, "recalibrated"),
    }


def with_figures(text: str) -> str:
    """A page with every marked figure as it is now; KeyError for a name that nothing computes."""
    known = figures()
    return QUOTED.sub(lambda m: f"{known[m[2]]}<!-- {m[2]} -->", text)


def chart() -> str:
    """λ of both modes, the certified bound and λ* of every network, as SVG."""
    ours, papers = rows("recommended"), rows("fidelity")
    left, width, step, top = 150, 560, 26, 64
    height = top + step * len(ours) + 34

    def x(value: float) -> float:
        return round(left + (value - 0.5) / 0.5 * width, 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif" '
        'font-size="13" fill="#222" role="img"><title>λ, accuracy and certified bound of twelve networks</title>',
        f'<rect width="{left + width + 30}" height="{height}" fill="#fff"/>',
    ]
    legend = (
        ("bar", "at least (Clopper–Pearson, 95 %)"),
        ("tick", "λ*, accuracy"),
        ("dot", "λ, real inputs"),
        ("ring", "λ, the paper's way"),
    )
    for (kind, words), at in zip(legend, (20, 258, 372, 500), strict=True):
        out += [_mark(kind, at + 6, 24), f'<text x="{at + 18}" y="29">{words}</text>']
    for tenth in range(5, 11):
        at = x(tenth / 10)
        out.append(f'<line x1="{at}" x2="{at}" y1="{top - 14}" y2="{height - 30}" stroke="#ddd"/>')
        out.append(f'<text x="{at}" y="{height - 12}" text-anchor="middle">{tenth / 10:.1f}</text>')
    for i, (r, p) in enumerate(zip(ours, papers, strict=True)):
        y = top + step * i
        out.append(
            f'<text x="{left - 14}" y="{y + 5}" text-anchor="end">{NAMES[r["dataset"]]} {r["level"]}</text>'
        )
        out.append(
            f'<line x1="{left}" x2="{x(r["clopper_pearson"])}" y1="{y}" y2="{y}" stroke="#7fb3ad" stroke-width="7"/>'
        )
        out.append(_mark("tick", x(r["success"]), y))
        out.append(_mark("ring", x(p["lambda_sampled"]), y))
        out.append(_mark("dot", x(r["lambda_operation"]), y))
    return "\n".join([*out, "</svg>\n"])


def _mark(kind: str, x: float, y: float) -> str:
    return {
        "bar": f'<rect x="{x - 8}" y="{y - 3.5}" width="16" height="7" fill="#7fb3ad"/>',
        "tick": f'<rect x="{x - 1.5}" y="{y - 9}" width="3" height="18" fill="#111"/>',
        "dot": f'<circle cx="{x}" cy="{y}" r="5" fill="#c2410c"/>',
        "ring": f'<circle cx="{x}" cy="{y}" r="5" fill="none" stroke="#1d4ed8" stroke-width="2"/>',
    }[kind]


def main(check: bool) -> int:
    """Write, or say what differs."""
    made = {DOCS / name: with_figures((DOCS / name).read_text(encoding="utf-8")) for name in PAGES}
    made[CHART] = chart()
    stale = [
        path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if check:
            print(f"{path.relative_to(DOCS)} is not what table.json says: run python docs/scripts/quoted.py")
        else:
            path.write_text(made[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["check"]))
