"""Every golden case of Algorithm 1, to the last bit: computed elsewhere with exact fractions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infimum.conformal import Calibration, calibrate, score_named

CASES = json.loads((Path(__file__).parents[1] / "golden" / "algorithm1.json").read_text())["cases"]


def array(values: list[float] | None) -> np.ndarray | None:
    return None if values is None else np.array(values)


def levels(fractions: list[list[int] | None]) -> np.ndarray:
    return np.array([np.nan if f is None else f[0] / f[1] for f in fractions])


@pytest.fixture(params=range(len(CASES)), ids=lambda i: f"{i}-{CASES[i]['score']}")
def case(request: pytest.FixtureRequest) -> tuple[dict, Calibration]:
    case = CASES[request.param]
    given = case["calibration"]
    u = array(given["u"])
    calibration = calibrate(
        np.array(given["logits"]),
        np.array(given["labels"]),
        score=score_named(case["score"], **case["params"]),
        randomize=False if u is None else u,
        temperature=case["temperature"],
    )
    return case, calibration


def test_p_values(case: tuple[dict, Calibration]) -> None:
    case, calibration = case
    logits, u = np.array(case["operation"]["logits"]), array(case["operation"]["u"])
    expected = np.array(case["expected"]["p_value_counts"])
    np.testing.assert_array_equal(calibration.p_value_counts(logits, u=u), expected)
    np.testing.assert_array_equal(calibration.p_values(logits, u=u), expected / (calibration.n + 1))


def test_prediction_sets(case: tuple[dict, Calibration]) -> None:
    case, calibration = case
    logits, u = np.array(case["operation"]["logits"]), array(case["operation"]["u"])
    for error, sets in case["expected"]["prediction_sets"].items():
        got = calibration.prediction_sets(logits, error, u=u)
        assert [np.flatnonzero(row).tolist() for row in got] == [sorted(s) for s in sets]


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("success_level_exact", {}),
        ("success_level_grid_0.01", {"step": 0.01}),
        ("success_level_singleton_exact", {"empty": "nan"}),
        ("success_level_singleton_grid_0.01", {"step": 0.01, "empty": "nan"}),
        ("success_level_grid_0.05_singleton", {"step": 0.05, "empty": "nan"}),
    ],
)
def test_success_levels(case: tuple[dict, Calibration], key: str, options: dict) -> None:
    case, calibration = case
    logits, u = np.array(case["operation"]["logits"]), array(case["operation"]["u"])
    got = calibration.success_levels(logits, u=u, **options)
    np.testing.assert_array_equal(got, levels(case["expected"][key]))


def test_float32_gives_the_same(case: tuple[dict, Calibration]) -> None:
    """Logits as float32 are other numbers, but each path must read them alike."""
    case, calibration = case
    logits = np.array(case["operation"]["logits"], dtype=np.float32)
    u = array(case["operation"]["u"])
    two = calibration.top_two(logits, u)
    counts = np.sort(calibration.p_value_counts(logits, u), axis=1)
    np.testing.assert_array_equal(two.count_second, counts[:, -2])
    np.testing.assert_array_equal(two.count_top, counts[:, -1])
