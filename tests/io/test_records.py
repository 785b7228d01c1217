"""Every record: to JSON and back, what its annotations refuse, in Python as in a file."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infimum import InputError
from infimum.assessment._diagnostics.records import Diagnostics
from infimum.assessment._results import Assessment, Success, Target
from infimum.bounds import Bound, Estimate
from infimum.certification._certificate import Certificate
from infimum.certification._planning import Plan
from infimum.certification._sequence import Sequence
from infimum.conformal import LAC, Calibration, calibrate
from infimum.estimators._side_by_side import Estimates
from infimum.io.ranges import Probability, Range, checked, hints_of
from infimum.io.records import Document, Record
from infimum.manifold._fidelity import BINS, Fidelity
from infimum.manifold._manifold import ManifoldFit


def records(base: type = Record) -> list[type]:
    """Every record of the package, so that none can be forgotten here."""
    found = [kind for kind in base.__subclasses__() if kind is not Document]
    inner = [kind for one in base.__subclasses__() for kind in records(one)]
    return sorted({*found, *inner}, key=lambda kind: f"{kind.__module__}.{kind.__name__}")


RECORDS = [kind for kind in records() if kind.__module__.startswith("infimum.")]
TEXT = st.text(max_size=5)
PLAIN = st.dictionaries(
    TEXT, st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), TEXT), max_size=2
)


def values(hint: Any) -> st.SearchStrategy:
    """Plain values that the annotation allows; records are made of them outside, where beartype may draw lots."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limit = inside[1]
        low, high = max(limit.low, 0) if limit.low > -0.5 else -1, min(limit.high, 1000)
        if inside[0] is int:
            return st.integers(int(limit.low), 1000)
        return st.floats(low, min(high, 1) if high < 2 else high, exclude_min=limit.above)
    if origin is Literal:
        return st.sampled_from(inside)
    if origin is tuple:
        return st.lists(values(inside[0]), max_size=2)
    if origin is dict:
        return PLAIN if inside[1] is Any else st.dictionaries(TEXT, values(inside[1]), max_size=2)
    if type(None) in inside:
        return st.one_of(st.none(), *(values(kind) for kind in inside if kind is not type(None)))
    if isinstance(hint, type) and issubclass(hint, Record):
        return plain(hint)
    return {bool: st.booleans(), str: TEXT, float: st.floats(-1e6, 1e6), int: st.integers(-5, 5)}[hint]


def judged() -> st.SearchStrategy:
    """One bound or two, the first of which judges."""
    bounds = st.lists(plain(Bound), min_size=1, max_size=2)
    return bounds.map(lambda many: [{**bound, "judges": i == 0} for i, bound in enumerate(many)])


def plain(kind: type) -> st.SearchStrategy:
    """What records of this kind are in JSON, without what is computed."""
    parts = {kind.KEYS.get(name, name): values(hint) for name, hint in hints_of(kind).items()}
    if kind is Fidelity:
        bins = st.lists(st.floats(0, 1), min_size=BINS, max_size=BINS)
        parts |= {"levels_samples": bins, "levels_real": bins}
    elif kind is Diagnostics:
        parts["levels"] = st.just([])
    elif issubclass(kind, Bound | Success):
        parts["n"] = st.integers(1000, 2000)
    elif kind is Certificate:
        parts |= {"n": st.integers(1000, 2000), "bounds": judged()}
    elif kind is Assessment:
        parts["manifold"] = st.one_of(st.none(), plain(ManifoldFit))
        parts["certified"] = judged()
    return st.fixed_dictionaries(parts)


@pytest.mark.parametrize(
    "kind", [kind for kind in RECORDS if kind is not Estimates], ids=lambda k: k.__name__
)
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_to_json_and_back(kind: type, data: st.DataObject) -> None:
    record = kind.built(data.draw(plain(kind)), "")
    text = record.to_json() if isinstance(record, Document) else json.dumps(record.to_dict(), allow_nan=False)
    assert kind.from_dict(json.loads(text)) == record
    assert kind.from_dict(record.to_dict()) == record
    with pytest.raises(InputError, match="lacks"):
        kind.from_dict({k: v for k, v in record.to_dict().items() if k not in [f.name for f in fields(kind)]})
    with pytest.raises(InputError, match="has 'more'"):
        kind.from_dict({**record.to_dict(), "more": 1})
    with pytest.raises(InputError, match="object"):
        kind.from_dict([record.to_dict()])


def numbers(kind: type) -> list[tuple[str, Any]]:
    """Fields of one number, with the annotation of the number."""
    found = []
    for name, hint in hints_of(kind).items():
        kinds = (hint, *get_args(hint)) if get_origin(hint) is not Annotated else (hint,)
        found += [(name, k) for k in kinds if k in (float, int) or get_origin(k) is Annotated][:1]
    return [(name, hint) for name, hint in found if get_origin(hints_of(kind)[name]) is not tuple]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda k: k.__name__)
@given(data=st.data())
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
def test_numbers_that_cannot_be(kind: type, data: st.DataObject) -> None:
    """Out of range: refused in Python too. Not a number, or none that is finite: refused by name."""
    record = kind.built(data.draw(plain(kind)), "")
    document = record.to_dict()
    for name, hint in numbers(kind):
        limit = get_args(hint)[1] if get_origin(hint) is Annotated else None
        whole = int in (hint, *get_args(hint))
        if limit is not None:
            beyond = [limit.low] if limit.above else [limit.low - 1]
            beyond += [7.5] if limit.high <= 2 else []
            for value in beyond:
                with pytest.raises(InputError, match=rf"{kind.__name__}\.{name} must be"):
                    replace(record, **{name: int(value) if whole else float(value)})
        key = kind.KEYS.get(name, name)
        for value in (True, "1", 10**400, -(10**400), math.nan, math.inf, [1], {}, 0.5 if whole else "0.5"):
            with pytest.raises(InputError, match=rf"^{key} must be") as caught:
                kind.from_dict({**document, key: value})
            assert len(str(caught.value)) < 200


def test_the_examples_that_were_accepted_once() -> None:
    cal = calibrate(np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 0]), score=LAC())
    bound, target = Bound(0.5, 0.95, "clopper_pearson", 10, (), judges=True), Target(0.5, 0.95, True, "y")
    for call, message in (
        (lambda: Bound(7.5, 0.95, "x", 10, ()), r"Bound\.value must be from 0 to 1, not 7\.5"),
        (lambda: Bound(0.5, 1.5, "x", 10, ()), r"Bound\.confidence must be above 0 and at most 1"),
        (lambda: Bound(0.5, 0.95, "x", -1, ()), r"Bound\.n must be 0 or more"),
        (lambda: Success(5.0, 10, 5), r"Success\.value must be from 0 to 1, not 5\.0"),
        (lambda: Success(0.5, 10, 11), r"Success\.correct is 11, of 10"),
        (lambda: replace(bound, successes=11), r"Bound\.successes is 11, of 10"),
        (lambda: Estimate(-0.5, "x", "y"), r"Estimate\.value"),
        (lambda: Calibration(LAC(), cal.keys, 0), r"Calibration\.n_classes must be 2 or more, not 0"),
        (
            lambda: Calibration(LAC(), cal.keys, 3, -3.0),
            r"Calibration\.temperature must be above 0, not -3\.0",
        ),
        (lambda: Calibration(LAC(), cal.keys[::-1], 3), "ascending"),
        (lambda: Calibration(LAC(), cal.keys[:1], 3), "at least 2"),
        (lambda: Sequence("x", 7.5, 0.95), r"Sequence\.target"),
        (lambda: Certificate("x", target, 3, 4, (bound,)), "wrong is 4"),
        (lambda: Certificate("x", target, 3, 0, ()), "bounds is empty"),
        (lambda: Certificate("x", target, 3, 0, (replace(bound, judges=False),)), "the first bound judges"),
        (lambda: Certificate("x", target, 3, 0, (bound, bound)), "the first bound judges, and no other"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_where_a_wrong_value_stands_is_said() -> None:
    bound = Bound(0.5, 0.95, "clopper_pearson", 10, ())
    document = Certificate(
        "x", Target(0.5, 0.95, True, "y"), 3, 0, (replace(bound, judges=True), bound)
    ).to_dict()
    document["bounds"][1]["value"] = 7.5
    with pytest.raises(InputError, match=r"^bounds\[1\]\.value must be from 0 to 1, not 7\.5$"):
        Certificate.from_dict(document)
    with pytest.raises(InputError, match="a number of thousands of digits"):
        checked(10**5000, Probability, "x")
    with pytest.raises(InputError, match=r"Plan\.provenance\.a\.b\[1\] must be a finite number"):
        Plan(0.9, 0.95, 0.9, (), 3, provenance={"a": {"b": [1, math.inf]}})


def test_sums_may_round() -> None:
    assert Success(1 + 1e-12, 10, 10).value > 1
    assert not Range(0, 1, "", above=True).holds(0)
