"""ONNX networks with several outputs, or with outputs drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models import load  # noqa: E402

RNG = np.random.default_rng(0)
X, W, V = (RNG.normal(size=size).astype(np.float32) for size in ((9, 4), (4, 3), (4, 3)))


def write(path, nodes, outputs):
    """A network of `nodes` on x (n, 4) and the weights W and V (4, 3)."""
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", None]) for name in outputs]
    weights = [numpy_helper.from_array(W, "W"), numpy_helper.from_array(V, "V")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph([helper.make_node(*n) for n in nodes], "g", inputs, shapes, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


MAIN = [("MatMul", ["x", "W"], ["z"]), ("Tanh", ["z"], ["main"])]
AUX = [("Relu", ["x"], ["f"]), ("MatMul", ["f", "V"], ["aux"])]


def test_an_output_without_a_layer_may_be_the_classes_too(tmp_path):
    path = write(tmp_path / "n.onnx", MAIN + AUX, ["main", "aux"])
    with pytest.raises(InputError, match=r"several outputs that may hold the classes \(aux, main\)"):
        load(path)
    np.testing.assert_allclose(
        load(path, head_layer="V").outputs(X).logits, np.maximum(X, 0) @ V, rtol=1e-5, atol=1e-6
    )


def test_features_on_the_way_to_the_logits_are_no_classes(tmp_path):
    path = write(tmp_path / "n.onnx", AUX, ["f", "aux"])
    np.testing.assert_allclose(load(path).outputs(X).logits, np.maximum(X, 0) @ V, rtol=1e-5, atol=1e-6)


def test_a_network_that_draws_is_refused(tmp_path):
    draws = [("MatMul", ["x", "W"], ["z"]), ("RandomNormalLike", ["z"], ["e"]), ("Add", ["z", "e"], ["y"])]
    with pytest.raises(InputError, match="draws at random"):
        load(write(tmp_path / "n.onnx", draws, ["y"])).outputs(X)
