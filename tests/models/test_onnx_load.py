"""Reading ONNX files from others: external data within the folder only, damaged files named."""

import numpy as np
import pytest

from infimum.errors import InputError
from infimum.models import NetworkAdapter, onnx_load
from infimum.models.onnx_file import cut_onnx

onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")

helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto
rng = np.random.default_rng(0)
W, B = rng.normal(size=(6, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
X = rng.normal(size=(10, 6)).astype(np.float32)


def write(tmp_path, external=True):
    folder = tmp_path / "model"
    folder.mkdir()
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "W", "b"], ["y"])],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(W, "W"), numpy_helper.from_array(B, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if not external:
        onnx.save(model, folder / "m.onnx")
    else:
        onnx.save(model, folder / "m.onnx", save_as_external_data=True, size_threshold=0, location="w.bin")
    return folder / "m.onnx"


def test_external_data_in_the_folder(tmp_path, monkeypatch):
    path = write(tmp_path)
    monkeypatch.chdir(tmp_path)  # neither the process's folder nor a relative path matters
    for place in (path, path.relative_to(tmp_path)):
        cut = cut_onnx(place)
        logits, features = NetworkAdapter(cut).batch(X)
        assert np.allclose(logits, X @ W + B, atol=1e-5)
        assert np.allclose(cut.head.logits(features), X @ W + B, atol=1e-5)


@pytest.mark.parametrize("kind", ["parent", "absolute", "link", "backslash", "memory"])
def test_external_data_elsewhere_is_refused(kind, tmp_path, monkeypatch):
    path = write(tmp_path)
    secret = tmp_path / "secret.bin"
    (path.parent / "w.bin").rename(secret)
    location = {
        "parent": "../secret.bin",
        "absolute": str(secret),
        "link": "w.bin",
        "backslash": "..\\secret.bin",
        "memory": "*/_ORT_MEM_ADDR_/*",  # onnxruntime's own mark for data at an address in memory
    }[kind]
    if kind == "link":
        (path.parent / "w.bin").symlink_to(secret)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        next(e for e in tensor.external_data if e.key == "location").value = location
    path.write_bytes(model.SerializeToString())

    def read(*_):
        raise AssertionError("nothing may be read before the check")

    monkeypatch.setattr(numpy_helper, "to_array", read)
    monkeypatch.setattr(ort, "InferenceSession", read)
    with pytest.raises(InputError, match="is missing" if kind == "memory" else "outside the model's folder"):
        cut_onnx(path)


def test_external_data_hidden_in_a_constant_or_a_subgraph_is_found(tmp_path):
    tensor = numpy_helper.from_array(W)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    inner = helper.make_graph([constant], "then", [], [helper.make_tensor_value_info("c", 1, [6, 3])])
    nodes = [
        helper.make_node("If", ["b"], ["w"], then_branch=inner, else_branch=inner),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["n", 6]), info("b", 9, [])], [info("y", 1, None)])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(InputError, match="outside the model's folder"):
        cut_onnx(tmp_path / "m.onnx")


def test_external_data_cut_short_or_missing(tmp_path):
    path = write(tmp_path)
    data = path.parent / "w.bin"
    data.write_bytes(data.read_bytes()[:-4])
    with pytest.raises(InputError, match="cut short"):
        cut_onnx(path)
    data.unlink()
    with pytest.raises(InputError, match="is missing"):
        cut_onnx(path)


def test_damaged_files(tmp_path):
    path = write(tmp_path, external=False)
    whole = path.read_bytes()
    for content in (b"", b"hello, this is text", whole[: len(whole) // 2], whole[:20]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"m\.onnx"):
            cut_onnx(path)
    with pytest.raises(InputError, match="does not exist"):
        cut_onnx(tmp_path / "none.onnx")
    with pytest.raises(InputError, match="directory"):
        cut_onnx(tmp_path)


def test_a_file_beyond_the_limit_of_protobuf(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_load, "LARGEST", 100)
    with pytest.raises(InputError, match="save_as_external_data"):
        cut_onnx(write(tmp_path, external=False))
