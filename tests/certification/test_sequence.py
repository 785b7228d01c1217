"""The sequential certificate: the same as all rows at once, refusals, crashes at every moment, runs side by side."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from infimum import InputError, Outputs
from infimum.bounds import anytime, stratified
from infimum.certification._design import Design
from infimum.certification._labelled import Labelled
from infimum.certification._sequence import Sequence
from infimum.certification._sequence_file import add_to_state, load_sequence
from infimum.io.content import sealed


def batch(start: int, n: int, correct: object = 1, **others: object) -> Labelled:
    return Labelled(np.broadcast_to(correct, n), ids=np.arange(start, start + n), **others)


def test_batches_add_up(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    right = np.random.default_rng(0).random(300) < 0.97
    values = []
    for start in range(0, 300, 60):
        made = add_to_state(state, batch(start, 60, right[start : start + 60]), target=0.9)
        values.append(made.judge.value)
        assert made.n == start + 60
        assert made.target.met == (made.judge.value >= 0.9)
    assert values == sorted(values)
    assert made.judge.value == anytime(right).value
    assert [b.method for b in made.bounds] == ["anytime"]
    kept = load_sequence(state)
    assert kept.correct.tolist() == right.tolist()  # in order
    assert kept.batches == (60,) * 5
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state.json"]


def test_refused_and_nothing_added(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    names = Outputs(np.eye(2), np.array([0, 1]), ids=np.array(["x", "y"]), class_names=("a", "b"))
    add_to_state(state, batch(0, 50), target=0.9)
    add_to_state(state, Labelled.of(names), target=0.9)
    before = state.read_bytes()
    other = Outputs(np.eye(3), np.arange(3), ids=np.array(["p", "q", "r"]))
    renamed = Outputs(np.eye(2), np.array([0, 1]), ids=np.array(["p", "q"]), class_names=("b", "a"))
    design = Design(np.zeros(5, dtype=np.int64), np.ones(1))
    for call, message in (
        (lambda: add_to_state(state, batch(49, 5), target=0.9), "id '49' is in the state already"),
        (lambda: add_to_state(state, batch(0, 50), target=0.9), "id '0' and 49 more are in the state"),
        (lambda: add_to_state(state, Labelled(np.ones(3)), target=0.9), "no 'ids'"),
        (lambda: add_to_state(state, batch(99, 5), target=0.8), "begun with target 0.9, not 0.8"),
        (lambda: add_to_state(state, batch(99, 5), target=0.9, confidence=0.9), "begun with confidence"),
        (lambda: add_to_state(state, batch(99, 5), target=0.9, name="other"), "begun with network"),
        (lambda: add_to_state(state, Labelled.of(other), target=0.9), "another network"),
        (lambda: add_to_state(state, Labelled.of(renamed), target=0.9), "another network"),
        (lambda: add_to_state(state, batch(99, 5, design=design), target=0.9), "cannot be mixed"),
        (lambda: add_to_state(state, batch(99, 5), target=1.0), "target"),
    ):
        with pytest.raises(InputError, match=message):
            call()
        assert state.read_bytes() == before


def test_strata_fill_up(tmp_path: Path) -> None:
    """The same table, labelled further each time; a stratum without a label bounds nothing yet."""
    state = tmp_path / "state.json"
    rng = np.random.default_rng(1)
    stratum, weights, levels = np.arange(200) % 2, np.array([0.8, 0.2]), np.array([0.99, 0.8])
    right = rng.random(200) < levels[stratum]
    whole = Labelled(right, ids=np.arange(200), design=Design(stratum, weights, levels))

    def first(n: int) -> Labelled:
        return Labelled(right[:n], ids=np.arange(n), design=whole.design.first(n))

    assert add_to_state(state, first(1), target=0.9).judge.value == 0.0
    values = [add_to_state(state, first(n), target=0.9).judge.value for n in (50, 120, 200)]
    assert values == sorted(values)
    alone = [
        stratified(right[:n], stratum[:n], weights, method="e_process", levels=levels).value
        for n in (50, 120, 200)
    ]
    assert values[-1] == pytest.approx(max(alone), abs=1e-12)
    with pytest.raises(InputError, match="in the state already"):
        add_to_state(state, whole, target=0.9)
    changed = Labelled(~right, ids=np.arange(200), design=whole.design)
    kept = load_sequence(state)
    with pytest.raises(InputError, match="what has been seen stays"):
        Sequence("n", 0.9, 0.95, kept.ids[:50], kept.correct[:50], (50,), kept.design.first(50)).with_rows(
            changed
        )
    elsewhere = Labelled(
        np.ones(1), ids=np.array(["new"]), design=Design(np.zeros(1, dtype=np.int64), np.array([0.5, 0.5]))
    )
    with pytest.raises(InputError, match="in other strata"):
        add_to_state(state, elsewhere, target=0.9)


@pytest.mark.usefixtures("without_type_checks")
def test_coverage_of_the_sequential_strata() -> None:
    """200 runs of 4 batches: the largest bound on the way is above Σ w_s a_s in at most 20 %, and a binomial's margin
    (the 1 − 1e-4 quantile of Binomial(200, 0.2)).
    """
    rng = np.random.default_rng(2)
    stratum, weights = np.arange(160) % 2, np.array([0.7, 0.3])
    rates = np.array([0.9, 0.6])
    misses = 0
    for _ in range(200):
        right = rng.random(160) < rates[stratum]
        design = Design(stratum, weights, np.array([0.95, 0.5]))
        run = Sequence("n", 0.9, 0.8, tuple(map(str, range(160))), right, (40,) * 4, design)
        misses += run.bound().value > weights @ rates
    assert misses <= binom.ppf(1 - 1e-4, 200, 0.2)


@pytest.mark.parametrize("moment", ["os.replace", "json.dump", "os.fsync"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_crash_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, error: object
) -> None:
    state = tmp_path / "state.json"
    add_to_state(state, batch(0, 50), target=0.9)
    before = state.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(moment, fail)
        with pytest.raises((KeyboardInterrupt, InputError)):
            add_to_state(state, batch(50, 50), target=0.9)
    assert state.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]
    assert add_to_state(state, batch(50, 50), target=0.9).n == 100


def _add(state: str, start: int) -> None:
    add_to_state(state, batch(start, 5), target=0.9)


def test_runs_side_by_side_lose_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_add, args=(str(state), 5 * i)) for i in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(60)
        assert run.exitcode == 0
    assert sorted(map(int, load_sequence(state).ids)) == list(range(40))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "infimum/sequence/2"}, "schema"),
        ({"correct": "10"}, "one 0 or 1 for each id"),
        ({"correct": "11x"}, "one 0 or 1 for each id"),
        ({"ids": ["a", "a", "b"]}, "occurs twice"),
        ({"batches": [2]}, "do not belong to 3 ids"),
        ({"target": 2}, "target"),
        ({"design": {"weights": [float("1e400")], "levels": None, "stratum": [0, 0, 0]}}, "is not a number"),
        ({"design": {"weights": ["1"], "levels": None, "stratum": [0, 0, 0]}}, "weights"),
        ({"target": float("inf")}, "Infinity is not a number"),
        ({"ids": 3}, "ids must be a list"),
        ({"schema": None}, "schema is None"),
        ({"n_classes": "3"}, "n_classes must be a whole number"),
        ({"n_classes": 10**400}, "a whole number has 401 digits"),
        ({"n_classes": 0}, "n_classes must be 2 or more"),
        ({"ids": ["a", "b", 3]}, r"ids\[2\] must be text"),
        ({"class_names": 3}, "class_names must be a list"),
    ],
)
def test_damaged_states(tmp_path: Path, change: dict, message: str) -> None:
    state = tmp_path / "state.json"
    add_to_state(state, batch(0, 3), target=0.9)
    whole = json.loads(state.read_text())
    changed = {**whole, **change}
    state.write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"state\.json"):  # by its checksum, or its schema
        add_to_state(state, batch(10, 3), target=0.9)
    state.write_text(json.dumps(changed if "inf" in json.dumps(change).lower() else sealed(changed)))
    with pytest.raises(InputError, match=message):
        add_to_state(state, batch(10, 3), target=0.9)
    del whole["target"]
    state.write_text(json.dumps(sealed(whole)))
    with pytest.raises(InputError, match="not a usable state: it lacks 'target'"):
        add_to_state(state, batch(10, 3), target=0.9)
    state.write_text("[" * 100_000)
    with pytest.raises(InputError, match="nested more than 100 deep"):
        add_to_state(state, batch(10, 3), target=0.9)
