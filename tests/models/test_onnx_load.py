"""Reading ONNX files from others: external data within the folder only, damaged files named."""

from pathlib import Path

import numpy as np
import pytest

from infimum.errors import InputError
from infimum.models import NetworkAdapter
from infimum.models._onnx import graph as onnx_graph
from infimum.models._onnx import load as onnx_load
from infimum.models._onnx import session as onnx_session
from infimum.models._onnx.file import cut_onnx

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

    monkeypatch.setattr(onnx_load, "read_external", read)
    monkeypatch.setattr(onnx_graph, "read_external", read)
    monkeypatch.setattr(ort, "InferenceSession", read)
    with pytest.raises(InputError, match="is missing" if kind == "memory" else "outside the model's folder"):
        cut_onnx(path)


def rewritten(path, **entries):
    """The model with other entries for the external data of W; None takes one away."""
    model = onnx.load(path, load_external_data=False)
    tensor = next(t for t in model.graph.initializer if t.name == "W")
    kept = {e.key: e.value for e in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in kept.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"length": "0"}, "said to have 0 bytes, but its shape and type need 72"),
        ({"length": "68"}, "said to have 68 bytes"),
        ({"length": "7_2"}, "length '7_2', which is not a whole number"),
        ({"offset": "-4"}, "offset '-4', which is not"),
        ({"offset": " 0"}, "offset ' 0', which is not"),
        ({"offset": "\u0660"}, "which is not a whole number"),  # a digit that int() takes
        ({"offset": "9" * 5000}, "which is not a whole number"),
        ({"offset": "80"}, "should be bytes 80 to 152 of 'w.bin', which has 84 bytes"),
        ({"location": "w.bin\0"}, r"lies at 'w.bin\\x00', outside"),
        ({"location": ""}, "outside the model's folder"),
        ({"location": "."}, "outside the model's folder"),
        ({"location": "x" * 300}, "is missing"),
    ],
    ids=str,
)
def test_external_data_that_do_not_fit_their_tensor(entries, message, tmp_path):
    path = write(tmp_path)
    rewritten(path, **entries)
    with pytest.raises(InputError, match=message):
        cut_onnx(path)


def test_external_data_whose_length_is_not_said(tmp_path):
    path = write(tmp_path)
    rewritten(path, length=None)
    cut = cut_onnx(path)
    assert np.allclose(cut.head.weight, W.T)
    assert np.allclose(NetworkAdapter(cut).batch(X)[0], X @ W + B, atol=1e-5)


def test_external_data_that_do_not_fit_into_memory_together(tmp_path, monkeypatch):
    path = write(tmp_path)
    model = onnx.load(path, load_external_data=False)
    for number in range(100):  # the same bytes a hundred times
        model.graph.initializer.add().CopyFrom(model.graph.initializer[0])
        model.graph.initializer[-1].name = f"W{number}"
    path.write_bytes(model.SerializeToString())
    needed = 101 * W.nbytes + B.nbytes
    sizes = []
    monkeypatch.setattr(onnx_load, "check_fits", lambda size, path: sizes.append(size))
    cut_onnx(path)
    assert sizes == [path.stat().st_size, needed]


def test_a_hard_link_may_be_any_file(tmp_path):
    path = write(tmp_path)
    (tmp_path / "elsewhere").hardlink_to(path.parent / "w.bin")
    with pytest.raises(InputError, match=r"a hard link and so may be any file.*put a copy in its place"):
        cut_onnx(path)


def test_external_data_that_are_cut_or_gone_while_the_network_runs(tmp_path):
    path = write(tmp_path)
    adapter = NetworkAdapter(cut_onnx(path))
    (path.parent / "w.bin").write_bytes(b"")
    (path.parent / "w.bin").unlink()
    assert np.allclose(adapter.batch(X)[0], X @ W + B, atol=1e-5)


def test_large_external_data_are_not_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_session, "SMALL", 0)  # hand them over as arrays
    path = write(tmp_path)
    assert np.allclose(NetworkAdapter(cut_onnx(path)).batch(X)[0], X @ W + B, atol=1e-5)
    maps = Path("/proc/self/maps")
    assert not maps.exists() or "w.bin" not in maps.read_text()


@pytest.mark.parametrize("kind", ["name", "cycle", "twice", "no inputs", "shape", "attribute"])
def test_a_graph_that_is_none(kind, tmp_path):
    path = write(tmp_path, external=False)
    model = onnx.load(path)
    layer, weight = model.graph.node[0], model.graph.initializer[0]
    if kind == "name":
        layer.name = "name?"
    elif kind == "cycle":
        layer.input[0] = "z"
        model.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    elif kind == "twice":
        model.graph.node.append(layer)
    elif kind == "no inputs":
        del layer.input[:]
    elif kind == "shape":
        weight.dims[0] = 7
    else:
        layer.attribute.append(helper.make_attribute("transB", "yes"))
    path.write_bytes(model.SerializeToString().replace(b"name?", b"nam\xff\xfe"))
    message = {
        "name": "its name b'nam.* is not UTF-8",
        "cycle": "reads 'z' before it is made",
        "twice": "makes 'y'",
    }
    with pytest.raises(InputError, match=message.get(kind, r"m\.onnx")):
        NetworkAdapter(cut_onnx(path)).batch(X)


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


def test_functions_that_would_fill_the_memory(tmp_path):
    """Thirty functions of two calls each make 2^30 nodes; a function that calls itself makes no end of them."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def function(name, *calls):
        nodes = [
            helper.make_node(call, [f"v{i}"], [f"v{i + 1}"], domain="own" if call[0] == "F" else "")
            for i, call in enumerate(calls)
        ]
        return helper.make_function("own", name, ["v0"], [f"v{len(calls)}"], nodes, opsets)

    def saved(functions):
        graph = helper.make_graph(
            [
                helper.make_node("F0", ["x"], ["h"], domain="own"),
                helper.make_node("Gemm", ["h", "W", "b"], ["y"]),
            ],
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
            [numpy_helper.from_array(W, "W"), numpy_helper.from_array(B, "b")],
        )
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        return tmp_path / "m.onnx"

    doubling = [function(f"F{i}", f"F{i + 1}", f"F{i + 1}") for i in range(30)]
    with pytest.raises(InputError, match="would have 1,073,741,825 nodes with its functions written out"):
        cut_onnx(saved([*doubling, function("F30", "Relu")]))
    with pytest.raises(InputError, match="functions that call themselves"):
        cut_onnx(saved([function("F0", "F0")]))
    cut_onnx(saved([function("F0", "F1", "Relu"), function("F1", "Relu")]))
