"""ONNX files: every form of the last layer, batches, inputs by name, external data, and what is refused."""

import numpy as np
import pytest
from scipy.special import softmax

from infimum.errors import InputError
from infimum.head import Head, HeadFunction
from infimum.models import NetworkAdapter
from infimum.models._onnx.file import cut_onnx

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

helper, numpy_helper, TensorProto, node = (
    onnx.helper,
    onnx.numpy_helper,
    onnx.TensorProto,
    onnx.helper.make_node,
)
rng = np.random.default_rng(0)
W1, B1 = rng.normal(size=(4, 6)), rng.normal(size=6)
W2, B2 = rng.normal(size=(6, 3)), rng.normal(size=3)
X = rng.normal(size=(10, 4))
FEATURES = np.maximum(X @ W1 + B1, 0)
Z = FEATURES @ W2 + B2
TYPES = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}


def write(path, tail, constants, dtype=np.float32, batch="n", outputs=("y",), opset=17, inputs=("x",)):
    """A network x -> Gemm -> Relu "f" -> `tail`; `constants` by name, arrays of floats in `dtype`."""
    values = {"W1": W1, "B1": B1, **constants}
    tensors = [
        numpy_helper.from_array(v.astype(dtype) if v.dtype.kind == "f" else v, name)
        for name, v in values.items()
    ]
    body = [node("Gemm", ["x", "W1", "B1"], ["h"], name="first"), node("Relu", ["h"], ["f"]), *tail]
    graph = helper.make_graph(
        body,
        "network",
        [helper.make_tensor_value_info(name, TYPES[dtype], [batch, 4]) for name in inputs],
        [helper.make_tensor_value_info(name, TYPES[dtype], ["n", "k"]) for name in outputs],
        tensors,
    )
    # check the network that the test made, so that a refusal is not of a broken graph
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def gemm(out="y"):
    return node("Gemm", ["f", "W2", "B2"], [out], name="last")


TWO = {"W2": W2, "B2": B2}
FORMS = {
    "gemm": ([gemm()], TWO, Z),
    "transB": ([node("Gemm", ["f", "W2", "B2"], ["y"], transB=1)], {"W2": W2.T, "B2": B2}, Z),
    "alpha beta": (
        [node("Gemm", ["f", "W2", "B2"], ["y"], alpha=0.5, beta=3.0)],
        TWO,
        0.5 * (FEATURES @ W2) + 3 * B2,
    ),
    "gemm without bias": ([node("Gemm", ["f", "W2"], ["y"])], {"W2": W2}, FEATURES @ W2),
    "matmul": ([node("MatMul", ["f", "W2"], ["y"])], {"W2": W2}, FEATURES @ W2),
    "matmul add": ([node("MatMul", ["f", "W2"], ["m"]), node("Add", ["B2", "m"], ["y"])], TWO, Z),
    "matmul sub": ([node("MatMul", ["f", "W2"], ["m"]), node("Sub", ["m", "B2"], ["y"])], TWO, Z - 2 * B2),
    "softmax": ([gemm("z"), node("Softmax", ["z"], ["y"], axis=-1)], TWO, Z),
    "log-softmax": ([gemm("z"), node("LogSoftmax", ["z"], ["y"], axis=1)], TWO, Z),
    "log of softmax": ([gemm("z"), node("Softmax", ["z"], ["p"]), node("Log", ["p"], ["y"])], TWO, Z),
    "temperature": (
        [gemm("z"), node("Div", ["z", "T"], ["t"]), node("Softmax", ["t"], ["y"])],
        {**TWO, "T": np.array(2.5)},
        Z / 2.5,
    ),
    "temperature times": ([gemm("z"), node("Mul", ["T", "z"], ["y"])], {**TWO, "T": np.array([2.0])}, Z * 2),
    "dropout flatten identity cast": (
        [
            node("Dropout", ["f"], ["d"]),
            node("Gemm", ["d", "W2", "B2"], ["z"]),
            node("Flatten", ["z"], ["v"]),
            node("Identity", ["v"], ["i"]),
            node("Cast", ["i"], ["y"], to=TensorProto.FLOAT),
        ],
        TWO,
        Z,
    ),
    "constant nodes": (
        [
            node("Constant", [], ["W2"], value=numpy_helper.from_array(W2.T.astype(np.float32))),
            node("Transpose", ["W2"], ["W3"], perm=[1, 0]),
            node("MatMul", ["f", "W3"], ["y"]),
        ],
        {},
        FEATURES @ W2,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_last_layer(form, tmp_path):
    tail, constants, expected = FORMS[form]
    path = write(tmp_path / "m.onnx", tail, constants)
    cut = cut_onnx(path)
    logits, features = NetworkAdapter(cut).batch(X)  # float64 inputs are taken
    assert isinstance(cut.head, Head)
    assert np.allclose(logits, expected, atol=1e-5)
    assert np.allclose(features, FEATURES, atol=1e-5)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)
    own = ort.InferenceSession(path).run(None, {"x": X.astype(np.float32)})[0]
    if "softmax" in form:
        own = np.log(own) if form == "softmax" else own
        assert np.allclose(softmax(logits, axis=1), np.exp(own), atol=1e-6)
    elif form != "temperature":
        assert np.allclose(logits, own, atol=1e-6)


def test_a_single_sigmoid_is_two_logits(tmp_path):
    constants = {"W2": W2[:, :1], "B2": B2[:1]}
    path = write(tmp_path / "m.onnx", [gemm("z"), node("Sigmoid", ["z"], ["y"])], constants)
    cut = cut_onnx(path)
    logits, features = NetworkAdapter(cut).batch(X)
    own = ort.InferenceSession(path).run(None, {"x": X.astype(np.float32)})[0][:, 0]
    assert logits.shape == (10, 2)
    assert not logits[:, 0].any()
    assert np.allclose(softmax(logits, axis=1)[:, 1], own, atol=1e-6)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)


def test_several_sigmoids_are_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [gemm("z"), node("Sigmoid", ["z"], ["y"])], TWO)
    with pytest.raises(InputError, match="3 sigmoids"):
        NetworkAdapter(cut_onnx(path)).batch(X)


@pytest.mark.parametrize(("dtype", "near"), [(np.float16, 2e-2), (np.float64, 1e-12)])
def test_other_precisions(dtype, near, tmp_path):
    cut = cut_onnx(write(tmp_path / "m.onnx", [gemm()], TWO, dtype))
    logits, features = NetworkAdapter(cut).batch(X.astype(np.float32))
    assert logits.dtype == dtype
    same = np.maximum(X.astype(np.float32).astype(dtype).astype(float) @ W1 + B1, 0) @ W2 + B2
    assert np.allclose(logits, same, atol=near)
    assert np.allclose(cut.head.logits(features), logits, atol=near)


@pytest.mark.parametrize("opset", [7, 9, 13, 20])
def test_opsets(opset, tmp_path):
    tail = [gemm("z"), node("Softmax", ["z"], ["y"], axis=1)]
    logits, _ = NetworkAdapter(cut_onnx(write(tmp_path / "m.onnx", tail, TWO, opset=opset))).batch(X)
    assert np.allclose(logits, Z, atol=1e-5)


def test_quantised_weights(tmp_path):
    q, scale = rng.integers(-100, 100, size=(6, 3)).astype(np.int8), np.array([0.01, 0.02, 0.03])
    zero = np.array([1, -2, 3], dtype=np.int8)
    tail = [node("DequantizeLinear", ["q", "s", "zero"], ["W2"], axis=1), gemm()]
    path = write(tmp_path / "m.onnx", tail, {"q": q, "s": scale, "zero": zero, "B2": B2})
    cut = cut_onnx(path)
    own = ort.InferenceSession(path).run(None, {"x": X.astype(np.float32)})[0]
    exact = FEATURES @ ((q - zero.astype(float)) * scale) + B2
    if np.abs(own - exact).max() > 1e-2:  # as onnxruntime 1.22 and later have it
        gap = f"{np.abs(own - exact).max():.2g}"
        with pytest.warns(UserWarning, match=f"differ by up to {gap} .*matmulnbits_accuracy_level = 1"):
            logits, features = NetworkAdapter(cut).batch(X)
    else:
        logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(logits, exact, atol=1e-4)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-4)


def test_fixed_batch_is_padded(tmp_path):
    cut = cut_onnx(write(tmp_path / "m.onnx", [gemm()], TWO, batch=8))
    assert cut.fixed_batch == 8
    logits, features = NetworkAdapter(cut).batch(X[:5])
    assert np.allclose(logits, Z[:5], atol=1e-5)
    assert features.shape == (5, 6)
    with pytest.raises(InputError, match="batch_size=8"):
        NetworkAdapter(cut).batch(X)


def test_several_inputs_by_name(tmp_path):
    tail = [
        node("Add", ["f", "g"], ["s"]),
        node("Gemm", ["x2", "W1", "B1"], ["g"]),
        node("Gemm", ["s", "W2", "B2"], ["y"]),
    ]
    path = write(tmp_path / "m.onnx", [tail[1], tail[0], tail[2]], TWO, inputs=("x", "x2"), batch=8)
    adapter = NetworkAdapter(cut_onnx(path))
    logits, features = adapter.batch({"x": X[:6], "x2": X[:6]})  # padded to 8, each input
    assert np.allclose(features, (FEATURES + X @ W1 + B1)[:6], atol=1e-5)
    assert np.allclose(logits, features @ W2 + B2, atol=1e-4)
    with pytest.raises(InputError, match=r"inputs x, x2, but the batch has x$"):
        adapter.batch({"x": X[:8]})
    with pytest.raises(InputError, match="pass a mapping of arrays: x, x2"):
        adapter.batch(X[:8])


def test_wrong_inputs(tmp_path):
    adapter = NetworkAdapter(cut_onnx(write(tmp_path / "m.onnx", [gemm()], TWO)))
    with pytest.raises(InputError, match=r"'x' must be of shape \(any, 4\), not \(2, 5\)"):
        adapter.batch(np.zeros((2, 5)))
    with pytest.raises(InputError, match="must hold float32, not uint8"):
        adapter.batch(np.zeros((2, 4), np.uint8))
    with pytest.raises(InputError, match="row 1"):
        adapter.batch(np.array([[0, 0, 0, 0], [np.inf, 0, 0, 0]]))


def test_inputs_that_are_not_numbers(tmp_path):
    graph = helper.make_graph(
        [node("Cast", ["s"], ["f"], to=TensorProto.FLOAT), node("MatMul", ["f", "W2"], ["y"])],
        "network",
        [helper.make_tensor_value_info("s", TensorProto.STRING, ["n", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "k"])],
        [numpy_helper.from_array(W2.astype(np.float32), "W2")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match=r"'s' takes tensor\(string\); numbers only"):
        cut_onnx(tmp_path / "m.onnx")


def test_no_linear_layer_gives_a_reason_and_reads_probabilities(tmp_path):
    tail = [
        gemm("z"),
        node("Softmax", ["z"], ["p"]),
        node("Mul", ["p", "p"], ["q"]),
        node("Sqrt", ["q"], ["y"]),
    ]
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, TWO))
    assert cut.head is None
    assert "Sqrt 'y'" in cut.why_no_head
    assert "last" in cut.why_no_head
    (outputs,) = NetworkAdapter(cut).stream([X])
    assert outputs.features is None
    assert np.allclose(softmax(outputs.logits, axis=1), softmax(Z, axis=1), atol=1e-5)


def test_logits_before_a_softmax_are_used_without_a_layer_too(tmp_path):
    tail = [gemm("z"), node("Tanh", ["z"], ["t"]), node("Softmax", ["t"], ["y"])]
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, TWO))
    assert cut.head is None
    assert np.allclose(NetworkAdapter(cut).batch(X)[0], np.tanh(Z), atol=1e-5)


@pytest.mark.parametrize("name", ["first", "h", "W1"])
def test_a_head_of_several_layers(name, tmp_path):
    tail = [gemm("z"), node("Softmax", ["z"], ["y"])]
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, TWO), head_layer=name)
    assert isinstance(cut.head, HeadFunction)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(features, X)
    assert np.allclose(logits, Z, atol=1e-5)
    assert np.allclose(cut.head.logits(X), Z, atol=1e-5)


def test_an_unknown_layer_lists_those_that_are_there(tmp_path):
    path = write(tmp_path / "m.onnx", [gemm()], TWO)
    with pytest.raises(InputError, match="its linear layers are: first, last"):
        cut_onnx(path, head_layer="fc")


def test_several_outputs(tmp_path):
    tail = [gemm("y"), node("MatMul", ["f", "W2"], ["aux"], name="aux")]
    path = write(tmp_path / "m.onnx", tail, TWO, outputs=("y", "aux"))
    with pytest.raises(InputError, match=r"several outputs that may hold the classes \(y, aux\)"):
        cut_onnx(path)
    for layer, expected in (("last", Z), ("aux", FEATURES @ W2)):
        cut = cut_onnx(path, head_layer=layer)
        assert isinstance(cut.head, Head)
        assert np.allclose(NetworkAdapter(cut).batch(X)[0], expected, atol=1e-5)
    tail = [gemm("logits"), node("MatMul", ["f", "W2"], ["aux"])]
    cut = cut_onnx(write(tmp_path / "n.onnx", tail, TWO, outputs=("aux", "logits")))
    assert np.allclose(NetworkAdapter(cut).batch(X)[0], Z, atol=1e-5)


def test_devices(tmp_path):
    path = write(tmp_path / "m.onnx", [gemm()], TWO)
    with pytest.raises(InputError, match="cpu or cuda"):
        cut_onnx(path, device="mps")
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        with pytest.raises(InputError, match="onnxruntime-gpu"):
            cut_onnx(path, device="cuda")


def conv(features, *after, **options):
    """The features as a map of some positions, a 1x1 convolution "last" of it, then what is given."""
    return [features, node("Conv", ["m", "C", "B2"], ["c"], name="last", **options), *after]


WIDE = node("Reshape", ["f", "one"], ["m"])
CONV = {"C": W2.T[..., None, None], "B2": B2, "one": np.array([-1, 6, 1, 1]), "two": np.array([-1, 3])}
POOLED = {
    "flatten": [node("Flatten", ["c"], ["y"])],
    "reshape": [node("Reshape", ["c", "two"], ["y"])],
    "squeeze": [node("Squeeze", ["c", "axes"], ["y"])],
    "softmax before": [node("Softmax", ["c"], ["p"], axis=1), node("Flatten", ["p"], ["y"])],
    "softmax after": [node("Flatten", ["c"], ["z"]), node("Softmax", ["z"], ["y"])],
    "temperature": [node("Flatten", ["c"], ["z"]), node("Div", ["z", "T"], ["y"])],
    "average of one": [node("GlobalAveragePool", ["c"], ["a"]), node("Flatten", ["a"], ["y"])],
}


@pytest.mark.parametrize("form", POOLED)
def test_a_1x1_convolution_of_a_pooled_map(form, tmp_path):
    constants = {
        **CONV,
        **({"axes": np.array([2, 3])} if form == "squeeze" else {}),
        **({"T": np.array(2.5)} if form == "temperature" else {}),
    }
    cut = cut_onnx(write(tmp_path / "m.onnx", conv(WIDE, *POOLED[form]), constants))
    logits, features = NetworkAdapter(cut).batch(X)
    scale = 2.5 if form == "temperature" else 1
    assert isinstance(cut.head, Head)
    assert np.allclose(cut.head.weight, W2.T / scale)
    assert np.allclose(features, FEATURES, atol=1e-5)
    assert np.allclose(logits, Z / scale, atol=1e-5)


@pytest.mark.parametrize("average", ["GlobalAveragePool", "ReduceMean"])
def test_a_1x1_convolution_that_is_averaged_reads_averaged_features(average, tmp_path):
    axes = {"axes": [2, 3]} if average == "ReduceMean" else {}
    tail = conv(
        node("Reshape", ["f", "map"], ["m"]),
        node(average, ["c"], ["a"], **axes),
        node("Flatten", ["a"], ["y"]),
    )
    constants = {"C": W2[:2].T[..., None, None], "B2": B2, "map": np.array([-1, 2, 3, 1])}
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, constants))
    logits, features = NetworkAdapter(cut).batch(X)
    expected = FEATURES.reshape(10, 2, 3).mean(axis=2)
    assert np.allclose(features, expected, atol=1e-5)
    assert np.allclose(logits, expected @ W2[:2] + B2, atol=1e-5)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((3, 6, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((3, 2, 1, 1), {"group": 3}),
        ((3, 6, 1, 1), {"strides": [2, 2]}),
    ],
    ids=["3x3", "groups", "stride"],
)
def test_other_convolutions_are_no_head(shape, options, tmp_path):
    constants = {**CONV, "C": np.random.default_rng(1).normal(size=shape)}
    tail = conv(WIDE, node("Flatten", ["c"], ["y"]), **options)
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, constants))
    assert cut.head is None
    assert "Conv 'last' is a convolution that mixes or leaves out positions" in cut.why_no_head
    assert NetworkAdapter(cut).batch(X)[0].shape == (10, 3)


def test_a_mean_of_a_gemm_is_no_head(tmp_path):
    tail = [
        node("Reshape", ["f", "map"], ["m"]),
        node("MatMul", ["m", "W"], ["z"], name="last"),
        node("ReduceMean", ["z"], ["y"], axes=[2], keepdims=0),
    ]
    constants = {"map": np.array([-1, 3, 2]), "W": W2[:2]}
    cut = cut_onnx(write(tmp_path / "m.onnx", tail, constants))
    assert "MatMul 'last' is averaged by ReduceMean" in cut.why_no_head


def test_a_convolution_within_the_network_is_no_place_to_cut(tmp_path):
    tail = [*conv(WIDE), node("Flatten", ["c"], ["z"]), node("MatMul", ["z", "W"], ["y"], name="fc")]
    path = write(tmp_path / "m.onnx", tail, {**CONV, "W": W2[:3]})
    with pytest.raises(InputError, match=r"'last' is a convolution within .*linear layers elsewhere: .*fc"):
        cut_onnx(path, head_layer="last")
    assert cut_onnx(path, head_layer="first").head.n_features == 4
