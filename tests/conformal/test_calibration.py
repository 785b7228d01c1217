"""Calibration: exact ranks, coverage by simulation, files, bad input."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError
from infimum.conformal import APS, LAC, RAPS, SAPS, Calibration, Margin, Score, TopK, calibrate
from infimum.io.content import checksum

SCORES = [LAC(), APS(), RAPS(0.01, 1), SAPS(0.2), TopK(), Margin()]


def sample(rng: np.random.Generator, n: int, n_classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels that follow another law than their softmax: coverage must not need a good network."""
    logits = rng.normal(size=(n, n_classes)) * 3
    return logits, (logits * 0.4 + rng.gumbel(size=logits.shape)).argmax(axis=1)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("score", SCORES, ids=lambda s: s.name)
def test_marginal_coverage(score: Score) -> None:
    """600 draws of calibration and one test input each, so the hits are Binomial(600, coverage) exactly.

    Coverage is at least 1 − ε; a count below the 1e-4 quantile of Binomial(600, 0.9) would be a chance of 1e-4.
    Randomised scores have no ties, so their coverage is at most 1 − ε + 1/(n+1), checked likewise.
    """
    hits, draws, n, error = 0, 600, 39, "0.1"
    for seed in range(draws):
        logits, labels = sample(np.random.default_rng([seed, 11]), n + 1)
        cal = calibrate(logits[:n], labels[:n], score=score, seed=seed)
        hits += bool(cal.prediction_sets(logits[n:], error)[0, labels[n]])
    assert hits >= binom.ppf(1e-4, draws, 0.9)
    if cal.randomize and score.name != "topk":
        assert hits <= binom.ppf(1 - 1e-4, draws, 0.9 + 1 / (n + 1))


def test_quantile_and_sets_agree() -> None:
    """C_ε = {y : S ≤ q̂(ε)} = {y : p > ε}, for every rank and the decimals around it."""
    logits, labels = sample(np.random.default_rng(0), 9)
    cal = calibrate(logits, labels, score=TopK(), randomize=False)
    ranks = 1 + np.argsort(np.argsort(-logits, axis=1), axis=1)
    for k in range(101):
        error = k / 100
        np.testing.assert_array_equal(cal.prediction_sets(logits, error), ranks <= cal.quantile(error))


def test_rank_arithmetic_is_that_of_decimals() -> None:
    """(n+1)(1−ε) = 10 · 0.3 is 3, though floats make it 3.0000000000000004 and round up to 4."""
    scores = np.arange(9.0)
    logits = np.stack([np.zeros(9), scores], axis=1)
    cal = calibrate(logits, np.zeros(9, dtype=int), score=LAC())
    assert cal.quantile(0.7) == pytest.approx(1 - 1 / (1 + math.exp(2.0)))
    assert cal.quantile(0.05) == math.inf
    assert cal.quantile(1) == -math.inf


def test_error_below_resolution_gives_all_labels_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    logits, labels = sample(np.random.default_rng(0), 10)
    cal = calibrate(logits, labels)
    with caplog.at_level(logging.WARNING, logger="infimum"):
        assert cal.prediction_sets(logits, 0.01).all()
    assert "1/11" in caplog.text


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
@pytest.mark.parametrize("score", SCORES, ids=lambda s: s.name)
def test_saves_and_loads(tmp_path: Path, suffix: str, score: Score) -> None:
    logits, labels = sample(np.random.default_rng(4), 120)
    logits[:20] *= 300  # saturated rows: their keys are at the ends
    cal = calibrate(logits, labels, score=score, temperature=1.5, seed=3)
    cal.save(tmp_path / f"cal{suffix}")
    back = Calibration.load(tmp_path / f"cal{suffix}")
    np.testing.assert_array_equal(back.keys, cal.keys)
    assert [
        getattr(back, k) for k in ("score", "n_classes", "temperature", "randomize", "seed", "findings")
    ] == [getattr(cal, k) for k in ("score", "n_classes", "temperature", "randomize", "seed", "findings")]
    np.testing.assert_array_equal(back.success_levels(logits), cal.success_levels(logits))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "infimum/calibration/9"}, "schema"),
        ({"score": {"name": "magic"}}, "magic"),
        ({"key_high": [1.0, "2"]}, r"key_high\[1\] must be a number, not '2'"),
        ({"key_high": [1.0, True]}, "key_high"),
        ({"key_high": [1.0, 10**400]}, "a whole number has 401 digits"),
        ({"n_classes": 10**400}, "a whole number has 401 digits"),
        ({"n_classes": 10**300}, "n_classes must be a whole number"),
        ({"key_high": [10.0**300] + [0.0] * 29}, "ascending"),
        ({"key_low": [0.0]}, "30 and 1 scores"),
        ({"n_classes": 1}, "n_classes"),
        ({"n": 5}, "n is 5"),
        ({"randomize": "zz"}, "randomize"),
        ({"findings": "zz"}, "findings"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": 10**400}, "401 digits"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    logits, labels = sample(np.random.default_rng(4), 30)
    path = tmp_path / "cal.json"
    calibrate(logits, labels).save(path)
    content = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"cal\.json"):
        Calibration.load(path)
    if all(type(value) is float for value in content["key_high"]):
        arrays = {name: np.array(content[name]) for name in ("key_high", "key_low")}
        content["checksum"] = checksum({**content, **arrays})
    path.write_text(json.dumps(content))  # with a checksum that fits, so that what is behind it is seen
    with pytest.raises(InputError, match=message):
        Calibration.load(path)


def test_cut_short_file_is_refused(tmp_path: Path) -> None:
    logits, labels = sample(np.random.default_rng(4), 30)
    for name in ("cal.json", "cal.safetensors"):
        calibrate(logits, labels).save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=name):
            Calibration.load(tmp_path / name)


def test_draws_are_keyed_by_seed_and_row() -> None:
    logits, labels = sample(np.random.default_rng(0), 500)
    cal = calibrate(logits[:100], labels[:100], seed=1)
    other = calibrate(logits[:100], labels[:100], seed=2)
    np.testing.assert_array_equal(cal.p_values(logits), cal.p_values(logits))
    assert (cal.p_values(logits) != other.p_values(logits)).any()
    plain = calibrate(logits[:100], labels[:100], randomize=False)
    assert not plain.randomize
    np.testing.assert_array_equal(plain.p_values(logits), plain.p_values(logits, u=np.ones(500)))


def test_scores_without_a_random_form_record_false() -> None:
    logits, labels = sample(np.random.default_rng(0), 50)
    for score in (LAC(), Margin()):
        cal = calibrate(logits, labels, score=score, randomize=True)
        assert not cal.randomize
        np.testing.assert_array_equal(cal.p_values(logits), cal.p_values(logits, u=np.full(50, 0.3)))


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        ([[0.0, np.nan], [1, 0]], [0, 1], "row 0, column 1"),
        ([[0.0, 1], [np.inf, 0]], [0, 1], "row 1, column 0"),
        ([[0.0, 1e301], [1, 0]], [0, 1], "1e300"),
        ([[0.0, 1], [1, 0]], [0, 2], "row 1 is 2, outside"),
        ([[0.0, 1], [1, 0]], [0, -1], "outside"),
        ([[0.0, 1], [1, 0]], [0, 0.5], "not a whole number"),
        ([[0.0, 1], [1, 0]], [0, np.nan], "not a whole number"),
        ([[0.0, 1], [1, 0]], [0], "1 entries"),
        ([[0.0, 1], [1, 0]], [[1, 0], [0, 1]], "one-hot"),
        ([[0.0, 1], [1, 0]], ["a", "b"], "class indices"),
        ([[0.0, 1]], [0], "1 row"),
        ([[0.0], [1.0]], [0, 0], "single sigmoid"),
        ([0.0, 1.0], [0, 0], "two-dimensional"),
        (np.empty((0, 3)), np.empty(0, dtype=int), "empty"),
    ],
)
def test_bad_input(logits: object, labels: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrate(np.asarray(logits), np.asarray(labels))


@pytest.mark.parametrize("n_classes", [10, 40])
def test_a_bad_number_far_down_is_named_by_its_row(n_classes: int) -> None:
    """Operation logits are checked chunk by chunk, on threads where there are many classes."""
    logits = np.random.default_rng(0).normal(size=(40_000, n_classes)).astype(np.float32)
    cal = calibrate(logits[:50], logits[:50].argmax(axis=1))
    logits[39_000, 3] = -np.inf
    logits[31_234, 7] = np.nan
    with pytest.raises(InputError, match="row 31234, column 7 is nan"):
        cal.success_levels(logits)


def test_other_bad_arguments() -> None:
    logits, labels = sample(np.random.default_rng(0), 30)
    for arguments, message in (
        ({"temperature": 0}, "temperature"),
        ({"temperature": -1.0}, "temperature"),
        ({"score": LAC}, "score must be"),
        ({"seed": -1}, "seed"),
        ({"randomize": np.full(30, 1.5)}, "outside 0..1"),
        ({"randomize": np.full(7, 0.5)}, "7 entries"),
    ):
        with pytest.raises(InputError, match=message):
            calibrate(logits, labels, **arguments)
    cal = calibrate(logits, labels)
    for call in (
        lambda: cal.success_levels(logits[:, :4]),
        lambda: cal.success_levels(logits, step=1.5),
        lambda: cal.success_levels(logits, step="x"),
        lambda: cal.success_levels(logits, step="1e-99999999"),
        lambda: cal.save("c.pkl"),
        lambda: cal.success_levels(logits, first_row=-1),
        lambda: cal.prediction_sets(logits, 1.5),
        lambda: cal.p_values(logits, u=np.full(30, np.nan)),
    ):
        with pytest.raises(InputError):
            call()
