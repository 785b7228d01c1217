"""The study's results page: tables, pictures, and answers in words whose every figure comes from the run."""

from __future__ import annotations

from typing import Any

from infimum.study.differences import DIFFERENCES
from infimum.study.explaining import FROM_CLASSES, FROM_MEANS, REAL
from infimum.study.metrics import order_kept
from infimum.study.published import TABLE_I
from infimum.study.tables import TITLES, beside_markdown, markdown, number

Rows = list[dict[str, Any]]
Explained = dict[str, dict[tuple[str, str], Rows]]

MODE_TITLES = {
    "fidelity": "Fidelity mode: the paper to the letter",
    "recommended": "Recommended mode: infimum's defaults",
}


def page(rows: Rows, found: Any, explained: Explained, provenance: dict[str, Any]) -> str:
    """README.md of the study's folder."""
    count = len({(r["dataset"], r["level"]) for r in rows})
    repetitions = rows[0]["repetitions"]
    parts = [
        "# The paper's study, run again",
        f"*Quantifying Lower Reliability Bounds of Deep Neural Networks* (Scheerer, Take, Klamroth) evaluates its "
        f"method on four data sets with three networks each. This page holds {count} of the twelve networks, "
        f"each {'trained anew' if provenance['retrain'] else 'trained once'} and measured with {repetitions} "
        f"repetitions. It is written by `infimum reproduce` (seed {provenance['seed']}, {provenance['date']}, "
        f"infimum {provenance['infimum']}, torch {provenance['torch']}, scikit-learn {provenance['scikit-learn']}, "
        f"numpy {provenance['numpy']}, Python {provenance['python']}): "
        f"{provenance['training_seconds'] / 60:.0f} minutes of training and {provenance['other_seconds'] / 60:.0f} of "
        f"everything else, at most {provenance['peak_gib']:.1f} GiB of memory. "
        "[table.json](table.json) holds every figure with its standard deviation.",
    ]
    if provenance["quick"]:
        parts.append("**A quick run on a tenth of the images: its figures are those of smaller networks.**")
    parts += ["## The answers, in short", _answers(rows), "## Table I"]
    parts.append(
        "In bold our figure, the mean over the repetitions; behind it, small, the published one. λ is the mean "
        "success level of samples from the feature space, λ* the accuracy on D_eval, Success the mean success "
        "level of D_eval (✓ of the correct predictions, ✗ of the incorrect ones), Position ✗ the mean position "
        "of the true label among the incorrect ones (0 is the top), Pearson the correlation of success level and "
        "position."
    )
    for mode, title in MODE_TITLES.items():
        parts += [f"### {title}", markdown(rows, mode).rstrip()]
    parts += ["## What stands beside λ", _beside_text(rows), beside_markdown(rows, "recommended").rstrip()]
    if explained["manifolds"]:
        parts += [
            "## Why λ ≤ λ* for the authors' MNIST networks only",
            _why(explained["manifolds"], rows, found),
        ]
    parts += ["## Convergence, positions, levels, reliability", _pictures()]
    if explained["region_maps"]:
        parts += ["## Region maps", _region_maps(explained["region_maps"])]
    parts += ["## How this run differs from the paper", "\n".join(f"- {line}" for line in DIFFERENCES)]
    return "\n\n".join(parts) + "\n"


def _of(rows: Rows, mode: str) -> Rows:
    return [r for r in rows if r["mode"] == mode]


def _below(rows: Rows, figure: str) -> int:
    return sum(r[figure] <= r["success"] for r in rows)


def _answers(rows: Rows) -> str:
    fidelity, recommended = _of(rows, "fidelity"), _of(rows, "recommended")
    n = len(fidelity)
    published = sum(one.lambda_ <= one.success for one in TABLE_I.values())
    worst = max(recommended, key=lambda r: r["lambda_operation"] - r["success"])
    largest = worst["lambda_operation"] - worst["success"]

    def mean_gap(figure: str) -> str:
        return number(sum(abs(r[figure] - r["success"]) for r in recommended) / n)

    lines = [
        f"- **Is λ a lower bound?** No. λ on samples lies at or below λ* for {_below(fidelity, 'lambda_sampled')} of "
        f"{n} networks in fidelity mode and {_below(recommended, 'lambda_sampled')} of {n} in recommended mode "
        f"(published: {published} of 12); λ on real inputs for {_below(fidelity, 'lambda_operation')} and "
        f"{_below(recommended, 'lambda_operation')} of {n}. The "
        f"largest excess on real inputs is {number(largest)} ({TITLES[worst['dataset']]} {worst['level']}).",
        f"- **Does the ranking hold?** {_ranking(rows)}",
        f"- **What should one use instead, and when?** To claim a reliability: a certified bound. On the "
        f"same calibration labels Clopper–Pearson at 95 % lies below "
        f"λ* for {_below(recommended, 'clopper_pearson')} of {n} networks (mean over repetitions) and misses it by "
        f"{mean_gap('clopper_pearson')} on average; the marginal conformal bound is far looser with this score "
        f"({mean_gap('marginal_conformal')}). To *estimate* the reliability where inputs have no labels: average "
        f"confidence after temperature scaling is off by {mean_gap('average_confidence')} on average, recalibrated "
        f"λ by {mean_gap('recalibrated')}, λ on real inputs by {mean_gap('lambda_operation')}, λ on samples by "
        f"{mean_gap('lambda_sampled')}. λ(x) itself is of use to *order* inputs: correct predictions have higher "
        f"levels than incorrect ones for {_separates(recommended)} of {n} networks.",
    ]
    return "\n".join(lines)


def _separates(rows: Rows) -> int:
    return sum(
        r["success_level_incorrect"] is None or r["success_level_correct"] > r["success_level_incorrect"]
        for r in rows
    )


def _ranking(rows: Rows) -> str:
    """M2 by λ on samples, and by the mean squared error, for ours and the published table."""

    def kept(values: dict[tuple[str, str], tuple[float, float]], datasets: list[str]) -> str:
        good = []
        for dataset in datasets:
            pairs = [pair for key, pair in values.items() if key[0] == dataset]
            good.append(order_kept([p[0] for p in pairs], [p[1] for p in pairs]))
        return f"{sum(good)} of {len(good)}"

    said = []
    for mode in MODE_TITLES:
        ours = {(r["dataset"], r["level"]): r for r in _of(rows, mode)}
        datasets = list(dict.fromkeys(key[0] for key in ours))
        by_lambda = kept({k: (r["lambda_sampled"], r["success"]) for k, r in ours.items()}, datasets)
        by_error = kept({k: (r["lambda_sampled"], -r["mse"]) for k, r in ours.items()}, datasets)
        said.append(
            f"In {mode} mode λ orders the networks as λ* does on {by_lambda} data sets (as MSE: {by_error})"
        )
    published = {k: (p.lambda_, p.success) for k, p in TABLE_I.items()}
    errors = {k: (p.lambda_, -p.mse) for k, p in TABLE_I.items()}
    names = list(dict.fromkeys(key[0] for key in TABLE_I))
    return (
        ". ".join(said)
        + f". The paper says that all ranks were preserved; its own table keeps {kept(published, names)} "
        f"(as MSE: {kept(errors, names)}): λ puts MNIST avg above MNIST best."
    )


def _beside_text(rows: Rows) -> str:
    return (
        "Mean ± standard deviation over the repetitions, recommended mode. Clopper–Pearson uses D_cal's labels alone. "
        "The marginal conformal bound needs D_cal and the unlabelled D_eval. Both hold with 95 % confidence. Average "
        "confidence and recalibrated λ are estimates: temperature and isotonic regression are fitted on D_tun."
    )


def _why(tables: dict[tuple[str, str], Rows], rows: Rows, found: Any) -> str:
    truth = {(r["dataset"], r["level"]): r["success"] for r in _of(rows, "fidelity")}
    lines = [
        "Two things pull λ down. A mixture whose EM gets the class means alone takes its first covariances and "
        "weights from a k-means of its own, whose clusters are numbered otherwise: components die or take in "
        "several classes, and samples fall between the classes, where the network is unsure. And error levels in "
        "steps of 0.01 cap every level at .99, below the accuracy of a good MNIST network. The calibration is the "
        "same in all rows; only what is averaged over differs.",
        "",
        "| network | averaged over | λ, steps of 0.01 | λ, exact | λ* | features whose component is their "
        "predicted class's | largest three weights |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key, table in tables.items():
        for one in table:
            agreement = "" if one.get("agreement") is None else f"{one['agreement']:.1%}"
            weights = one.get("largest_weights")
            largest = "" if weights is None else ", ".join(number(w, 2) for w in weights[:3])
            lines.append(
                f"| {TITLES[key[0]]} {key[1]} | {one['manifold']} | {number(one['lambda'])} | "
                f"{number(one['lambda_exact'])} | {number(truth[key])} | {agreement} | {largest} |"
            )
    said = []
    for key, table in tables.items():
        at = {one["manifold"]: one for one in table}
        alone, proper, real = at[FROM_MEANS], at[FROM_CLASSES], at[REAL]
        said.append(
            f"On {TITLES[key[0]]} {key[1]} the collapsed mixture costs "
            f"{number(proper['lambda'] - alone['lambda'])} of λ against the one that starts properly, the steps "
            f"{number(real['lambda_exact'] - real['lambda'])} on real inputs; without both λ is "
            f"{number(proper['lambda_exact'])}, {'above' if proper['lambda_exact'] > truth[key] else 'not above'} "
            f"λ* {number(truth[key])}."
        )
    below = [
        f"{TITLES[r['dataset']]} {r['level']}"
        for r in _of(rows, "fidelity")
        if r["lambda_sampled"] <= r["success"]
    ]
    collapsed = sum(modes["fidelity"][0]["manifold"]["collapsed"] for modes in found.values())
    said.append(
        f"In this run the mixture from means alone collapses for {collapsed} of {len(found)} networks, and λ in "
        f"fidelity mode lies at or below λ* for {', '.join(below) or 'none'}: by accident of the fit, not as a bound."
    )
    return "\n".join([*lines, "", " ".join(said)])


def _pictures() -> str:
    captions = {
        "convergence": (
            "fidelity",
            "how λ converges with the number of samples, and the 95 % band over the repetitions",
        ),
        "positions": ("recommended", "mean success level by the position of the true label (0: correct)"),
        "histogram": ("recommended", "success levels of correct and incorrect predictions"),
        "reliability": ("recommended", "accuracy against λ(x), in bins that are finer where λ(x) is low"),
    }
    return "\n\n".join(
        f"![{text}](figures/{name}-{mode}.png)\n\n*{text[0].upper()}{text[1:]}; {mode} mode.*"
        for name, (mode, text) in captions.items()
    )


def _region_maps(tables: dict[tuple[str, str], Rows]) -> str:
    lines = [
        "A regression tree and the mean of the 10 nearest neighbours, fitted to 20,000 samples of the paper's "
        "mixture and their success levels (`infimum.monitor.RegionMap`), judged on D_eval: the mean level they "
        "estimate for correct and incorrect predictions, how far they are from λ(x), and the time per input.",
        "",
        "| network | map | correct | incorrect | mean difference from λ(x) | correlation with λ(x) | µs per input |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (dataset, level), found in tables.items():
        for one in found:
            lines.append(
                f"| {TITLES[dataset]} {level} | {one['map']} | {number(one['correct'])} | {number(one['incorrect'])} | "
                f"{number(one['mean_difference'])} | {number(one['correlation'])} | {one['microseconds']:.1f} |"
            )
    return "\n".join(lines)
