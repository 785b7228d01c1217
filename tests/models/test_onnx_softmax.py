"""A softmax that is written out, as jax2tf and TensorFlow export it, is found, and proved on the first batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from infimum import Head, InputError  # noqa: E402
from infimum.models import load  # noqa: E402
from infimum.models._onnx.layer import End, logits_of  # noqa: E402

node = helper.make_node
RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(5, 3)), RNG.normal(size=(1, 3))
X = RNG.normal(size=(20, 5)).astype(np.float32)
Z = X @ W + B
CONSTANTS = {
    "W": W,
    "B": B,
    "axis": np.array([1]),
    "last": np.array([-1]),
    "lowest": np.array(-np.inf),
    "one": np.array(1.0),
    "none": np.array(0.0),
    "T": np.array(2.0),
    "column": np.array([-1, 1]),
}
LAYER = [node("MatMul", ["x", "W"], ["m"]), node("Add", ["m", "B"], ["z"])]


def write(path, nodes, opset=17):
    graph = helper.make_graph(
        [*LAYER, *nodes],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [
            numpy_helper.from_array(v.astype(np.float32) if v.dtype.kind == "f" else v, name)
            for name, v in CONSTANTS.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)  # a refusal shall not be of a broken graph
    onnx.save(model, path)
    return path


def maximum(keepdims=1, z="z"):
    return node("ReduceMax", [z], ["top"], axes=[1], keepdims=keepdims)


SHIFT = [maximum(), node("Sub", ["z", "top"], ["d"]), node("Exp", ["d"], ["e"])]
PLAIN = [node("Exp", ["z"], ["e"])]
SUM = node("ReduceSum", ["e", "axis"], ["s"], keepdims=1)
DIV = node("Div", ["e", "s"], ["y"])
LOG_SUM = [SUM, node("Log", ["s"], ["l"])]

SOFTMAXES = {
    "with the maximum": [*SHIFT, SUM, DIV],
    "without the maximum": [*PLAIN, SUM, DIV],
    "reciprocal": [*SHIFT, SUM, node("Reciprocal", ["s"], ["r"]), node("Mul", ["r", "e"], ["y"])],
    "one by the sum": [*SHIFT, SUM, node("Div", ["one", "s"], ["r"]), node("Mul", ["e", "r"], ["y"])],
    "jax2tf": [
        maximum(keepdims=0),
        node("Max", ["lowest", "top"], ["t"]),
        node("Shape", ["z"], ["shape"]),
        node("Reshape", ["t", "column"], ["c"]),
        node("Expand", ["c", "shape"], ["w"]),
        node("Sub", ["z", "w"], ["d"]),
        node("Exp", ["d"], ["e"]),
        node("ReduceSum", ["e", "axis"], ["s"], keepdims=0),
        node("Reshape", ["s", "column"], ["c2"]),
        node("Expand", ["c2", "shape"], ["w2"]),
        node("Div", ["e", "w2"], ["y"]),
    ],
    "guarded": [
        maximum(keepdims=0),
        node("IsInf", ["top"], ["inf"]),
        node("Where", ["inf", "none", "top"], ["t"]),
        node("Identity", ["t"], ["stopped"]),
        node("Unsqueeze", ["stopped", "axis"], ["u"]),
        node("Neg", ["u"], ["n"]),
        node("Add", ["n", "z"], ["d"]),
        node("Cast", ["d"], ["f"], to=TensorProto.DOUBLE),
        node("Exp", ["f"], ["e"]),
        node("ReduceSum", ["e", "last"], ["s"], keepdims=0),
        node("Unsqueeze", ["s", "last"], ["s1"]),
        node("Div", ["e", "s1"], ["p"]),
        node("Cast", ["p"], ["y"], to=TensorProto.FLOAT),
    ],
    "exponential of a log-softmax": [node("LogSoftmax", ["z"], ["l"]), node("Exp", ["l"], ["y"])],
    "exponential of a written one": [
        *PLAIN,
        *LOG_SUM,
        node("Sub", ["z", "l"], ["a"]),
        node("Exp", ["a"], ["y"]),
    ],
}
LOGS = {
    "shifted": [*SHIFT, *LOG_SUM, node("Sub", ["d", "l"], ["y"])],
    "plain": [*PLAIN, *LOG_SUM, node("Sub", ["z", "l"], ["y"])],
    "maximum added again": [
        *SHIFT,
        *LOG_SUM,
        node("Add", ["top", "l"], ["a"]),
        node("Sub", ["z", "a"], ["y"]),
    ],
    "in one operator": [
        node("ReduceLogSumExp", ["z"], ["l"], axes=[-1], keepdims=1),
        node("Sub", ["z", "l"], ["y"]),
    ],
    "logarithm of a softmax": [*SHIFT, SUM, node("Div", ["e", "s"], ["p"]), node("Log", ["p"], ["y"])],
}


@pytest.mark.parametrize("form", [*SOFTMAXES, *LOGS])
def test_the_logits_before_it_and_the_layer_are_found(form, tmp_path):
    path = write(tmp_path / "n.onnx", {**SOFTMAXES, **LOGS}[form])
    network = load(path)
    outputs = network.outputs(X)
    assert isinstance(network.head, Head)
    np.testing.assert_allclose(outputs.logits, Z, atol=1e-5)
    np.testing.assert_allclose(outputs.features, X)
    own = ort.InferenceSession(path).run(None, {"x": X})[0]
    np.testing.assert_allclose((softmax if form in SOFTMAXES else log_softmax)(Z, axis=1), own, atol=1e-5)


def test_reductions_of_older_opsets(tmp_path):
    total = node("ReduceSum", ["e"], ["s"], axes=[-1], keepdims=1)
    network = load(write(tmp_path / "n.onnx", [*SHIFT, total, DIV], opset=11))
    np.testing.assert_allclose(network.outputs(X).logits, Z, atol=1e-5)
    top = node("ReduceMax", ["z", "axis"], ["top"], keepdims=1)
    network = load(write(tmp_path / "n.onnx", [top, *SHIFT[1:], SUM, DIV], opset=18))
    np.testing.assert_allclose(network.outputs(X).logits, Z, atol=1e-5)


def test_a_temperature_before_it(tmp_path):
    cold = [node("Div", ["z", "T"], ["c"]), maximum(z="c"), node("Sub", ["c", "top"], ["d"]), *SHIFT[2:]]
    network = load(write(tmp_path / "n.onnx", [*cold, SUM, DIV]))
    np.testing.assert_allclose(network.outputs(X).logits, Z / 2, atol=1e-5)
    np.testing.assert_allclose(network.head.weight, W.T / 2, atol=1e-6)


def test_a_bias_that_is_spread_over_the_batch(tmp_path, monkeypatch):
    layer = [
        node("MatMul", ["x", "W"], ["m"]),
        node("Shape", ["m"], ["size"]),
        node("Expand", ["B", "size"], ["Bs"]),
        node("Add", ["m", "Bs"], ["z"]),
    ]
    monkeypatch.setattr(f"{__name__}.LAYER", layer)
    network = load(write(tmp_path / "n.onnx", [*SHIFT, SUM, DIV]))
    np.testing.assert_allclose(network.outputs(X).logits, Z, atol=1e-5)
    np.testing.assert_allclose(network.head.bias, B[0], atol=1e-6)


NO_SOFTMAX = {
    "another's sum": [
        *SHIFT,
        node("Exp", ["z"], ["e2"]),
        node("ReduceSum", ["e2", "axis"], ["s"], keepdims=1),
        DIV,
    ],
    "sum over the batch": [*PLAIN, node("ReduceSum", ["e", "rows"], ["s"], keepdims=1), DIV],
    "normalised without a power": [node("Abs", ["z"], ["e"]), SUM, DIV],
    "the sum by the power": [*SHIFT, SUM, node("Div", ["s", "e"], ["y"])],
}


@pytest.mark.parametrize("form", NO_SOFTMAX)
def test_what_only_looks_like_one_is_none(form, tmp_path, monkeypatch):
    monkeypatch.setitem(CONSTANTS, "rows", np.array([0]))
    network = load(write(tmp_path / "n.onnx", NO_SOFTMAX[form]))
    assert network.head is None
    assert "Div 'y'" in network.cut.why_no_head


def test_a_shift_that_is_not_the_maximum_stays_in_the_logits(tmp_path):
    other = [node("ReduceMin", ["z"], ["low"], axes=[1], keepdims=1), node("Sub", ["z", "low"], ["d"])]
    network = load(write(tmp_path / "n.onnx", [*other, *SHIFT[2:], SUM, DIV]))
    assert network.head is None
    np.testing.assert_allclose(network.outputs(X).logits, Z - Z.min(axis=1, keepdims=True), atol=1e-5)


def test_what_the_numbers_deny_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "infimum.models._onnx.file.logits_of",
        lambda graph, output: End("m", "Softmax", written=logits_of(graph, output).written),
    )
    with pytest.raises(
        InputError, match=r"the cut is wrong: the softmax of 'm' differs from 'y' by up to 0\.\d"
    ):
        load(write(tmp_path / "n.onnx", [*SHIFT, SUM, DIV])).outputs(X)
