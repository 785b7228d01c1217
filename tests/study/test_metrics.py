"""M1–M4, the tables, and the authors' mixture."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from infimum.manifold import fit_gmm
from infimum.study import tables
from infimum.study.authors_mixture import fit_from_means
from infimum.study.metrics import by_position, mean_squared_error, order_kept, pearson, reliability
from infimum.study.published import TABLE_I


def test_mean_squared_error_is_the_brier_score_per_class() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(200, 4)), rng.integers(0, 4, 200)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = np.mean([brier_score_loss(labels == k, p[:, k]) for k in range(4)])
    assert mean_squared_error(logits, labels) == pytest.approx(expected, rel=1e-12)


def test_pearson_of_what_does_not_vary_is_nan() -> None:
    assert np.isnan(pearson(np.ones(5), np.arange(5))).all()


def test_positions_and_bins_lose_no_input() -> None:
    rng = np.random.default_rng(0)
    levels, correct = rng.integers(0, 40, 1000) / 40, rng.random(1000) < 0.8
    bins = reliability(levels, correct)
    assert sum(b["n"] for b in bins) == 1000
    assert sum(b["correct"] for b in bins) == correct.sum()
    places = by_position(levels, rng.integers(0, 3, 1000))
    assert sum(p["n"] * p["mean"] for p in places) == pytest.approx(levels.sum())


def test_published_table_keeps_three_of_four_orders() -> None:
    """docs/method.md §6: λ itself puts MNIST avg above best."""
    kept = []
    for dataset in tables.TITLES:
        rows = [TABLE_I[dataset, level] for level in ("best", "avg", "worst")]
        kept.append(order_kept([r.lambda_ for r in rows], [r.success for r in rows]))
    assert sum(kept) == 3
    assert sum(r.lambda_ <= r.success for r in TABLE_I.values()) == 3


def test_row_is_the_mean_over_repetitions() -> None:
    figures = dict.fromkeys(tables.FIGURES, 0.5)
    two = [{"figures": {**figures, "success": s}, "n_calibration": 100} for s in (0.8, 0.9)]
    row = tables.row("mnist", "best", "fidelity", two)
    assert row["success"] == pytest.approx(0.85)
    assert row["success_sd"] == pytest.approx(0.0707, abs=1e-4)
    assert tables.row("mnist", "best", "fidelity", two[:1])["success_sd"] is None
    assert "**.8500** <sub>.9908</sub>" in tables.markdown([row], "fidelity")
    assert r"$.8500$" in tables.latex([row])


def test_means_alone_collapse_where_classes_are_of_different_width() -> None:
    """The study's reason for λ ≤ λ*: k-means numbers its clusters otherwise than the classes."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 150)
    x = np.maximum(0, rng.normal(size=(1200, 20)) + 2 * rng.normal(size=(8, 20))[labels])
    alone, proper = fit_from_means(x, labels), fit_gmm(x, labels)
    assert proper.fit.agreement is not None
    assert alone.fit.agreement is not None
    assert proper.fit.agreement > 0.95
    assert alone.fit.agreement < proper.fit.agreement - 0.2
