"""assess(): figures, JSON, warnings, what is refused; on a toy network and on real outputs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest_types import Toy

from infimum import Assessment, Head, InputError, Outputs, Sampling, Stopping, assess
from infimum._rounding import floor4, signed
from infimum.bounds import Bound, confidence_floor, marginal_conformal, prediction_powered
from infimum.conformal import LAC, RAPS, SuccessLevels, calibrate
from infimum.estimators import recalibrated_success_level
from infimum.manifold._sampling import RunningLambda

STOP = Sampling(Stopping("samples", max_samples=4000, batch=2000))


@pytest.fixture(scope="module")
def data(toy: Toy) -> dict[str, Outputs]:
    rng = np.random.default_rng(1)
    return {
        name: toy.outputs(n, rng, name=name)
        for name, n in (("calibration", 300), ("tuning", 100), ("operation", 900))
    }


def test_whole_process(toy: Toy, data: dict[str, Outputs]) -> None:
    cal, ops = data["calibration"], data["operation"]
    a = assess(
        cal, ops, tuning=data["tuning"], head=toy.head, score=RAPS(k_reg="auto"), target=0.8, name="toy"
    )
    assert a.lambda_.source == "manifold"
    assert a.manifold["name"] == "kernel"
    assert a.lambda_.converged
    assert abs(a.lambda_.value - a.lambda_operation.value) < 0.01
    assert a.success.value == ops.accuracy
    assert a.certified[0].n == 400
    assert a.certified[0].value < ops.accuracy
    assert a.target.met == (a.certified[0].value >= 0.8)
    assert a.correct > a.incorrect
    assert a.pearson < -0.1
    error = a.lambda_.standard_error
    assert error.total == pytest.approx(np.sqrt(error.calibration**2 + error.sampling**2 + error.manifold**2))
    assert error.manifold > 0
    assert a.lambda_operation.standard_error.manifold == 0


def test_many_inputs_are_not_sampled_unless_asked(toy: Toy, data: dict[str, Outputs]) -> None:
    """From 2,000 inputs on λ is that of the inputs; a manifold that is named, or given data, is sampled."""
    cal = data["calibration"]
    many = toy.outputs(2000, np.random.default_rng(4))
    a = assess(cal, many, head=toy.head)
    assert (a.lambda_.source, a.manifold, a.lambda_) == ("operation", None, a.lambda_operation)
    assert any(note.startswith("nothing is sampled: of 2000 or more operation inputs") for note in a.notes)
    for options in ({"manifold": "kernel"}, {"manifold_data": many.features[:500]}):
        assert assess(cal, many, head=toy.head, sampling=STOP, **options).manifold["name"] == "kernel"
    fewer = Outputs(many.logits[:1999], features=many.features[:1999])
    assert assess(cal, fewer, head=toy.head, sampling=STOP).lambda_.source == "manifold"
    with pytest.raises(InputError, match="6 columns, expected 5"):  # a wrong head is not passed over
        assess(cal, many, head=Head(np.ones((4, 5))))
    # Half of the inputs weigh almost nothing: they count as 1,000.
    weights = np.repeat([1.0, 1e-6], 1000)
    weighted = Outputs(many.logits, features=many.features, weights=weights)
    assert assess(cal, weighted, head=toy.head, sampling=STOP).lambda_.source == "manifold"
    # Without a head or features it is these that are missing, whatever the number.
    for operation, options, missing in (
        (many, {}, "without head nothing"),
        (Outputs(many.logits), {"head": toy.head}, "without features nothing"),
        (Outputs(many.logits), {}, "without head and features nothing"),
    ):
        assert any(note.startswith(missing) for note in assess(cal, operation, **options).notes)


def test_auto_shows_what_it_chose_from(toy: Toy, data: dict[str, Outputs], tmp_path: Path) -> None:
    a = assess(data["calibration"], data["operation"], head=toy.head, manifold="auto", sampling=STOP)
    assert a.selection.n == 900
    assert a.selection.chosen.startswith(a.manifold["name"])
    assert str(a.selection.why) in a.notes
    assert str(a.selection.why).startswith(f"manifold auto took {a.selection.chosen}: ")
    a.save(tmp_path)
    assert Assessment.load(tmp_path) == a
    kernel = next(c for c in a.selection.candidates if c.name == "kernel")
    figures = f"{signed(kernel.difference)} ± {kernel.standard_error:.4f}"
    pages = [(tmp_path / f"report.{kind}").read_text() for kind in ("md", "html")]
    for text in (a.summary(), *pages):
        assert figures in text
        assert f"{kernel.log_likelihood:.3f}" in text
        assert "chosen" in text
    d = a.to_dict()
    assert d["selection"]["candidates"][0]["name"] == "kernel"
    for broken in ({"chosen": 3}, {"candidates": [{"name": "x"}]}, {"more": 1}, {"n": "many"}):
        with pytest.raises(InputError, match=r"selection"):
            Assessment.from_dict({**d, "selection": {**d["selection"], **broken}})
    hostile = a.to_dict()
    text = "<b>|x|\x1b[2J\nnew"
    hostile["selection"]["candidates"][1] |= {"verdict": "not-possible", "why": text}
    hostile["selection"]["why"]["code"] = hostile["findings"][0]["code"] = text
    shown = Assessment.from_dict(hostile)
    assert "\x1b" not in shown.summary()
    shown.save(tmp_path)
    for kind in ("md", "html"):
        assert "<b>|" not in (tmp_path / f"report.{kind}").read_text()


def test_json_round_trip(toy: Toy, data: dict[str, Outputs], tmp_path: Path) -> None:
    a = assess(
        data["calibration"], data["operation"], head=toy.head, manifold="gmm", sampling=STOP, target=0.99
    )
    a.save(tmp_path / "deep" / "er")
    assert Assessment.load(tmp_path / "deep" / "er") == a
    d = json.loads((tmp_path / "deep" / "er" / "assessment.json").read_text())
    assert d["schema"] == "infimum/assessment/2"
    keys = "network n_classes calibration lambda lambda_operation success correct incorrect certified estimates target"
    assert set(keys.split()) <= set(d)
    assert set(d["lambda"]["standard_error"]) == {"total", "calibration", "sampling", "manifold"}
    assert d["lambda"]["history"][0].keys() == {"n", "value", "standard_error"}
    assert d["calibration"]["score"] == {"name": "raps", "penalty": 0.01, "k_reg": 1}
    assert d["target"] == {"value": 0.99, "confidence": 0.95, "met": False, "by": "clopper_pearson"}
    assert d["lambda_operation"]["stopping"] is None
    with pytest.raises(InputError, match="schema"):
        Assessment.from_dict({**d, "schema": "x"})
    with pytest.raises(InputError, match="checksum does not match"):
        Assessment.from_dict({**d, "n_classes": 5})
    del d["checksum"], d["target"]
    with pytest.raises(InputError, match="lacks 'target'"):
        Assessment.from_dict(d)


def test_certified_bounds(toy: Toy, data: dict[str, Outputs]) -> None:
    """Clopper–Pearson first; those from success levels beside it, with what they rest on."""
    a = assess(data["calibration"], data["operation"], score=LAC())
    assert [b.method for b in a.certified] == ["clopper_pearson", "marginal_conformal", "confidence_floor"]
    accuracy = toy.outputs(50_000, np.random.default_rng(2)).accuracy
    assert all(0 < b.value < accuracy for b in a.certified[:2])
    assert [b.n for b in a.certified] == [300] * 3
    error = a.certified[1].details["error_level"]
    assert f"300 labelled inputs, 900 unlabelled, at error level {error:.4f}" in a.summary()
    calibration = calibrate(data["calibration"].logits, data["calibration"].labels, score=LAC())
    assert marginal_conformal(calibration, data["operation"].logits) == a.certified[1]
    assert confidence_floor(calibration, data["operation"].logits) == a.certified[2]


def test_recalibrated_lambda_stands_beside(toy: Toy, data: dict[str, Outputs]) -> None:
    """The estimator's own figure, with tuned rows left out; weights are the operation's."""
    cal, ops = data["calibration"], data["operation"]
    (found,) = assess(cal, ops).estimates
    alone = recalibrated_success_level(cal, ops)
    assert (found.method, found.note) == (alone.method, alone.note)
    assert found.value == pytest.approx(alone.value, abs=1e-12)
    assert found.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    assert (
        abs(found.value - toy.outputs(50_000, np.random.default_rng(2)).accuracy) < 4 * found.standard_error
    )
    summary = assess(cal, ops).summary()
    assert f"recalibrated λ, estimate {floor4(found.value)} ± " in " ".join(summary.split())
    tuned = assess(cal, ops, score=RAPS(k_reg="auto"))
    assert tuned.calibration.n == 240
    assert abs(tuned.estimates[0].value - found.value) < 2 * found.standard_error
    weights = np.where(ops.correct, 1.0, 9.0)
    weighted = assess(cal, Outputs(ops.logits, weights=weights)).estimates[0]
    again = recalibrated_success_level(cal, Outputs(ops.logits, weights=weights))
    assert weighted.value == pytest.approx(again.value, abs=1e-12)
    assert weighted.value < found.value - 0.02


def test_curves_come_from_the_calibration_where_the_operation_has_no_labels(
    data: dict[str, Outputs], tmp_path: Path
) -> None:
    cal, ops = data["calibration"], data["operation"]
    assert assess(cal, ops).on_calibration is None
    a = assess(cal, Outputs(ops.logits), target=0.91)
    assert a.curves is a.on_calibration
    assert a.curves.n == 300
    assert [w.wanted for w in a.curves.wanted][:2] == [0.9, 0.91]
    a.save(tmp_path)
    assert Assessment.load(tmp_path) == a
    d = a.to_dict()
    d["on_calibration"]["wanted"] *= 9
    with pytest.raises(InputError, match="wanted has"):
        Assessment.from_dict(d)


def test_target_is_judged_by_the_method_named_beforehand(
    data: dict[str, Outputs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger bound of another method does not meet the target, nor does it enter the verdict."""
    larger = Bound(0.9999, 0.95, "marginal_conformal", 300, ("x",))
    monkeypatch.setattr("infimum.bounds._registry.marginal_conformal_of_counts", lambda *_: larger)
    a = assess(data["calibration"], data["operation"], target=0.999)
    assert larger in a.certified
    assert (a.target.met, a.target.by) == (False, "clopper_pearson")
    assert f"NOT met. At least {a.certified[0].value:.3f}"[:-1] in a.summary()
    assert "the largest of several, picked afterwards" in " ".join(a.summary().lower().split())


def test_bounds_from_success_levels_are_withheld_where_they_do_not_hold(data: dict[str, Outputs]) -> None:
    cal, ops = data["calibration"], data["operation"]
    weighted = assess(cal, Outputs(ops.logits, weights=np.linspace(1, 2, 900)))
    tuned = assess(cal, ops, tuning=cal, score=RAPS(k_reg="auto"))
    for a, why in ((weighted, "the operation is weighted"), (tuned, "tuned on calibration rows")):
        assert [b.method for b in a.certified] == ["clopper_pearson"]
        assert any(why in note for note in a.notes)
    assert len(assess(cal, ops, tuning=cal).certified) == 3  # nothing was tuned


def test_same_seed_same_assessment(toy: Toy, data: dict[str, Outputs]) -> None:
    one, two, three = (
        assess(data["calibration"], data["operation"], head=toy.head, sampling=STOP, seed=s)
        for s in (4, 4, 5)
    )
    assert one == two
    assert one.lambda_.value != three.lambda_.value


def test_without_head_lambda_is_that_of_the_operation(data: dict[str, Outputs]) -> None:
    unlabelled = Outputs(data["operation"].logits)
    a = assess(data["calibration"], unlabelled)
    assert a.lambda_ == a.lambda_operation
    assert a.lambda_.source == "operation"
    assert (a.success, a.correct, a.incorrect, a.pearson, a.target) == (None,) * 5
    assert "without head and features" in a.notes[0]


def test_summary_says_what_lambda_is_not(data: dict[str, Outputs]) -> None:
    text = assess(data["calibration"], data["operation"], target=0.5).summary()
    assert "λ is an estimate, not a guarantee" in text
    assert "Target 0.5: met." in text
    assert "holds with 95 % confidence; 300 labelled inputs" in text


def test_weights_are_the_operational_profile(toy: Toy, data: dict[str, Outputs]) -> None:
    ops = data["operation"]
    hard = (ops.predicted == 0).astype(float)
    weighted = Outputs(ops.logits, ops.labels, ops.features, weights=hard)
    alone = Outputs(ops.logits[hard > 0], ops.labels[hard > 0], ops.features[hard > 0])
    a, b = (
        assess(data["calibration"], o, head=toy.head, levels="randomize=no", sampling=STOP)
        for o in (weighted, alone)
    )
    assert a.lambda_operation.value == pytest.approx(b.lambda_operation.value, abs=1e-12)
    assert a.success.value == pytest.approx(b.success.value, abs=1e-12)
    assert a.correct == pytest.approx(b.correct, abs=1e-12)
    assert a.lambda_operation.effective_n == pytest.approx(hard.sum())
    assert a.lambda_.value == pytest.approx(b.lambda_.value, abs=0.01)  # the manifold follows the weights too
    assert "weights do not enter" in " ".join(a.certified[0].assumptions)


def warned(a: Assessment, part: str) -> bool:
    return any(part in w for w in a.warnings)


def test_warnings(toy: Toy, data: dict[str, Outputs]) -> None:
    cal, ops = data["calibration"], data["operation"]
    small = Outputs(cal.logits[:20], cal.labels[:20])
    assert warned(assess(small, ops), "capped at n/(n+1) = 0.9524")
    assert warned(assess(cal, ops, target=0.999), "capped")
    assert not warned(assess(cal, ops), "capped")
    both = Outputs(np.vstack([ops.logits, cal.logits[:5]]))
    assert warned(
        assess(cal, both), "5 of the 905 operation inputs have the outputs of calibration rows and may be"
    )
    assert warned(
        assess(cal, ops, tuning=cal, score=RAPS(k_reg="auto")), "all 300 tuning rows are calibration"
    )
    assert assess(cal, ops, tuning=cal, score=RAPS(k_reg="auto")).certified[0].n == 300
    rare = cal.labels != 2
    assert warned(
        assess(Outputs(cal.logits[rare], cal.labels[rare]), ops), "no calibration row has the label 2"
    )
    hard = np.eye(4)[ops.predicted]
    assert warned(assess(cal, Outputs.from_probabilities(hard)), "900 of the 900 operation rows hold")
    assert warned(assess(cal, Outputs(ops.logits[:3])), "only 3 operation inputs")
    few = assess(cal, ops, head=toy.head, manifold_data=ops.features[:9], sampling=STOP)
    assert warned(few, "fitted to 9 features only")
    one = Outputs(ops.logits, weights=np.eye(900)[3])
    assert warned(assess(cal, one), "effective number of 1.0 operation inputs")
    other = Head(toy.head.weight[::-1], toy.head.bias)
    assert warned(assess(cal, ops, head=other, sampling=STOP), "different networks")
    assert not warned(assess(cal, ops, head=toy.head, sampling=STOP), "different networks")
    short = "se:tol=1e-9,max_samples=3000"
    assert warned(assess(cal, ops, head=toy.head, sampling=short), "before its stopping rule held")


def test_operation_unlike_calibration(data: dict[str, Outputs]) -> None:
    """Said in the summary, in the bound's assumptions and so in the verdict; it can be switched off."""
    cal, ops = data["calibration"], Outputs(data["operation"].logits * 0.4)
    a = assess(cal, ops)
    assert a.exchangeability.rejected
    assert warned(a, "calibration and operation are not alike")
    assert "which a test REJECTS (p ≤ 0.002)" in a.certified[0].assumptions[-1]
    assert "which a test REJECTS" in " ".join(a.summary().split())
    assert Assessment.from_dict(json.loads(a.to_json())) == a
    alike = assess(cal, data["operation"])
    assert not alike.exchangeability.rejected
    assert "no difference found" in alike.summary()
    assert alike.certified[0].value == a.certified[0].value
    off = assess(cal, ops, exchangeability=False)
    assert off.exchangeability is None
    assert not warned(off, "not alike")
    assert Assessment.from_dict(off.to_dict()) == off


def test_overconfident_manifold_data_is_suspected(toy: Toy, data: dict[str, Outputs]) -> None:
    """Features further from the boundaries than the operation's, as those of training inputs are."""
    sure = toy.means[np.random.default_rng(0).integers(4, size=400)] * 1.8
    a = assess(data["calibration"], data["operation"], head=toy.head, manifold_data=sure, sampling=STOP)
    assert warned(a, "was the network trained on them?")
    assert warned(a, "does not look like the data")


def test_classes_in_another_order_are_refused(data: dict[str, Outputs]) -> None:
    cal, ops = data["calibration"], data["operation"]
    named = Outputs(cal.logits, cal.labels, class_names=("a", "b", "c", "d"))
    assess(named, Outputs(ops.logits, class_names=("a", "b", "c", "d")))
    with pytest.raises(InputError, match="another order"):
        assess(named, Outputs(ops.logits, class_names=("b", "a", "c", "d")))


def test_interrupt_keeps_what_was_sampled(toy: Toy, data: dict[str, Outputs]) -> None:
    def stop(batch: RunningLambda) -> None:
        raise KeyboardInterrupt

    endless = Sampling(Stopping("se", tolerance=1e-9, batch=1000))
    a = assess(data["calibration"], data["operation"], head=toy.head, sampling=endless, progress=stop)
    assert (a.interrupted, a.lambda_.converged, a.lambda_.n) == (True, False, 1000)
    assert a.warnings[0].startswith("interrupted")


@pytest.mark.parametrize("levels", ["step=0.01", SuccessLevels(empty="zero"), "step=0.25,empty=nan"])
def test_readings(data: dict[str, Outputs], levels: SuccessLevels | str) -> None:
    a = assess(data["calibration"], data["operation"], score=LAC(), levels=levels)
    assert 0 < a.lambda_operation.value < 1
    exact = assess(data["calibration"], data["operation"], score=LAC())
    assert a.certified == exact.certified  # the theorems need exact levels
    assert not a.calibration.randomize


def test_refused(toy: Toy, data: dict[str, Outputs]) -> None:
    cal, ops = data["calibration"], data["operation"]
    plain = Outputs(ops.logits)
    for call, message in (
        (lambda: assess(Outputs(cal.logits), ops), "no 'labels'"),
        (lambda: assess(cal, Outputs(ops.logits[:, :3])), "4 classes, operation has 3"),
        (lambda: assess(cal, ops, manifold="kernel"), "needs the prediction layer"),
        (lambda: assess(cal, plain, manifold="gmm", head=toy.head), "needs features"),
        (lambda: assess(cal, plain, manifold="auto", head=toy.head), "the auto manifold needs features"),
        (lambda: assess(cal, plain, manifold_data=ops.features), "needs the prediction layer"),
        (lambda: assess(cal, ops, head=Head(np.ones((4, 5)))), "6 columns, expected 5"),
        (lambda: assess(cal, ops, head=Head(np.ones((3, 6)))), "has 3 classes"),
        (lambda: assess(cal, ops, target=1.0), "target"),
        (lambda: assess(cal, ops, confidence=0), "confidence"),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize(("file", "success"), [("cifar10_vgg16", 0.936), ("cifar100_densenet-bc-100", 0.754)])
def test_real_outputs(shared_data: Path, file: str, success: float) -> None:
    """What two published networks said: λ lies above λ*, the certified bound below."""
    with np.load(shared_data / "outputs" / f"{file}.npz") as npz:
        p, y = npz["probs"], npz["labels"]
    order = np.random.default_rng(0).permutation(len(y))
    cal, tun, ops = (Outputs.from_probabilities(p[r], labels=y[r]) for r in np.split(order, [1000, 2000]))
    a = assess(cal, ops, tuning=tun, score=RAPS(k_reg="auto"))
    assert a.success.value == pytest.approx(success, abs=0.005)
    assert a.certified[0].value < a.success.value < a.lambda_.value
    assert warned(a, "not a lower bound")


@pytest.mark.parametrize("method", ["prediction_powered", "prediction_powered_betting"])
def test_prediction_powered_judges_when_asked(data: dict[str, Outputs], method: str) -> None:
    """Its levels are softmax confidences, which have seen no label; labelled rows count once, as for the binomial."""
    cal, ops, tun = data["calibration"], data["operation"], data["tuning"]
    a = assess(cal, ops, tuning=tun, target=0.5, method=method)
    assert [b.method for b in a.certified[:2]] == [method, "clopper_pearson"]
    assert a.target.by == method
    assert a.certified[1] == replace(assess(cal, ops, tuning=tun).judge, judges=False)
    z = np.concatenate([cal.logits, tun.logits])
    top, unlabelled = (
        np.exp(v - np.logaddexp.reduce(v, axis=1)[:, None]).max(axis=1) for v in (z, ops.logits)
    )
    kind = "asymptotic" if method == "prediction_powered" else "betting"
    direct = prediction_powered(np.concatenate([cal.correct, tun.correct]), top, unlabelled, method=kind)
    assert a.certified[0].value == pytest.approx(direct.value, abs=1e-9)
    ids = np.arange(len(ops) + len(cal))
    joined = Outputs(np.concatenate([ops.logits, cal.logits]), ids=ids)
    named = Outputs(cal.logits, cal.labels, ids=ids[len(ops) :])
    assert assess(named, joined, tuning=tun, method=method).certified[0].value == pytest.approx(direct.value)
    with pytest.raises(InputError, match="weighted"):
        assess(cal, Outputs(ops.logits, weights=np.ones(len(ops))), method=method)
    with pytest.raises(InputError, match="every operation input"):
        assess(cal, Outputs(cal.logits), method=method)
    with pytest.raises(InputError, match="method must be one of"):
        assess(cal, ops, method="best")


@pytest.mark.parametrize(
    ("manifold", "said"),
    [
        ("tree:covariance=diag", "manifold tree takes no 'covariance=diag'; it has no parameters"),
        ("kernel:components=3", "manifold kernel takes no 'components=3'; its parameters.*: bandwidth"),
        ("gmm:bandwidth=0.3", "manifold gmm takes no 'bandwidth=0.3'; .*: components, covariance"),
        ("auto:bandwidth=0.3", "manifold auto takes no 'bandwidth=0.3'; it has no parameters"),
        ("none:covariance=bogus", "manifold none takes no"),
    ],
)
def test_a_parameter_of_another_manifold_is_refused(
    data: dict[str, Outputs], manifold: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        assess(data["calibration"], data["operation"], manifold=manifold)


def test_a_seed_of_the_sampling_is_its_own(toy: Toy, data: dict[str, Outputs]) -> None:
    def drawn(seed: int, sampling: str) -> float:
        options = {"levels": "randomize=no", "manifold": "kernel", "seed": seed}
        return assess(
            data["calibration"], data["operation"], head=toy.head, sampling=sampling, **options
        ).lambda_.value

    few = "samples:max_samples=4000,batch=2000"
    assert drawn(1, few) != drawn(2, few)
    assert drawn(1, f"{few},seed=3") == drawn(2, f"{few},seed=3")


@pytest.mark.parametrize("converged", [True, False])
def test_a_flow_is_not_said_to_be_fitted_by_em(toy: Toy, converged: bool) -> None:
    rng = np.random.default_rng(5)
    a = assess(toy.outputs(150, rng), toy.outputs(150, rng), head=toy.head, manifold="gmm", sampling=STOP)
    assert "EM converged after" in a.summary()
    fit = {**a.manifold, "name": "flow", "iterations": 7, "converged": converged}
    text = replace(a, manifold=fit).summary()
    assert "EM" not in text
    assert f"training {'' if converged else 'not '}converged after 7 epochs" in " ".join(text.split())


def test_few_wrong_rows_are_told_beside_the_estimates(toy: Toy) -> None:
    """With no wrong row the recalibrated λ is 1.0000 ± 0.0000: every format must say that the error is too small."""
    rng = np.random.default_rng(0)
    cal, ops = toy.outputs(300, rng), toy.outputs(300, rng)
    right = cal.taken(np.flatnonzero(cal.correct))
    for calibration, said in ((right, True), (cal, False)):
        a = assess(calibration, ops)
        told = any("calibration rows are wrong: the standard errors" in note for note in a.notes)
        assert told == said
