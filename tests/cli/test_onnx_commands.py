"""ONNX files through the command line: labels as the model was trained with them, and files that are damaged."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from command_line import Run

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from infimum import Outputs  # noqa: E402

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(4, 5)).astype(np.float32), RNG.normal(size=(300, 5)).astype(np.float32)
LABELS = 1 + (X @ W.T + RNG.normal(size=(300, 4))).argmax(axis=1)


def classifier(path: Path, external: bool = False) -> None:
    """A linear classifier of the classes 1, 2, 3, 4, as skl2onnx writes it by default."""
    key = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    nodes = [
        helper.make_node("Gemm", ["x", "W"], ["z"], transB=1),
        helper.make_node("Softmax", ["z"], ["p"]),
        helper.make_node("ZipMap", ["p"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[1, 2, 3, 4]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [helper.make_value_info("maps", helper.make_sequence_type_proto(key))],
        [numpy_helper.from_array(W, "W")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(model, path, save_as_external_data=external, size_threshold=0, location="w.bin")


def test_labels_of_a_sample_that_lacks_the_last_class(infimum: Run, tmp_path: Path) -> None:
    classifier(tmp_path / "net.onnx")
    rows = LABELS < 4
    np.savez(tmp_path / "x.npz", x=X[rows], labels=LABELS[rows])
    done = infimum("extract", "--model", "net.onnx", "--data", "x.npz", "--out", "o.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    right = ((X @ W.T).argmax(axis=1) + 1 == LABELS)[rows].mean()
    assert Outputs.load(tmp_path / "o.npz").accuracy == right > 0.5


def test_a_damaged_model_is_one_line_and_exit_2(infimum: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=X)
    classifier(tmp_path / "net.onnx", external=True)
    model = onnx.load(tmp_path / "net.onnx", load_external_data=False)
    next(e for e in model.graph.initializer[0].external_data if e.key == "length").value = "8_0"
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    done = infimum("extract", "--model", "net.onnx", "--data", "x.npz", "--out", "o.npz", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "net.onnx: the external data of tensor 'W' has the length '8_0'" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["net.onnx", "w.bin", "x.npz"]


def test_a_configuration_of_keras_that_is_a_list(
    infimum: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="Keras runs on torch here")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    pytest.importorskip("keras", reason="keras is an optional extra")
    np.savez(tmp_path / "x.npz", x=X)
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("config.json", "[1]")
        archive.writestr("metadata.json", "{}")
    done = infimum("extract", "--model", "net.keras", "--data", "x.npz", "--out", "o.npz", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "net.keras is not a .keras file, or is damaged" in done.stderr
