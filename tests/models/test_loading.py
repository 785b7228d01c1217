"""load(): which framework a model is of, told without importing one, and what is no model."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError
from infimum.models import Cut, NetworkAdapter, load
from infimum.models._functions import find_function
from infimum.models._recognition import framework_of_object, framework_of_path


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return path


def test_adapters_and_cuts_pass():
    cut = Cut(lambda x: (x, None), None, "hand-made")
    adapter = load(cut)
    assert load(adapter) is adapter
    assert adapter.outputs(np.eye(2)).n_classes == 2


def test_objects():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn")
    assert framework_of_object(linear.LogisticRegression()) == "sklearn"
    assert framework_of_object(lambda x: x) == "callable"
    for wrong in (3, None, np.zeros(3), {}):
        with pytest.raises(InputError, match=r"not a model|no model"):
            load(wrong)


def test_torch_objects(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch models")
    module = torch.nn.Linear(4, 3)
    assert framework_of_object(module) == "torch"
    torch.save(module.state_dict(), tmp_path / "state.bin")
    assert framework_of_path(tmp_path / "state.bin") == "torch"
    torch.save(module.state_dict(), tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    assert framework_of_path(tmp_path / "old.bin") == "torch"
    program = torch.export.export(module, (torch.zeros(2, 4),))
    torch.export.save(program, tmp_path / "net.pt2")
    assert framework_of_path(tmp_path / "net.pt2") == "torch"
    assert framework_of_object(program) == "torch"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch calls TorchScript deprecated
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_torchscript(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch models")
    torch.jit.trace(torch.nn.Linear(4, 3), torch.zeros(2, 4)).save(tmp_path / "net.ts")
    assert framework_of_path(tmp_path / "net.ts") == "torch"


def test_safetensors_and_folders(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weight": np.zeros((3, 4))}, tmp_path / "weights.bin")
    assert framework_of_path(tmp_path / "weights.bin") == "torch"
    (tmp_path / "config.json").write_text("{}")
    assert framework_of_path(tmp_path) == "huggingface"


def test_onnx_by_content(tmp_path):
    onnx = pytest.importorskip("onnx", reason="ONNX models")
    with pytest.raises(InputError, match="save it and pass the file"):
        framework_of_object(onnx.ModelProto())
    helper = onnx.helper
    kind = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", kind[:1], kind[1:])
    path = tmp_path / "net.bin"
    onnx.save(helper.make_model(graph), path)
    assert framework_of_path(path) == "onnx"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="not a model that can be read"):
        framework_of_path(path)


def test_zip_and_hdf5_by_content(tmp_path):
    path = tmp_path / "m"
    assert framework_of_path(zipped(path, "metadata.json", "config.json", "model.weights.h5")) == "keras"
    assert framework_of_path(zipped(path, "schema.json", "1.npy")) == "sklearn"
    with pytest.raises(InputError, match=r"array.*not a model"):
        framework_of_path(zipped(path, "logits.npy"))
    with pytest.raises(InputError, match="not of a model"):
        framework_of_path(zipped(path, "a.txt"))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match="damaged or cut short"):
        framework_of_path(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert framework_of_path(path) == "keras"
    path.write_bytes(pickle.dumps({"a": 1}))
    assert framework_of_path(path) == "sklearn"


@pytest.mark.parametrize(
    "content", [b"", b"hello, world", json.dumps({"a": 1}).encode(), bytes(100), b"\x08\x07"]
)
def test_other_files(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InputError, match="not a model that can be read"):
        load(tmp_path / "m")


def test_missing_file_and_folder_without_config(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "none.onnx")
    with pytest.raises(InputError, match=r"without config\.json"):
        load(str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(InputError, match="SavedModel: save it as"):
        load(tmp_path)


def test_options_without_a_meaning_are_errors(tmp_path):
    (tmp_path / "m").write_bytes(pickle.dumps(1))
    for options, names in (({"head_layer": "fc"}, "head_layer"), ({"device": "cuda"}, "device")):
        with pytest.raises(InputError, match=f"{names} cannot be set for a sklearn model"):
            load(tmp_path / "m", **options)
    with pytest.raises(InputError, match="a model in memory cannot be given"):
        load(lambda x: x, factory="a:b")


def test_no_framework_is_imported_to_tell():
    code = (
        "import sys\nfrom infimum.models import load\n"
        "try:\n    load(3)\nexcept ValueError:\n    pass\n"
        "assert not {'torch', 'onnx', 'keras', 'transformers', 'sklearn', 'PIL', 'pyarrow'} & set(sys.modules)"
    )
    source = str(Path(sys.modules["infimum"].__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": source})


def test_functions_by_name():
    assert find_function("math:sqrt", "preprocess")(4) == 2
    for name, message in (
        ("math", "must be package.module:function"),
        ("no_such_module:f", "cannot be imported"),
        ("math:nothing", "has no function 'nothing'"),
        ("math:pi", "has no function 'pi'"),
    ):
        with pytest.raises(InputError, match=message):
            find_function(name, "preprocess")


def test_cut_is_proved_through_load():
    from infimum import Head

    wrong = load(Cut(lambda x: (x, x), Head(np.array([[2.0, 0.0], [0.0, 1.0]])), "hand-made", "fc"))
    assert isinstance(wrong, NetworkAdapter)
    with pytest.raises(InputError, match="the cut is wrong"):
        wrong.outputs(np.eye(2))


def test_a_file_cut_short_is_not_called_another_kind(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"\x08\x09\x12\x07pytorch\x3a\xff\xff\x03short")
    with pytest.raises(InputError, match=r"net\.onnx is not what its name says: it is damaged, cut short"):
        load(tmp_path / "net.onnx")
