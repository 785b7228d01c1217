"""The one grammar of options: what texts mean, what is refused, and that every place takes the same texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import typer
from command_line import call, infimum_inside
from conftest_types import Toy
from hypothesis import given
from hypothesis import strategies as st

from infimum import Head, InputError, Outputs, assess
from infimum._grammar import Kind, Registry, split, value_of
from infimum.bounds import ClopperPearson, PredictionPowered
from infimum.bounds._judges import JUDGES
from infimum.cli.app import app
from infimum.cli.network import LABELS, NETWORKS, HowRun, LabelsOf
from infimum.cli.objects import HOMES, METAVAR, PAIRS, registry
from infimum.conformal import APS, LAC, RAPS, SAPS, Margin, SuccessLevels, TopK
from infimum.conformal._options import LEVELS
from infimum.conformal._scores import SCORES
from infimum.data import ImageOptions
from infimum.data._images import IMAGES
from infimum.manifold import Sampling, Stopping
from infimum.manifold._options import (
    MANIFOLDS,
    Auto,
    ClassGaussians,
    Flow,
    GaussianMixture,
    Kernel,
    Neighbors,
    NoManifold,
    Tree,
)
from infimum.manifold._stopping import SAMPLINGS

READ: list[tuple[Registry[Any], str, object]] = [
    (SCORES, "raps", RAPS()),
    (SCORES, "raps:", RAPS()),
    (SCORES, "raps:penalty=0.5", RAPS(penalty=0.5)),
    (SCORES, "raps:penalty=1,k_reg=auto", RAPS(penalty=1.0, k_reg="auto")),
    (SCORES, "raps: k_reg=2 , penalty=5e-1", RAPS(0.5, 2)),
    (SCORES, 'raps:"k_reg=2",penalty="0.5"', RAPS(0.5, 2)),
    (SCORES, "saps:weight=.2", SAPS(0.2)),
    (LEVELS, "", SuccessLevels()),
    (LEVELS, "randomize=false", SuccessLevels(randomize=False)),
    (LEVELS, "temperature=none,step=exact", SuccessLevels()),
    (LEVELS, "temperature=2,step=0.1,empty=nan", SuccessLevels(2.0, True, "0.1", "nan")),
    (MANIFOLDS, "none", NoManifold()),
    (MANIFOLDS, "gmm:components=none", GaussianMixture()),
    (MANIFOLDS, "class-gaussians:covariance=lowrank:8", ClassGaussians("lowrank:8")),
    (SAMPLINGS, "se", Sampling()),
    (SAMPLINGS, "time:seconds=5,seed=3", Sampling(Stopping("time", seconds=5.0), seed=3)),
    (JUDGES, "prediction_powered", PredictionPowered("asymptotic")),
    (IMAGES, "crop=none,mean=0.5/0.5/1", ImageOptions(crop=None, mean=(0.5, 0.5, 1.0))),
    (NETWORKS, "factory=my.nets:make", HowRun(factory="my.nets:make")),
    (NETWORKS, 'weights="a,b ""c"".pt",device=cuda', HowRun(weights=Path('a,b "c".pt'), device="cuda")),
    (NETWORKS, "weights=a=b.pt,skip_bad=yes", HowRun(weights=Path("a=b.pt"), skip_bad=True)),
    (LABELS, "operation=none,calibration=y.npy", LabelsOf("y.npy", "none")),
]


@pytest.mark.parametrize(("known", "text", "meant"), READ, ids=lambda x: x if isinstance(x, str) else "")
def test_what_a_text_means(known: Registry[Any], text: str, meant: object) -> None:
    assert known.read(text) == meant
    assert known.read(meant) is meant


REFUSED: list[tuple[Registry[Any], str, str]] = [
    (
        SCORES,
        "rasp",
        "score must be one of lac, aps, raps, saps, topk, margin, not 'rasp' (did you mean raps?)",
    ),
    (SCORES, "", "score must be one of lac, aps, raps, saps, topk, margin, not ''"),
    (SCORES, "RAPS", "score must be one of"),
    (SCORES, " raps", "score must be one of"),
    (
        SCORES,
        "raps:penality=1",
        "score raps takes no 'penality=1' (did you mean penalty?); its parameters, as ",
    ),
    (
        SCORES,
        "raps:penalty",
        "score raps: penalty needs a value, as penalty=VALUE",
    ),
    (SCORES, "raps:penalty =1", "score raps takes no 'penalty =1' (did you mean penalty?)"),
    (SCORES, "raps:penalty=1,penalty=1", "score raps: penalty is given twice"),
    (SCORES, "raps:penalty=", "score raps: penalty must be a finite number, not ''"),
    (SCORES, "raps:penalty=1_000", "penalty must be a finite number, not '1_000'"),
    (SCORES, "raps:penalty= 5", "penalty must be a finite number, not ' 5'"),
    (SCORES, "raps:penalty=٣", "penalty must be a finite number, not '٣'"),
    (SCORES, "raps:penalty=inf", "penalty must be a finite number, not 'inf'"),
    (SCORES, "raps:penalty=1e999", "penalty must be a finite number, not '1e999'"),
    (SCORES, "raps:penalty=-1", "score 'raps:penalty=-1': RAPS penalty must be 0 or more, not -1.0"),
    (SCORES, "raps:k_reg=1.5", "score raps: k_reg must be auto or a whole number, not '1.5'"),
    (SCORES, "raps:k_reg=" + "9" * 5000, "k_reg must be auto or a whole number, not '99999"),
    (SCORES, "raps:k_reg=" + "9" * 30, "k_reg (unless 'auto') must be a whole number below 2^63"),
    (SCORES, 'raps:penalty="1', "has a double quote that is not closed"),
    (SCORES, "lac:penalty=1", "score lac takes no 'penalty=1'; it has no parameters"),
    (LEVELS, "levels", "levels takes no 'levels'"),
    (LEVELS, "randomize=1", "levels: randomize must be yes or no, not '1'"),
    (LEVELS, "temperature=nan", "levels: temperature must be fit or none or a finite number, not 'nan'"),
    (LEVELS, "temperature=0", "levels 'temperature=0': temperature must be a finite number above 0, not 0.0"),
    (LEVELS, "empty=None", "levels: empty must be argmax or zero or nan, not 'None'"),
    (LEVELS, "step=2", "levels 'step=2': step must be"),
    (MANIFOLDS, "kernel:bandwidth=wide", "bandwidth must be auto or a finite number, not 'wide'"),
    (MANIFOLDS, "gmm:components=0", "components must be a whole number, 1 or more, not 0"),
    (MANIFOLDS, "class-gaussians:covariance=lowrank:0", "shrunk or lowrank:r"),
    (SAMPLINGS, "se:tolerance=1", "sampling se takes no 'tolerance=1'; its parameters"),
    (SAMPLINGS, "difference:seconds=1", "sampling difference takes no 'seconds=1'"),
    (SAMPLINGS, "se:seed=-1", "seed must be a whole number from 0 to 2^63 - 1"),
    (JUDGES, "best", "method must be one of clopper_pearson, prediction_powered, prediction_powered_betting"),
    (IMAGES, "resize=0", "resize must be from 1 to 10000 pixels, not 0"),
    (IMAGES, "mean=0.5/x", "images: mean must be numbers with / between, not '0.5/x'"),
    (IMAGES, "std=inf", "images: std must be numbers with / between, not 'inf'"),
    (NETWORKS, "batch_size=0", "batch_size must be 1 or more, not 0"),
    (NETWORKS, "device=tpu", "network: device must be cpu or cuda or mps, not 'tpu'"),
    (NETWORKS, "weights=", "network: weights must be none or a path, not ''"),
    (LABELS, "calibrate=x", "labels takes no 'calibrate=x' (did you mean calibration?)"),
]


@pytest.mark.parametrize(
    ("known", "text", "said"), REFUSED, ids=lambda x: x[:40] if isinstance(x, str) else ""
)
def test_what_is_refused(known: Registry[Any], text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        known.read(text)
    assert said in str(raised.value)


@pytest.mark.parametrize("known", [registry(name) for name in HOMES], ids=list(HOMES))
def test_what_is_neither_an_object_nor_a_text_is_refused(known: Registry[Any]) -> None:
    for wrong in (5, b"raps", ["raps"], object(), {"name": "raps"}):
        with pytest.raises(InputError, match=f"^{known.what} must be "):
            known.read(wrong)
    for kind in known.kinds.values():
        if isinstance(kind.make, type):
            with pytest.raises(InputError, match=rf"an object, not a class: {kind.make.__name__}\("):
                known.read(kind.make)
    with pytest.raises(InputError, match=f"^{known.what} must be "):
        known.read(Stopping())  # an object, but of none of them


def test_an_object_of_ones_own_is_taken() -> None:
    @dataclass(frozen=True)
    class Own:
        name: str = "own"

        def fit(self, features: Any, predicted: Any, logits: Any, seed: int) -> Any: ...

    own = Own()
    assert MANIFOLDS.read(own) is own


def written(value: object) -> str:
    """A value in the grammar; in quotes, which are never wrong."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "/".join(map(repr, value))
    word = "none" if value is None else str(value)
    return '"' + word.replace('"', '""') + '"'


def text_of(name: str, parameters: Mapping[str, object]) -> str:
    said = ",".join(f"{key}={written(value)}" for key, value in parameters.items())
    return f"{name}:{said}" if name and said else name or said


positive = st.floats(1e-300, 1e300)
numbers = st.integers(1, 2**62)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda w: w == w.strip() and w != "none"
)
names = st.one_of(st.none(), words)

OBJECTS: list[tuple[Registry[Any], Any, dict[str, st.SearchStrategy[Any]]]] = [
    *((SCORES, made, {}) for made in (LAC, APS, TopK, Margin)),
    (SCORES, RAPS, {"penalty": st.floats(0, 1e300), "k_reg": st.one_of(st.just("auto"), numbers)}),
    (SCORES, SAPS, {"weight": st.floats(0, 1e300)}),
    (
        LEVELS,
        SuccessLevels,
        {
            "temperature": st.one_of(st.just("fit"), positive),
            "randomize": st.booleans(),
            "step": st.sampled_from(["0.01", "1/8", "5e-2"]),
            "empty": st.sampled_from(["argmax", "zero", "nan"]),
        },
    ),
    *((MANIFOLDS, made, {}) for made in (Neighbors, Tree, Flow, Auto, NoManifold)),
    (MANIFOLDS, Kernel, {"bandwidth": st.one_of(st.just("auto"), positive)}),
    (
        MANIFOLDS,
        GaussianMixture,
        {
            "components": st.one_of(st.none(), numbers),
            "covariance": st.sampled_from(["full", "diag", "tied", "spherical"]),
        },
    ),
    (MANIFOLDS, ClassGaussians, {"covariance": st.sampled_from(["full", "shrunk", "lowrank:3"])}),
    (
        IMAGES,
        ImageOptions,
        {
            "resize": st.one_of(st.none(), st.integers(1, 10_000)),
            "crop": st.one_of(st.none(), st.integers(1, 10_000)),
            "mean": st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(-9, 9)),
            "std": st.tuples(positive, positive, positive),
            "mode": st.just("rgb"),
            "layout": st.sampled_from(["nchw", "nhwc"]),
        },
    ),
    (
        NETWORKS,
        HowRun,
        {
            "factory": names,
            "weights": st.one_of(st.none(), words.map(Path)),
            "head_layer": names,
            "device": st.sampled_from(["cpu", "cuda", "mps"]),
            "batch_size": st.one_of(st.none(), numbers),
            "preprocess": names,
            "skip_bad": st.booleans(),
        },
    ),
    (LABELS, LabelsOf, dict.fromkeys(("calibration", "operation", "tuning"), words)),
    (JUDGES, ClopperPearson, {}),
]


@pytest.mark.parametrize(("known", "made", "values"), OBJECTS, ids=lambda x: getattr(x, "__name__", ""))
def test_every_object_has_a_text(known: Registry[Any], made: Any, values: dict[str, Any]) -> None:
    assert set(values) == {field.name for field in fields(made)}

    @given(st.fixed_dictionaries(values))
    def check(parameters: dict[str, Any]) -> None:
        meant = made(**parameters)
        assert known.read(text_of("" if known.default else meant.name, parameters)) == meant

    check()


def test_no_registered_class_is_left_out() -> None:
    """Samplings and prediction-powered bounds, which a function makes, have tests of their own."""
    kinds = [(registry(name).what, kind.make) for name in HOMES for kind in registry(name).kinds.values()]
    classes = {make for _, make in kinds if isinstance(make, type)}
    assert classes | {SuccessLevels} == {made for _, made, _ in OBJECTS}
    assert {what for what, make in kinds if not isinstance(make, type)} == {"levels", "sampling", "method"}
    for bound in (PredictionPowered(), PredictionPowered("asymptotic")):
        assert JUDGES.read(bound.name) == bound


RULES: dict[str, Callable[[float], Stopping]] = {
    "se:tol": lambda value: Stopping("se", value, 7, batch=3),
    "difference:tol": lambda value: Stopping("difference", value, 7, batch=3),
    "time:seconds": lambda value: Stopping("time", max_samples=7, seconds=value, batch=3),
}


@given(
    st.sampled_from(sorted(RULES)),
    positive,
    st.sampled_from(["independent", "sobol"]),
    st.integers(0, 2**63 - 1),
)
def test_every_sampling_has_a_text(
    rule: str, value: float, draw: Literal["independent", "sobol"], seed: int
) -> None:
    text = f"{rule}={value!r},max_samples=7,batch=3,draw={draw},seed={seed}"
    assert SAMPLINGS.read(text) == Sampling(RULES[rule](value), draw, seed)
    assert SAMPLINGS.read("samples:max_samples=7,batch=3").stopping == Stopping(
        "samples", max_samples=7, batch=3
    )


@given(st.lists(st.text()))
def test_quoted_parts_come_apart_as_they_were(parts: list[str]) -> None:
    text = ",".join('"' + part.replace('"', '""') + '"' for part in parts)
    assert split(text) == ([part.strip() for part in parts] or [""])


@given(st.sampled_from([registry(name) for name in HOMES]), st.text(), st.text())
def test_whatever_is_given_is_read_or_refused_in_a_short_line(
    known: Registry[Any], name: str, rest: str
) -> None:
    for text in (name, f"{next(iter(known.kinds))}:{rest}", f"{next(iter(known.kinds))}:{name}={rest}", rest):
        said = ""
        try:
            known.read(text)
        except InputError as error:
            said = str(error)
        assert len(said) < 600
        assert said.isprintable()


@pytest.mark.parametrize("known", [registry(name) for name in HOMES], ids=list(HOMES))
def test_huge_texts_are_refused_at_once(known: Registry[Any]) -> None:
    name = "" if known.default else f"{next(iter(known.kinds))}:"
    for text in ("x" * 10**6, name + "x" * 10**6, name + "a=b," * 10**5, name + '"' * (10**6 + 1)):
        with pytest.raises(InputError) as raised:
            known.read(text)
        assert len(str(raised.value)) < 600


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_to_the_last_bit(value: float) -> None:
    found = value_of(repr(value), float, "x")
    assert (found, math.copysign(1, found)) == (value, math.copysign(1, value))


def test_a_wrong_object_of_a_right_text_is_named_with_it() -> None:
    def refuse() -> int:
        raise InputError("no")

    known: Registry[int] = Registry("thing", {"one": Kind(refuse, {}, {})}, lambda given: False)
    with pytest.raises(InputError, match="thing 'one': no"):
        known.read("one")


HIDDEN_TOO = {"assess": 30, "score": 29, "extract": 29, "calibrate": 29}


def options_of(command: str) -> list[str]:
    """Every name of an option, --help included."""
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    return [
        name for p in parameters if p.param_type_name == "option" for name in p.opts if name[:2] == "--"
    ] + ["--help"]


def test_commands_have_few_options() -> None:
    """Hidden ones count. What is said once, in the grammar, is no option of its own beside it."""
    for command, most in HIDDEN_TOO.items():
        found = options_of(command)
        assert len(found) <= most, (command, found)
        assert len(found) == len(set(found))
    every = {name for command in HIDDEN_TOO for name in options_of(command)}
    parameters = {
        "--" + key.replace("_", "-")
        for name in HOMES
        for kind in registry(name).kinds.values()
        for key in kind.hints
    }
    # Roles of files, and the seed of everything, are options; extract has a batch size, which may stand there alone.
    allowed = {"--calibration", "--operation", "--tuning", "--seed", "--batch-size"}
    assert every & parameters == allowed


def test_help_lists_every_name_and_parameter(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = {
        command: infimum_inside(
            command, "--help", cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys
        ).stdout
        for command in ("assess", "extract")
    }
    for name in HOMES:
        text = "".join(shown["assess"].split())
        for kind_name, kind in registry(name).kinds.items():
            assert registry(name).default or kind_name in text, kind_name
            assert all(f"{key}=" in text for key in kind.hints), (name, kind_name)
    assert not any(f"{{{name}}}" in text for text in shown.values() for name in HOMES)  # all are filled in
    assert METAVAR[:4] in shown["assess"]
    assert PAIRS[:9] in shown["extract"]


def test_file_command_line_and_python_take_the_same_texts(toy: Toy, tmp_path: Path, monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    for name, n in (("cal", 300), ("tun", 100), ("ops", 400)):
        toy.outputs(n, rng).save(tmp_path / f"{name}.npz")
    toy.head.save(tmp_path / "head.npz")
    monkeypatch.chdir(tmp_path)
    texts = {
        "score": "raps:penalty=0.02,k_reg=2",
        "levels": "temperature=fit,randomize=no,step=0.01,empty=zero",
        "manifold": "gmm:components=4,covariance=diag",
        "sampling": "samples:max_samples=2000,batch=1000,draw=sobol,seed=5",
        "method": "prediction_powered",
    }
    objects: dict[str, Any] = {
        "score": RAPS(0.02, 2),
        "levels": SuccessLevels("fit", False, "0.01", "zero"),
        "manifold": GaussianMixture(4, "diag"),
        "sampling": Sampling(Stopping("samples", max_samples=2000, batch=1000), "sobol", 5),
        "method": PredictionPowered("asymptotic"),
    }
    files = {"calibration": "cal.npz", "operation": "ops.npz", "tuning": "tun.npz", "head": "head.npz"}
    call(
        *("assess", *(word for key, value in (files | texts).items() for word in (f"--{key}", value))),
        *("--target", 0.5, "--seed", 3, "--out", "line", "-q"),
    )
    Path("infimum.toml").write_text(
        "\n".join(
            [
                'out = "file"\n[method]\nseed = 3',
                *(f'{key} = "{value}"' for key, value in texts.items()),
                '[[network]]\nname = "net"\ntarget = 0.5',
                *(f'{key} = "{value}"' for key, value in files.items()),
            ]
        )
    )
    call("check", "-q")
    loaded = {key: Outputs.load(name) for key, name in files.items() if key != "head"}
    for name, options in (("texts", texts), ("objects", objects)):
        assess(**loaded, head=Head.load("head.npz"), target=0.5, seed=3, name=name, **options).save(name)
    found = [
        json.loads((tmp_path / place / "assessment.json").read_text())
        for place in ("line", "file/net", "texts", "objects")
    ]
    for a in found:
        assert len(a["provenance"]["inputs"]) == 4
        a["provenance"].pop("command", None)
        for key in ("network", "checksum"):
            a.pop(key)
    assert found[0]["lambda"]["source"] == "manifold"
    assert found[0] == found[1] == found[2] == found[3]


def test_what_a_newcomer_types_is_answered_by_what_was_meant() -> None:
    from infimum.manifold._stopping import SAMPLINGS

    with pytest.raises(InputError, match=r"begin with a name, as se:tol=…"):
        SAMPLINGS.read("tol=1e-3")
    with pytest.raises(InputError, match=r"k_reg needs a value, as k_reg=VALUE"):
        SCORES.read("raps:k_reg")
    with pytest.raises(InputError, match=r"max_samples must be .* below 2\^63"):
        SAMPLINGS.read("se:max_samples=99999999999999999999")
