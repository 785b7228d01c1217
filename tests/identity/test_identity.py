"""Which rows are one input: ids that nothing refutes. Equal outputs prove nothing, whatever repeats them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from trees import truth, world

from infimum import InputError, Outputs, assess
from infimum.assessment._judging import judging_bounds
from infimum.bounds import PredictionPowered, clopper_pearson
from infimum.certification._candidates import candidates
from infimum.certification._certify import certify
from infimum.certification._labelled import Labelled
from infimum.certification._selection import select
from infimum.identity.hints import hinted
from infimum.identity.labelled_sets import labelled_sets
from infimum.identity.repeats import Repeats
from infimum.identity.rows import Rows, check_identity
from infimum.identity.shared import copies_within, shared_rows, unlabelled_rows
from infimum.outputs._stream import open_stream
from infimum.shift import _two_sample as two_sample
from infimum.shift import exchangeability
from infimum.shift._exchangeability import compare_rows
from infimum.testing import assert_reliable


def rows(outputs: Outputs, **more: object) -> Outputs:
    return Outputs(outputs.logits, outputs.labels, name=outputs.name, **more)  # type: ignore[arg-type]


def test_equal_logits_of_tuning_rows_are_other_inputs() -> None:
    """102 of 204 labelled rows are right; dropping what looks alike left 100 right of 104."""
    calibration = Outputs(np.array([[1.0, 0], [2, 0], [0.5, 0], [0.5, 0]]), np.array([0, 0, 1, 1]))
    sure = np.stack([np.arange(3.0, 103.0), np.zeros(100)], axis=1)
    tuning = Outputs(np.concatenate([sure, np.full((100, 2), [0.5, 0.0])]), np.repeat(np.array([0, 1]), 100))
    found = assess(calibration, tuning, tuning=tuning, target=0.9).certified[0]
    assert (found.n, found.value) == (204, clopper_pearson(np.arange(204) < 102).value)
    assert round(found.value, 4) == 0.4403


@pytest.mark.parametrize("method", ["prediction_powered", "prediction_powered_betting"])
def test_equal_logits_of_operation_inputs_are_other_inputs(method: str) -> None:
    """Half of the inputs are right every second time: .75. What looks labelled used to leave the unlabelled mean."""
    n = 400
    alternating = np.arange(n) % 2 == 0
    logits = np.zeros((n, 2))
    logits[:, 0] = np.where(alternating, 6 + 0.001 * np.arange(n), 0.01)
    labels = np.where(alternating | (np.arange(n) % 4 == 1), 0, 1)
    shifted = logits + np.where(alternating, 2.0, 0.0)[:, None] * [1.0, 0.0]
    labelled, operation = Outputs(logits, labels), Outputs(shifted)
    assert labelled.accuracy == 0.75
    assert assess(labelled, operation, method=method).certified[0].value < 0.75  # type: ignore[arg-type]
    other = world(400, 9)
    assert (
        certify(labelled, target=0.5, method=method, operation=operation, calibration=other).judge.value
        < 0.75
    )


@pytest.mark.usefixtures("without_type_checks")
def test_bounds_of_repeated_outputs_hold() -> None:
    """100 draws of a tree with 40 outputs: no bound of `assess` or `certify` lies above the truth too often.

    Rules that drop what looks alike missed in 73 to 100 % of such draws.
    """
    draws, target = 100, truth()
    misses: dict[str, int] = {}
    for seed in range(draws):
        cal, tun, ops = world(150, seed), world(150, seed + 10_000), world(400, seed + 20_000)
        unlabelled = Outputs(ops.logits)
        judged = judging_bounds(PredictionPowered(), labelled_sets(cal, tun), unlabelled, 0.95)
        made = candidates(Labelled.of(cal), unlabelled, tun, None, 0).possible
        for where, bounds in (
            ("assess", judged),
            ("certify", [make(cal.correct, 0.95) for make in made.values()]),
        ):
            for bound in bounds:
                # The asymptotic ones have no guarantee at this size; they are covered by tests of their own.
                if bound.validity == "finite-sample":
                    key = f"{where} {bound.method}"
                    misses[key] = misses.get(key, 0) + (bound.value > target)
    assert len(misses) == 7
    assert all(count <= binom.ppf(1 - 1e-4, draws, 0.05) for count in misses.values()), misses


def test_the_prediction_powered_mean_keeps_what_looks_labelled() -> None:
    cal, ops = world(150, 1), world(400, 2)
    found = assess(cal, Outputs(ops.logits), method="prediction_powered")
    with_ids = assess(
        rows(cal, ids=np.arange(150)),
        Outputs(ops.logits, ids=np.arange(1000, 1400)),
        method="prediction_powered",
    )
    assert found.certified[0].value == with_ids.certified[0].value
    assert not any("may be the same" in w or "too" in w for w in found.warnings)


def test_disjoint_rows_of_a_tree_are_taken() -> None:
    cal, lab, ops = world(300, 1), world(300, 2), world(3500, 3)
    found = certify(lab, target=0.5, operation=Outputs(ops.logits), calibration=cal)
    assert set(found.withheld) >= {"stratified_chernoff"}
    assert "prediction_powered" not in found.withheld
    select(Outputs(ops.logits), cal, 40)
    assert labelled_sets(cal, lab).shared == 0


def test_shared_ids_count_once_and_leave_the_operation() -> None:
    """600 of 1,000 operation inputs are calibration rows: 400 unlabelled ones are independent of them."""
    whole = world(1000, 5)
    ops = Outputs(whole.logits, ids=np.arange(1000).astype(str))
    cal = Outputs(whole.logits[:600], whole.labels[:600], ids=np.arange(600))
    found = assess(cal, ops)
    conformal = next(b for b in found.certified if b.method == "marginal_conformal")
    assert conformal.details["unlabelled"] == 400
    assert found.exchangeability.n_operation == 400
    assert "600 of the 1000 operation inputs are labelled rows too (by their ids" in found.warnings[0]
    proved = certify(cal, target=0.5, operation=ops)
    assert next(b for b in proved.bounds if b.method == "marginal_conformal").details["unlabelled"] == 400
    assert proved.exchangeability.n_operation == 400
    assert unlabelled_rows([cal], ops).sum() == 400
    everything = assess(Outputs(whole.logits, whole.labels, ids=np.arange(1000)), ops)
    assert [b.method for b in everything.certified] == ["clopper_pearson"]
    assert everything.exchangeability is None
    assert any("every operation input is a labelled row too" in note for note in everything.notes)


def test_labelled_rows_of_the_operation_hide_no_tilt() -> None:
    """200 of 400 operation inputs are labelled, and not at random: most of the likely ones. Left in, they hide it."""
    rejected = {"certify": 0, "assert_reliable": 0, "assess": 0}
    draws = 6
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        margin = rng.normal(size=400)
        z = np.stack([np.abs(margin) * 3, np.zeros(400)], axis=1)
        label = (rng.random(400) > 1 / (1 + np.exp(-z[:, 0]))).astype(np.int64)
        drawn = rng.random(400) < np.where(z[:, 0] > np.median(z[:, 0]), 0.7, 0.3)
        ids = np.arange(400)
        labelled, ops = Outputs(z[drawn], label[drawn], ids=ids[drawn]), Outputs(z, ids=ids)
        rejected["certify"] += certify(labelled, target=0.5, operation=ops).exchangeability.rejected
        rejected["assess"] += assess(labelled, ops).exchangeability.rejected
        try:
            assert_reliable(labelled, 0.1, operation=ops)
        except AssertionError:
            rejected["assert_reliable"] += 1
    assert min(rejected.values()) >= 0.9 * draws, rejected


def test_copies_with_equal_ids_count_once() -> None:
    """60 rows ten times over: n is 60, whoever counts."""
    correct = np.arange(60) < 43
    logits = np.stack([1 + 0.01 * np.arange(60), np.zeros(60)], axis=1)
    ten = np.tile(np.arange(60), 10)
    labels = np.where(correct, 0, 1)
    given = Outputs(logits[ten], labels[ten], ids=ten)
    right = clopper_pearson(correct)
    assert round(clopper_pearson(correct[ten]).value, 4), round(right.value, 4) == (0.6848, 0.6058)
    found = assess(given, Outputs(logits + 0.001))
    assert (found.certified[0].n, found.certified[0].value, found.calibration.n) == (60, right.value, 60)
    assert any("540 calibration rows are copies" in note for note in found.notes)
    proved = certify(given, target=0.5)
    assert (proved.n, proved.judge.value) == (60, right.value)
    assert any("540 labelled rows are copies" in note for note in proved.notes)
    assert "note: 540 labelled rows are copies" in proved.summary()
    table = Labelled(correct[ten], ids=ten.astype(str))
    assert (len(table), table.copies) == (60, 540)
    assert assert_reliable(given, 0.1).n == 60
    with pytest.raises(InputError, match=r"rows 0 and 60 have one id, '0', and two labels.*cluster"):
        assess(Outputs(logits[ten], np.where(np.arange(600) < 60, labels[ten], 1), ids=ten), given)
    # Without ids nothing is dropped, and nobody is told to.
    bare = certify(Outputs(logits[ten], labels[ten]), target=0.5)
    assert bare.n == 600
    assert any("may be different inputs" in w for w in bare.warnings)


def test_a_set_given_twice_is_known_without_ids() -> None:
    """Row i of a set is row i of the same set, whatever the outputs repeat; other sets of a tree are never equal."""
    cal = world(100, 3)
    assert labelled_sets(cal, cal.taken(slice(None))).fresh is None
    found = assess(cal, Outputs(cal.logits))
    assert [b.method for b in found.certified] == ["clopper_pearson"]
    with pytest.raises(InputError, match="every operation input is a labelled row too"):
        assess(cal, Outputs(cal.logits), method="prediction_powered")
    # Rows that are all alike are equal in any two sets.
    sure = Outputs(np.tile([[3.0, 0.0]], (50, 1)), np.zeros(50, dtype=int))
    assert len(labelled_sets(sure, sure.taken(slice(None))).correct) == 100


def test_row_numbers_are_no_ids() -> None:
    """Both sets number their rows from 0: most pairs are refuted, and those that agree do so by chance."""
    cal, ops = world(300, 1), world(400, 2)
    numbered = assess(rows(cal, ids=np.arange(300)), Outputs(ops.logits, ids=np.arange(400)))
    plain = assess(cal, Outputs(ops.logits))
    assert [b.value for b in numbered.certified] == [b.value for b in plain.certified]
    assert any("are the ids row numbers?" in w for w in numbered.warnings)
    both = labelled_sets(rows(cal, ids=np.arange(300)), rows(world(300, 4), ids=np.arange(300)))
    assert len(both.correct) == 600
    assert both.refuted > 200
    certify(rows(cal, ids=np.arange(300)), target=0.5, calibration=rows(world(300, 4), ids=np.arange(300)))


def test_one_mended_label_does_not_double_the_rest() -> None:
    whole = world(200, 3)
    labels = whole.labels.copy()
    labels[5] = 1 - labels[5]
    ids = np.arange(200).astype(str)
    found = labelled_sets(rows(whole, ids=ids), Outputs(whole.logits, labels, ids=ids))
    assert (found.shared, found.refuted, len(found.correct)) == (199, 1, 201)


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"logits": np.array([[0.0, 1.0]])}, False),
        ({"logits": np.array([[1.00001, 0.0]])}, True),
        ({"labels": np.array([1])}, False),
        ({"labels": None}, True),
        ({"input_hash": np.array([8], dtype=np.uint64)}, False),
        ({"input_hash": None}, True),
        ({"id_source": np.array([2])}, False),
        ({"id_source": None}, True),
        ({"ids": np.array(["b"])}, False),
        ({"ids": np.array([""])}, False),
        ({"ids": None}, False),
    ],
)
def test_what_refutes_equal_ids(change: dict[str, object], known: bool) -> None:
    given = {
        "logits": np.array([[1.0, 0.0]]),
        "labels": np.array([0]),
        "ids": np.array(["a"]),
        "input_hash": np.array([7], dtype=np.uint64),
        "id_source": np.array([1]),
    }
    one, other = Outputs(**given), Outputs(**{**given, **change})  # type: ignore[arg-type]
    assert bool(shared_rows([Rows.of(one)], Rows.of(other)).mask[0]) is known


def test_a_hash_identifies_only_where_the_user_says_so() -> None:
    """Few discrete features: different customers, one row."""
    whole = world(200, 3)
    hashes = np.arange(200, dtype=np.uint64)
    cal = Outputs(whole.logits[:100], whole.labels[:100], input_hash=hashes[:100])
    tun = Outputs(whole.logits[50:150], whole.labels[50:150], input_hash=hashes[50:150])
    ops = Outputs(whole.logits[100:], input_hash=hashes[100:])
    said = assess(cal, ops, tuning=tun)
    assert said.certified[0].n == 200
    assert any("50 of the 100 tuning rows have raw inputs equal" in w for w in said.warnings)
    meant = assess(cal, ops, tuning=tun, identity="hash")
    assert meant.certified[0].n == 150
    assert next(b for b in meant.certified if b.method == "marginal_conformal").details["unlabelled"] == 50
    with pytest.raises(InputError, match="has no 'input_hash'"):
        assess(world(50, 1), ops, identity="hash")
    with pytest.raises(InputError, match="identity must be one of ids, hash"):
        check_identity("logits")


def test_tuning_rows_that_are_calibration_rows_do_not_tune() -> None:
    whole = world(300, 4)
    ids = np.arange(300)
    cal, tun = (
        Outputs(whole.logits[part], whole.labels[part], ids=ids[part])
        for part in (slice(200), slice(150, 300))
    )
    found = assess(cal, world(300, 9), tuning=tun, levels="temperature=fit")
    assert (found.certified[0].n, found.calibration.n_tuning) == (300, 100)
    assert "marginal_conformal" in [b.method for b in found.certified]
    same = assess(cal, world(300, 9), tuning=cal, levels="temperature=fit")
    assert [b.method for b in same.certified] == ["clopper_pearson"]
    assert any("coverage then does not hold exactly" in w for w in same.warnings)


def test_hints_weigh_repeats() -> None:
    rng = np.random.default_rng(0)
    a, b = (Outputs(rng.normal(size=(n, 3))) for n in (500, 400))
    assert hinted(a, b) == 0
    b.logits[:7] = a.logits[:7]
    assert hinted(a, b) == 7
    assert (
        hinted(world(300, 1), world(400, 2)) == 0
    )  # a set that repeats itself proves that equality proves nothing
    hard = Outputs.from_probabilities(np.eye(3)[[0, 1, 2, 0]])
    assert hinted(hard, hard) == 0  # saturated rows are equal by rounding
    found = assess(Outputs(a.logits, np.zeros(500, dtype=int)), b)
    assert any(
        "7 of the 400 operation inputs have the outputs of calibration rows and may be" in w
        for w in found.warnings
    )


def test_an_operation_that_repeats_itself_counts_once_in_bounds() -> None:
    rng = np.random.default_rng(1)
    cal, z = world(200, 1), np.stack([rng.uniform(0, 6, 300), np.zeros(300)], axis=1)
    twice = np.concatenate([np.arange(300), np.arange(100)])
    found = assess(cal, Outputs(z[twice], ids=twice))
    assert next(b for b in found.certified if b.method == "marginal_conformal").details["unlabelled"] == 300
    assert found.lambda_operation.n == 400
    assert any("100 of the 400 operation inputs occur before" in w for w in found.warnings)


def test_a_stream_finds_the_same(tmp_path: Path) -> None:
    whole = world(5000, 5)
    ops = Outputs(whole.logits, whole.labels, ids=np.arange(5000) % 4500)
    cal = Outputs(whole.logits[:600], whole.labels[:600], ids=np.arange(600))
    ops.save(tmp_path / "ops.npz")
    streamed, held = (assess(cal, given).to_dict() for given in (open_stream(tmp_path / "ops.npz"), ops))
    for part in ("certified", "findings", "exchangeability", "measured", "success"):
        assert streamed[part] == held[part]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 7))
def test_repeats_do_not_depend_on_blocks(ids: list[int], size: int) -> None:
    z = np.array([[float(i % 3), 0.0] for i in ids])
    repeats = Repeats()
    found = np.concatenate(
        [
            repeats.among(Rows.of(Outputs(z[s : s + size], ids=np.array(ids[s : s + size]))))
            for s in range(0, len(ids), size)
        ]
    )
    assert found.tolist() == [i in ids[:at] for at, i in enumerate(ids)]
    assert found.tolist() == copies_within(Rows.of(Outputs(z, ids=np.array(ids))), "x").mask.tolist()


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 60))
def test_shuffling_changes_nothing(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = world(n, seed), world(m, seed + 1)
    ids = rng.permutation(80)
    ours, theirs = rows(a, ids=ids[:n]), Outputs(b.logits, ids=ids[20 : 20 + m])
    order = rng.permutation(m)
    found = shared_rows([Rows.of(ours)], Rows.of(theirs)).mask
    assert shared_rows([Rows.of(ours)], Rows.of(theirs.taken(order))).mask.tolist() == found[order].tolist()


def table(
    operation: Outputs, calibration: Outputs, tmp_path: Path, label: Callable[[np.ndarray], np.ndarray]
) -> Path:
    """A selection of 120 inputs, filled in."""
    drawn = select(operation, calibration, 120)
    path = tmp_path / "drawn.npz"
    drawn.save(path)
    with np.load(path) as columns:
        filled = {**columns, "correct": label(columns["row"])}
    np.savez(path, **filled)
    return path


def test_a_designed_draw_is_compared_within_strata(tmp_path: Path) -> None:
    """Labels are bought where errors are likely, so the drawn rows differ from the operation, and that is no fault."""
    whole = world(2000, 8, distinct=500)
    cal, ops = whole.taken(slice(500)), Outputs(whole.logits[500:], ids=np.arange(1500).astype(str))
    path = table(ops, cal, tmp_path, lambda row: whole.correct[500:][row])
    drawn = Labelled.load(path)
    found = certify(drawn, target=0.5, operation=ops, calibration=cal)
    assert found.exchangeability is not None
    assert not found.exchangeability.rejected
    assert found.exchangeability.auc is None
    unstratified = exchangeability(Outputs(ops.logits[drawn.design.rows]), Outputs(ops.logits))
    assert unstratified.distance > found.exchangeability.distance
    other = certify(drawn, target=0.5, operation=Outputs(ops.logits + 1.0), calibration=cal)
    assert any("the selection was made of another operation" in w for w in other.warnings)
    without = certify(drawn, target=0.5, operation=ops)
    assert any("takes the calibration" in w for w in without.warnings)


def test_the_level_within_strata(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 draws with chances of .1 and .6 in two strata that differ: rejected at .05 in at most as many as chance does.

    The tolerance is the 1e-4 quantile of Binomial(100, .05). A test that ignores the strata rejects nearly always.
    """
    monkeypatch.setattr(two_sample, "FREQUENCIES", 16)
    rejected = ignoring = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        stratum = np.arange(300) % 2
        z = np.stack([rng.normal(size=300) + 3 * stratum, np.zeros(300)], axis=1)
        drawn = rng.random(300) < np.where(stratum == 1, 0.6, 0.1)
        both, strata = (
            (Outputs(z[drawn]), Outputs(z[~drawn])),
            np.concatenate([stratum[drawn], stratum[~drawn]]),
        )
        rejected += compare_rows(*both, 0.05, 39, seed, strata).rejected
        ignoring += seed < 10 and compare_rows(*both, 0.05, 39, seed).rejected
    assert rejected <= binom.ppf(1 - 1e-4, 100, 0.05)
    assert ignoring >= 9


def test_one_id_in_many_spellings() -> None:
    """7, 7.0 (pandas) and "7 " are one id; 007 is another. Blank ids are none, and the hint stays."""
    whole = world(300, 3, distinct=10_000)
    ids = np.arange(300)
    cal = rows(whole, ids=ids)
    for other in (
        ids.astype(float),
        ids.astype(str),
        np.array([f"{i}.0" for i in ids]),
        np.array([f"{i} " for i in ids]),
    ):
        assert labelled_sets(cal, rows(whole.taken(np.arange(299, -1, -1)), ids=other[::-1])).shared == 300
    assert labelled_sets(cal, rows(whole, ids=np.array([f"0{i}" for i in ids]))).shared == 0
    blank = np.full(300, "")
    order = np.arange(299, -1, -1)
    found = assess(rows(whole, ids=blank), whole, tuning=rows(whole.taken(order), ids=blank))
    assert any("300 of the 300 tuning rows have the outputs of calibration rows" in w for w in found.warnings)
    renamed = assess(cal, rows(whole.taken(order), ids=ids + 5000))
    assert any("may be the same inputs (though their ids differ)" in w for w in renamed.warnings)


def test_one_wrong_id_does_not_undo_the_others() -> None:
    rng = np.random.default_rng(1)
    cal, z = world(200, 1), np.stack([rng.uniform(0, 6, 60), np.zeros(60)], axis=1)
    many = np.tile(np.arange(60), 20)
    ids = many.copy()
    ids[5] = ids[6]
    found = assess(cal, Outputs(z[many], ids=ids))
    assert next(b for b in found.certified if b.method == "marginal_conformal").details["unlabelled"] == 61
    # Whichever of the rows of an id comes first.
    odd = np.concatenate([z[:60] + 1.0 * (np.arange(60) < 5)[:, None] * [1.0, 0.0], z, z])
    copies = copies_within(
        Rows.of(Outputs(odd, np.zeros(180, dtype=int), ids=np.tile(np.arange(60), 3))), "x"
    )
    assert (copies.mask.sum(), copies.refuted) == (115, 5)


def test_a_second_opinion_on_labels_is_no_selection_by_labels() -> None:
    """200 labelled rows, annotated anew with 8 other labels: those 8 alone say nothing of the accuracy."""
    whole = world(200, 4, distinct=10_000)
    labels = whole.labels.copy()
    labels[:8] = 1 - labels[:8]
    ids = np.arange(200)
    again = Outputs(whole.logits, labels, ids=ids)
    assert assess(rows(whole, ids=ids), again).measured is None
    assert_reliable(rows(whole, ids=ids), 0.1, operation=again)


def test_halved_precision_refutes_nothing() -> None:
    whole = world(300, 5, distinct=10_000)
    ids = np.arange(300)
    half = Outputs(whole.logits.astype(np.float16), whole.labels, ids=ids)
    assert labelled_sets(rows(whole, ids=ids), half).shared == 300


def test_a_labelled_set_remembers_how_it_tells_inputs() -> None:
    whole = rows(world(50, 1), ids=np.arange(50), input_hash=np.arange(50, dtype=np.uint64))
    with pytest.raises(InputError, match="tells inputs by 'ids', and identity is 'hash'"):
        certify(Labelled.of(whole), target=0.5, identity="hash")
    with pytest.raises(InputError, match="50 rows of outputs are calibration rows too"):
        certify(Labelled.of(whole, "hash"), target=0.5, calibration=whole, identity="hash")
