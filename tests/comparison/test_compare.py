"""compare(): rankings, what is settled, what is refused, files and pages."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest_types import Toy
from reports import HOSTILE

from infimum import (
    Assessment,
    Comparison,
    InputError,
    Outputs,
    assess,
    clopper_pearson,
    compare,
    compare_assessments,
)
from infimum.report.comparison.html import to_html
from infimum.report.comparison.markdown import to_markdown

NOISE = {"best": 0.0, "avg": 0.3, "worst": 3.0}


def networks(toy: Toy, n: int, seed: int, **others: object) -> list[Outputs]:
    """Networks on the same inputs, each worse than the one before."""
    rng = np.random.default_rng(seed)
    own = toy.outputs(n, rng)
    return [
        Outputs(own.logits + s * rng.normal(size=own.logits.shape), own.labels, name=name, **others)
        for name, s in NOISE.items()
    ]


@pytest.fixture(scope="module")
def ops(toy: Toy) -> list[Outputs]:
    return networks(toy, 1500, 1)


@pytest.fixture(scope="module")
def cals(toy: Toy) -> list[Outputs]:
    return networks(toy, 400, 2)


@pytest.fixture(scope="module")
def assessments(ops: list[Outputs], cals: list[Outputs]) -> list[Assessment]:
    return [assess(c, o, name=o.name) for c, o in zip(cals, ops, strict=True)]


def unlabelled(outputs: list[Outputs], **others: object) -> list[Outputs]:
    return [replace(o, labels=None, **others) for o in outputs]


def test_ranks_and_says_what_is_not_settled(ops: list[Outputs], cals: list[Outputs]) -> None:
    c = compare(ops, cals)
    by = {r.figure: r for r in c.rankings}
    assert [p.name for p in by["accuracy"].places][-1] == "worst"
    assert (by["accuracy"].places[-1].best, by["accuracy"].places[-1].worst) == (3, 3)
    close = next(d for d in c.differences if d.figure == "accuracy" and "worst" not in (d.first, d.second))
    assert not close.settled
    assert close.low < 0 < close.high
    assert {(p.best, p.worst) for p in by["accuracy"].places[:2]} == {(1, 2)}
    assert not by["accuracy"].settled
    assert all((p.best, p.worst) == (1, 3) for p in by["certified"].places)  # the order of bounds is no test
    assert "best and avg cannot be told apart" in c.summary() or "avg and best cannot" in c.summary()
    for d in c.differences:
        first, second = (next(n for n in c.networks if n.name == name) for name in (d.first, d.second))
        assert d.value == first.value(d.figure) - second.value(d.figure) >= 0
        assert d.low <= d.value <= d.high
    assert c.paired
    assert c.tau == 1.0


def test_figures_are_those_of_assess(
    ops: list[Outputs], cals: list[Outputs], assessments: list[Assessment]
) -> None:
    c = compare(ops, cals)
    for n, a, o in zip(c.networks, assessments, ops, strict=True):
        assert n.lambda_ == a.lambda_operation.value
        assert n.lambda_error == a.lambda_operation.standard_error.total
        assert n.accuracy == o.accuracy
        together = clopper_pearson(o.correct, 1 - 0.05 / 3)
        assert (n.certified.value, n.certified.confidence) == (together.value, together.confidence)


def test_the_order_given_does_not_matter(ops: list[Outputs], cals: list[Outputs]) -> None:
    whole = compare(ops, cals)
    for mixed in permutations(range(3)):
        c = compare([ops[i] for i in mixed], [cals[i] for i in mixed])
        assert c.rankings == whole.rankings
        assert {(d.first, d.second, d.p_adjusted) for d in c.differences} == {
            (d.first, d.second, d.p_adjusted) for d in whole.differences
        }


def test_without_operation_labels_accuracy_is_that_of_the_calibration(
    ops: list[Outputs], cals: list[Outputs]
) -> None:
    ids = np.arange(1500)
    c = compare(unlabelled(ops, ids=ids), cals)
    assert [n.accuracy for n in c.networks] == [x.accuracy for x in cals]
    assert "accuracies were measured on the calibration inputs" in c.notes
    assert c.warnings == ()
    trusted = compare(unlabelled(ops), cals)
    assert "taken on trust" in trusted.warnings[0]


def test_without_calibrations_there_is_no_lambda(ops: list[Outputs]) -> None:
    c = compare(ops)
    assert {d.figure for d in c.differences} == {"accuracy"}
    assert c.tau is None
    assert "needs λ and λ*" in c.summary()


def test_weighted_inputs(ops: list[Outputs], cals: list[Outputs]) -> None:
    weights = np.random.default_rng(0).random(1500) + 0.1
    c = compare([replace(o, weights=weights) for o in ops], cals)
    assert all(n.certified is None for n in c.networks)
    assert [n.accuracy for n in c.networks] == [float(np.average(o.correct, weights=weights)) for o in ops]
    assert {d.method for d in c.differences} == {"weighted_paired_t", "paired_t"}
    to_html(c)


def test_lambda_that_contradicts_the_labels_is_warned_of(ops: list[Outputs], cals: list[Outputs]) -> None:
    """A calibration of easy rows alone makes λ of the worst network the highest."""
    easy = replace(cals[2], logits=np.eye(4)[cals[2].labels] * 30.0)
    sharp = [ops[0], replace(ops[2], logits=ops[2].logits * 1000.0)]
    hard = replace(cals[0], logits=-cals[0].logits)
    c = compare(sharp, [hard, easy])
    assert c.tau == -1.0
    assert any("do not choose between these two by λ" in w for w in c.warnings)


def test_different_inputs_are_refused_unless_allowed(
    toy: Toy, ops: list[Outputs], cals: list[Outputs]
) -> None:
    other = networks(toy, 1500, 9)[1]
    ids = [np.arange(1500), np.arange(1500) + (np.arange(1500) == 7)]
    cases: list[tuple[list[Outputs], list[Outputs] | None, str]] = [
        ([ops[0], other], None, "labels of network 2 are not those of network 1"),
        ([replace(ops[0], ids=ids[0]), replace(ops[1], ids=ids[1])], None, r"ids .* \(first in row 7\)"),
        ([ops[0], replace(ops[1], labels=None)], None, "only network 1 of networks 1 and 2 has labels"),
        (
            [ops[0], replace(ops[1], logits=ops[1].logits[:9], labels=ops[1].labels[:9], features=None)],
            None,
            "9 inputs",
        ),
        (ops, [*cals[:2], networks(toy, 400, 8)[2]], "calibration: the labels of network 3"),
        (
            [replace(o, class_names=list(n)) for o, n in zip(ops, ("abcd", "abdc"), strict=False)],
            None,
            "class names",
        ),
    ]
    for outputs, calibrations, why in cases:
        with pytest.raises(InputError, match=why):
            compare(outputs, calibrations)
        c = compare(outputs, calibrations, allow_different_inputs=True)
        assert not c.paired
        assert "the inputs differ" in c.warnings[0]
        assert {d.method for d in c.differences} <= {"clopper_pearson_unpaired", "normal_unpaired"}


def test_unpaired_intervals_are_wider(
    ops: list[Outputs], cals: list[Outputs], assessments: list[Assessment]
) -> None:
    paired, alone = compare(ops, cals), compare_assessments(assessments)
    assert not alone.paired
    assert "NOT compared input by input" in alone.summary()
    assert alone.warnings == ()
    assert [n.accuracy for n in alone.networks] == [n.accuracy for n in paired.networks]
    assert [n.certified for n in alone.networks] == [n.certified for n in paired.networks]
    for ours, theirs in zip(paired.differences, alone.differences, strict=True):
        assert (ours.first, ours.second) == (theirs.first, theirs.second)
        assert theirs.high - theirs.low > ours.high - ours.low


def test_paths_in_different_folders_name_different_inputs(ops: list[Outputs]) -> None:
    ids = np.array([f"{i}.png" for i in range(len(ops[0]))])
    first, second = (
        Outputs(
            o.logits, o.labels, ids=ids, id_source=np.full(len(o), source, dtype=np.uint64), name=str(source)
        )
        for source, o in enumerate(ops[:2])
    )
    with pytest.raises(InputError, match="paths in different sources"):
        compare([first, second])
    compare([first, replace(second, id_source=first.id_source)])


def test_assessments_of_different_inputs(
    toy: Toy, ops: list[Outputs], cals: list[Outputs], assessments: list[Assessment]
) -> None:
    other = assess(cals[1], networks(toy, 1500, 9)[1], name="other")
    with pytest.raises(InputError, match="operation: the labels of network 2 are not those of network 1"):
        compare_assessments([assessments[0], other])
    allowed = compare_assessments([assessments[0], other], allow_different_inputs=True)
    assert "the inputs differ" in allowed.warnings[0]
    old = [replace(a, provenance={}) for a in assessments]  # infimum 0.1.0 wrote no fingerprints
    assert "taken on trust" in compare_assessments(old).warnings[0]
    blind = [assess(c, o, name=o.name) for c, o in zip(cals, unlabelled(ops), strict=True)]
    c = compare_assessments(blind)
    assert [n.accuracy for n in c.networks] == [x.accuracy for x in cals]


def test_weighted_operations_are_compared_by_the_labelled_rows(
    ops: list[Outputs], cals: list[Outputs]
) -> None:
    """A weighted accuracy is no count; weights that are all equal change nothing."""
    rng = np.random.default_rng(3)
    for weights, counts in ((rng.random(len(ops[0])), cals), (np.full(len(ops[0]), 2.0), ops)):
        weighted = [replace(o, weights=weights) for o in ops]
        c = compare_assessments([assess(k, o, name=o.name) for k, o in zip(cals, weighted, strict=True)])
        assert [(n.accuracy, n.n_labelled) for n in c.networks] == [(x.accuracy, len(x)) for x in counts]


def test_bad_input(ops: list[Outputs], cals: list[Outputs]) -> None:
    from infimum.conformal import RAPS

    for outputs, options, message in (
        (ops[:1], {}, "1 network to compare"),
        (ops, {"names": ["a", "b"]}, "2 names for 3"),
        (ops, {"names": ["a", "b", "a"]}, "two networks are named 'a'"),
        (ops, {"calibrations": cals[:2]}, "2 calibrations for 3"),
        (ops, {"confidence": 1}, "confidence"),
        (ops, {"calibrations": cals, "score": RAPS(k_reg="auto")}, "k_reg must be a number"),
        (ops, {"calibrations": unlabelled(cals)}, "no 'labels'"),
        (unlabelled(ops), {}, "nothing to compare by"),
    ):
        with pytest.raises(InputError, match=message):
            compare(outputs, **options)


def test_files_round_trip(ops: list[Outputs], cals: list[Outputs], tmp_path: Path) -> None:
    c = compare(ops, cals)
    written = c.save(tmp_path / "deep" / "er")
    assert [p.name for p in written] == ["comparison.json", "comparison.html", "comparison.md"]
    assert Comparison.load(tmp_path / "deep" / "er") == c
    d = c.to_dict()
    for broken, message in (
        ({**d, "schema": "x"}, "schema"),
        ({k: v for k, v in d.items() if k != "tau"}, "tau"),
        ({**d, "tau": float("inf")}, "tau must be a finite number"),
        ({**d, "networks": [{}]}, r"networks\[0\] lacks 'name'"),
    ):
        with pytest.raises(InputError, match=message):
            Comparison.from_dict(broken)


def test_many_networks_are_told_in_a_page(toy: Toy) -> None:
    """Of twelve, only neighbours are set side by side in the terminal; the reports hold all pairs."""
    own = networks(toy, 600, 5)[0]
    noise = np.random.default_rng(0)
    many = [replace(own, logits=own.logits + noise.normal(size=own.logits.shape) * i / 4) for i in range(12)]
    c = compare(many, names=[f"net-{i}" for i in range(12)])
    assert len(c.differences) == 66
    text = c.summary()
    assert text.count(" − net-") == 11
    assert "11 of 66 pairs, of networks next to one another" in text
    order = [p.name for p in next(r for r in c.rankings if r.figure == "accuracy").places]
    first = re.search(r"(net-\d+) − (net-\d+)", text)
    assert set(first.groups()) == set(order[:2])
    open_ = sum(not d.settled for d in c.differences)
    assert open_ > 6
    assert f"the order of {open_} of 66 pairs is not settled." in " ".join(text.split())
    assert to_markdown(c).count(" − net-") == 66


def test_hostile_and_long_names_stay_text(ops: list[Outputs], cals: list[Outputs], tmp_path: Path) -> None:
    for name in HOSTILE:
        c = compare(ops, cals, names=[name, "b", "c"])
        c.save(tmp_path)
        assert Comparison.load(tmp_path) == c
        page, markdown, text = to_html(c), to_markdown(c), c.summary()
        body = page.split("</style>")[1].rsplit("<script>", 1)[0]
        ElementTree.fromstring(f"<all>{_well_formed(body)}</all>")  # noqa: S314
        for bad in ("<script>alert", "<img", "<h1>no"):
            assert bad not in body
            assert bad not in markdown
        for bad in ("\u202e", "\x1b", "\x00", "\n#  heading"):
            assert bad not in body + markdown + text
        page.encode()
        assert max(map(len, text.splitlines())) <= 200


def _well_formed(body: str) -> str:
    """The page's body as XML, which fails for any tag that a name has smuggled in or left open."""
    return body.partition("</head>")[2].replace("<body>", "").replace(" hidden>", ">")


def test_inputs_given_again_count_once(ops: list[Outputs]) -> None:
    ids = np.tile(np.arange(len(ops[0])), 3)
    many = [
        Outputs(np.tile(o.logits, (3, 1)), np.tile(o.labels, 3), ids=ids, name=str(i))
        for i, o in enumerate(ops)
    ]
    found = compare(many)
    assert found.networks[0].n_labelled == len(ops[0])
    assert any("operation inputs occur before" in note for note in found.notes)


def test_label_errors_stay_in_the_bounds_compared(ops: list[Outputs], cals: list[Outputs]) -> None:
    named = {"first": 5, "second": "2%", "third": None}
    plain = [Outputs(o.logits) for o in ops]
    made = [assess(cals[0], plain[0], name=name, label_errors=errors) for name, errors in named.items()]
    found = {network.name: network.certified for network in compare_assessments(made).networks}
    assert found["first"].details["label_errors"] == 5
    assert found["first"].value < found["third"].value
    assert found["second"].value == pytest.approx(found["third"].value - 0.02)
    assert "at most 5 of the" in found["first"].assumptions[-1]
    counted = [assess(cals[0], ops[0], name=name, label_errors=3) for name in "ab"]
    with pytest.raises(InputError, match="Assess it with a rate"):
        compare_assessments(counted)
