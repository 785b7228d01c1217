"""Class labels that an ONNX file holds, as exports of scikit-learn and of trees do: they name the columns."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from infimum import Head, InputError  # noqa: E402
from infimum.models import load  # noqa: E402

node = helper.make_node
RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(4, 5)).astype(np.float32), RNG.normal(size=(80, 5)).astype(np.float32)
PLACES = (X @ W.T).argmax(axis=1)
INTS, TEXTS = (1, 2, 3, 4), ("ant", "bee", "cow", "dog")


def write(path, nodes, outputs, constants=()):
    """A network of `nodes` on x (n, 5); `outputs` are names, with ONNX's number of their type."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [
            helper.make_tensor_value_info(name, kind, ["n", 4] if kind == TensorProto.FLOAT else ["n"])
            if isinstance(kind, int)
            else helper.make_value_info(name, kind)
            for name, kind in outputs.items()
        ],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)  # a refusal shall not be of a broken graph
    onnx.save(model, path)
    return path


def ml(kind, *names, **options):
    return node(kind, *names, domain="ai.onnx.ml", **options)


def maps_from(key):
    """The type of a sequence of maps from a key to a float."""
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    return helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))


def listed(labels, ints="classlabels_ints"):
    return {"classlabels_strings" if isinstance(labels[0], str) else ints: labels}


def linear(labels, weight=W):
    options = {"coefficients": weight.ravel().tolist(), "intercepts": [0.0] * 4, "post_transform": "SOFTMAX"}
    return [ml("LinearClassifier", ["x"], ["label", "scores"], **options, **listed(labels))]


def machine(labels):
    """A linear support vector machine whose scores decide."""
    options = {
        "coefficients": W.ravel().tolist(),
        "rho": [0.0],
        "kernel_type": "LINEAR",
        "kernel_params": [0.0, 0.0, 3.0],
    }
    return [ml("SVMClassifier", ["x"], ["label", "scores"], **options, **listed(labels))]


def tree(labels):
    """Stumps: class k scores k / 8 where input k is above 0, and 1 less else."""
    nodes = {
        "treeids": np.repeat(range(4), 3),
        "nodeids": [0, 1, 2] * 4,
        "featureids": np.repeat(range(4), 3),
    }
    nodes |= {"truenodeids": [1, 0, 0] * 4, "falsenodeids": [2, 0, 0] * 4}
    options = {f"nodes_{name}": list(map(int, values)) for name, values in nodes.items()}
    options |= {"nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 4, "nodes_values": [0.0] * 12}
    leaves = {"treeids": np.repeat(range(4), 2), "nodeids": [1, 2] * 4, "ids": np.repeat(range(4), 2)}
    options |= {f"class_{name}": list(map(int, values)) for name, values in leaves.items()}
    options["class_weights"] = [w for k in range(4) for w in (k / 8 - 1, k / 8)]
    labels = listed(labels, "classlabels_int64s")
    return [ml("TreeEnsembleClassifier", ["x"], ["label", "scores"], **options, **labels)]


def looked_up(labels):
    """As skl2onnx has a perceptron: the label is looked up where the largest score is."""
    return [
        node("Gemm", ["x", "W"], ["z"], transB=1),
        node("Softmax", ["z"], ["scores"]),
        node("ArgMax", ["scores"], ["index"], axis=1),
        ml("ArrayFeatureExtractor", ["classes", "index"], ["looked"]),
        node("Reshape", ["looked", "rows"], ["label"]),
    ]


KINDS = {"linear": linear, "svm": machine, "tree": tree, "looked up": looked_up}


def constants(kind, labels):
    texts = isinstance(labels[0], str)
    found = {"W": W, "rows": np.array([-1]), "classes": np.array(labels, dtype=object if texts else np.int64)}
    return found if kind == "looked up" else {}


@pytest.mark.parametrize("labels", [INTS, TEXTS], ids=["numbers", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_go_by_what_the_network_calls_its_classes(kind, labels, tmp_path):
    number = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    outputs = {"label": number, "scores": TensorProto.FLOAT}
    path = write(tmp_path / "n.onnx", KINDS[kind](labels), outputs, constants(kind, labels))
    chosen = ort.InferenceSession(path).run(["label"], {"x": X})[0]
    given = np.array(labels)[PLACES]
    rows = given != labels[3]  # without the last class, labels 1, 2, 3 could be taken for indices
    outputs = load(path).outputs((X[rows], given[rows]))
    assert outputs.accuracy == (chosen == given)[rows].mean()
    assert outputs.labels.tolist() == PLACES[rows].tolist()
    assert load(path).cut.classes == labels
    with pytest.raises(InputError, match=r"row 0 is .*, but the model was trained with the classes"):
        load(path).outputs((X[:1], [labels[0] * 7]))


@pytest.mark.parametrize("labels", [INTS, TEXTS], ids=["numbers", "text"])
def test_a_zipmap_is_read_as_the_scores_before_it(labels, tmp_path):
    text = isinstance(labels[0], str)
    key = TensorProto.STRING if text else TensorProto.INT64
    kind = maps_from(key)
    zipped = ml("ZipMap", ["scores"], ["maps"], **listed(labels, "classlabels_int64s"))
    # Neither the label nor the classifier's own scores are outputs of the second.
    for number, outputs in enumerate(({"label": key, "maps": kind}, {"maps": kind})):
        path = write(tmp_path / f"{number}.onnx", [*linear(labels), zipped], outputs)
        made = load(path).outputs((X, np.array(labels)[PLACES]))
        maps = ort.InferenceSession(path).run(["maps"], {"x": X})[0]
        scores = np.array([[row[label] for label in labels] for row in maps])
        np.testing.assert_allclose(np.exp(made.logits), scores, atol=1e-6)
        assert made.accuracy == 1


def test_a_head_behind_a_zipmap(tmp_path):
    nodes = [*looked_up(INTS), ml("ZipMap", ["scores"], ["maps"], classlabels_int64s=INTS)]
    outputs = {"label": TensorProto.INT64, "maps": maps_from(TensorProto.INT64)}
    network = load(write(tmp_path / "n.onnx", nodes, outputs, constants("looked up", INTS)))
    assert isinstance(network.head, Head)
    np.testing.assert_allclose(network.outputs(X).logits, X @ W.T, atol=1e-5)


def test_scores_alone_keep_the_labels_of_their_classifier(tmp_path):
    nodes = [*linear(INTS), ml("Normalizer", ["scores"], ["normal"], norm="L1")]
    network = load(write(tmp_path / "n.onnx", nodes, {"normal": TensorProto.FLOAT}))
    assert network.cut.classes == INTS
    assert network.outputs((X, PLACES + 1)).accuracy == 1


def test_a_network_of_two_tasks_has_the_labels_of_the_one_that_is_asked_for(tmp_path):
    other = [node("Gemm", ["x", "V"], ["second"], transB=1), node("ArgMax", ["second"], ["at"], axis=1)]
    other += [ml("ArrayFeatureExtractor", ["others", "at"], ["o"]), node("Reshape", ["o", "rows"], ["group"])]
    found = {**constants("looked up", INTS), "V": W[:3], "others": np.array([7, 8, 9])}
    outputs = dict.fromkeys(("label", "group"), TensorProto.INT64)
    outputs |= dict.fromkeys(("scores", "second"), TensorProto.FLOAT)
    path = write(tmp_path / "n.onnx", [*looked_up(INTS), *other], outputs, found)
    assert load(path, head_layer="W").outputs((X, PLACES + 1)).accuracy == 1
    assert load(path, head_layer="V").cut.classes == (7, 8, 9)
    # A table that holds a number twice, or one of numbers with fractions, is not one of labels.
    for table in (np.array([1, 1, 2]), np.array([0.5, 0.7, 0.9], np.float32)):
        kind = TensorProto.INT64 if table.dtype == np.int64 else TensorProto.FLOAT
        write(path, [*looked_up(INTS), *other], outputs | {"group": kind}, found | {"others": table})
        assert load(path, head_layer="V").cut.classes == ()


def test_labels_that_are_not_those_of_the_scores(tmp_path):
    out = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    reverse = [*linear(INTS)[:1], node("Neg", ["scores"], ["less"])]
    path = write(tmp_path / "a.onnx", reverse, {"label": TensorProto.INT64, "less": TensorProto.FLOAT})
    with pytest.raises(InputError, match=r"does not decide by its scores: .* for 80 of 80 inputs, .* row 0"):
        load(path).outputs(X, batch_size=80)
    with pytest.raises(InputError, match="has a class label twice: 1, 1, 3, 4"):
        load(write(tmp_path / "b.onnx", linear((1, 1, 3, 4)), out))
    zipped = ml("ZipMap", ["scores"], ["maps"], classlabels_int64s=(4, 3, 2, 1))
    path = write(tmp_path / "c.onnx", [*linear(INTS), zipped], out)
    with pytest.raises(InputError, match=r"twice, and not alike: label has 1, 2, 3, 4, ZipMap 4, 3, 2, 1"):
        load(path)
    scores = [node("Gemm", ["x", "V"], ["scores"], transB=1), *looked_up(INTS)[2:]]
    found = {**constants("looked up", INTS), "V": W[:3]}
    with pytest.raises(InputError, match=r"has 4 class labels \(1, 2, 3, 4\) for 3 scores"):
        load(write(tmp_path / "d.onnx", scores, out, found)).outputs(X)
