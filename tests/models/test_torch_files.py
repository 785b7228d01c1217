"""Networks in files: each kind told by its content, cut like the module it came from, refused where it holds code."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import warnings
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402

from infimum import Head, InputError  # noqa: E402
from infimum.head import HeadFunction  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models.torch_files import cut_torch_file  # noqa: E402
from infimum.models.torch_module import cut_module  # noqa: E402

torch.set_num_threads(1)

IMAGES = np.random.default_rng(0).normal(size=(9, 1, 8, 8)).astype(np.float32)


class Network(nn.Module):
    """A small CNN; `outer` is what it gives: logits, log-softmax, softmax, temperature, dict, tuple."""

    def __init__(self, outer: str = "logits", classes: int = 3):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.bn = nn.BatchNorm2d(6)
        self.hidden = nn.Linear(6, 5)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(5, classes)
        self.outer = outer

    def features(self, x):
        x = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.drop(torch.relu(self.hidden(x)))

    def forward(self, x):
        features = self.features(x)
        z = self.fc(features)
        if self.outer == "softmax":
            return z.softmax(1)
        if self.outer == "log-softmax":
            return z.log_softmax(1)
        if self.outer == "temperature":
            return z / 2
        if self.outer == "sigmoid":
            return torch.sigmoid(z)
        if self.outer == "dict":
            return {"logits": z}
        if self.outer == "tuple":
            return features, z
        return z


class Scripted(nn.Module):
    """What torch.jit.script takes: a Sequential with an MLP head, probabilities out, control flow inside."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 7), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3))

    def forward(self, x):
        x = self.body(x)
        if x.shape[0] > 1000:
            x = x + 0
        return torch.softmax(self.head(x), 1)


def network(outer="logits", classes=3):
    torch.manual_seed(0)
    return Network(outer, classes).eval()


def expected(outer="logits", classes=3):
    module = network(outer, classes)
    with torch.no_grad():
        z = module.fc(module.features(torch.as_tensor(IMAGES))).numpy()
    z = z / 2 if outer == "temperature" else z
    return np.hstack([np.zeros_like(z), z]) if classes == 1 else z


def save_script(module, path, trace=True):
    with warnings.catch_warnings():  # TorchScript is deprecated in PyTorch, its files are not
        warnings.simplefilter("ignore", DeprecationWarning)
        made = (
            torch.jit.trace(module, torch.as_tensor(IMAGES), strict=False)
            if trace
            else torch.jit.script(module)
        )
        made.save(str(path))
    return path


def save_program(module, path, rows=4, dynamic=True):
    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},) if dynamic else None
    program = torch.export.export(module, (torch.as_tensor(IMAGES[:rows]),), dynamic_shapes=shapes)
    with path.open("wb") as file:
        torch.export.save(program, file)
    return path


def check_cut(cut, logits, layer=None):
    adapter = NetworkAdapter(cut)
    got, features = adapter.batch(IMAGES[:4])
    np.testing.assert_allclose(got, logits[:4], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(cut.head.logits(features), got, rtol=1e-5, atol=1e-5)
    got, features = adapter.batch(IMAGES[:1])
    np.testing.assert_allclose(got, logits[:1], rtol=1e-5, atol=1e-6)
    assert features.shape == (1, cut.head.n_features)
    if layer is not None:
        assert cut.layer == layer


OUTERS = ["logits", "softmax", "log-softmax", "temperature", "dict", "tuple"]


@pytest.mark.parametrize("outer", OUTERS)
def test_torchscript_traced(tmp_path, outer):
    cut = cut_torch_file(save_script(network(outer), tmp_path / "net.bin"), example=IMAGES)
    assert cut.framework == "TorchScript"
    check_cut(cut, expected(outer), "fc")


def test_torchscript_scripted_and_saved_in_training_mode(tmp_path):
    torch.manual_seed(0)
    module = Scripted().train()
    path = save_script(module, tmp_path / "net.pt", trace=False)
    module.eval()
    logits = module.head(module.body(torch.as_tensor(IMAGES))).detach().numpy()
    cut = cut_torch_file(path, example=IMAGES)
    check_cut(cut, logits, "head.3")
    mlp = cut_torch_file(path, example=IMAGES, head_layer="head.0")
    assert isinstance(mlp.head, HeadFunction)
    assert mlp.head.n_features == 7
    check_cut(mlp, logits, "head.0")


def test_torchscript_frozen_and_in_memory():
    module = network()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(module, torch.as_tensor(IMAGES))
        frozen = torch.jit.freeze(traced.eval())
    traced.train()
    check_cut(cut_module(traced, IMAGES), expected(), "fc")
    assert traced.training
    check_cut(cut_module(frozen, IMAGES), expected(), "fc")


@pytest.mark.parametrize("outer", OUTERS)
def test_program_with_dynamic_batch(tmp_path, outer):
    cut = cut_torch_file(save_program(network(outer), tmp_path / "net.bin"), example=IMAGES)
    assert cut.framework == "torch.export"
    assert cut.fixed_batch is None
    check_cut(cut, expected(outer), "fc")
    logits, _ = NetworkAdapter(cut).batch(np.repeat(IMAGES, 7, axis=0))
    np.testing.assert_allclose(logits, np.repeat(expected(outer), 7, axis=0), rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="at most 64 inputs at a time, got 72; pass batch_size=64"):
        NetworkAdapter(cut).batch(np.repeat(IMAGES, 8, axis=0))


def test_program_with_fixed_batch_is_padded(tmp_path):
    path = save_program(network("softmax"), tmp_path / "net.pt2", rows=4, dynamic=False)
    for example in (IMAGES, IMAGES[:2], None):  # without one, the inputs of the export are used
        cut = cut_torch_file(path, example=example)
        assert cut.fixed_batch == 4
        check_cut(cut, expected("softmax"), "fc")
    with pytest.raises(InputError, match="batches of 4 inputs only"):
        NetworkAdapter(cut).batch(IMAGES)


def test_program_with_a_head_of_several_layers(tmp_path):
    for outer in ("logits", "softmax"):
        cut = cut_torch_file(
            save_program(network(outer), tmp_path / "net.pt2"), example=IMAGES, head_layer="hidden"
        )
        assert isinstance(cut.head, HeadFunction)
        assert cut.head.n_features == 6
        check_cut(cut, expected(outer), "hidden")


# Decomposing copies a class that PyTorch itself has deprecated.
@pytest.mark.filterwarnings("ignore:`isinstance\\(treespec, LeafSpec\\)`:FutureWarning")
def test_program_in_core_operators():
    program = torch.export.export(network(), (torch.as_tensor(IMAGES),)).run_decompositions()
    assert any("addmm" in str(node.target) for node in program.graph.nodes)
    cut = cut_module(program, IMAGES)
    assert cut.layer == "fc"
    logits, features = NetworkAdapter(cut).batch(IMAGES)
    np.testing.assert_allclose(logits, expected(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-5, atol=1e-5)


def test_program_by_input_name_and_what_it_expects(tmp_path):
    path = save_program(network(), tmp_path / "net.pt2")
    check = NetworkAdapter(cut_torch_file(path, example={"x": IMAGES})).batch({"x": IMAGES})[0]
    np.testing.assert_allclose(check, expected(), rtol=1e-5, atol=1e-6)
    with pytest.raises(
        InputError, match=r"'x': expected float32 \(any, 1, 8, 8\), got float32 \(2, 3, 8, 8\)"
    ):
        cut_torch_file(path, example=np.zeros((2, 3, 8, 8)))
    with pytest.raises(InputError, match=r"expected float32 .*, got uint8 \(2, 1, 8, 8\)"):
        cut_torch_file(path, example=np.zeros((2, 1, 8, 8), np.uint8))
    with pytest.raises(InputError, match="takes inputs named x, got images"):
        cut_torch_file(path, example={"images": IMAGES})


@pytest.mark.parametrize("save", [save_script, save_program])
def test_single_sigmoid_output(tmp_path, save):
    cut = cut_torch_file(save(network("sigmoid", 1), tmp_path / "net"), example=IMAGES)
    assert isinstance(cut.head, Head)
    check_cut(cut, expected(classes=1), "fc")


@pytest.mark.parametrize("save", [save_script, save_program])
def test_layer_names_are_checked_in_graphs(tmp_path, save):
    path = save(network(), tmp_path / "net")
    with pytest.raises(InputError, match=r"no linear layer 'nope'.*hidden \(6 -> 5\), fc \(5 -> 3\)"):
        cut_torch_file(path, example=IMAGES, head_layer="nope")
    with pytest.raises(InputError, match="float32"):
        cut_torch_file(path, example=np.zeros((2, 3, 8, 8)))


FORMATS = ["pt", "legacy", "safetensors", "checkpoint", "parallel"]


@pytest.mark.parametrize("form", FORMATS)
def test_state_dict_and_factory(tmp_path, form):
    state, path = network().state_dict(), tmp_path / "weights.bin"
    if form == "safetensors":
        save_file(state, path)
    elif form == "checkpoint":
        torch.save({"epoch": 3, "state_dict": state}, path)
    elif form == "parallel":
        torch.save(OrderedDict((f"module.{key}", value) for key, value in state.items()), path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=form == "pt")
    check_cut(cut_torch_file(factory=Network, weights=path, example=IMAGES), expected(), "fc")


def test_factory_by_name(tmp_path, monkeypatch):
    (tmp_path / "their_networks.py").write_text(
        "from torch import nn\n"
        "def make():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))\n"
        "def needs(x):\n    return x\n"
        "def wrong():\n    return 1\n"
    )
    monkeypatch.chdir(tmp_path)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    torch.save(module.state_dict(), "w.pt")
    before = list(sys.path)
    logits = module(torch.as_tensor(IMAGES)).detach().numpy()
    check_cut(cut_torch_file(factory="their_networks:make", weights="w.pt", example=IMAGES), logits, "1")
    for name, message in [
        ("their_networks", "package.module:function"),
        ("their_networks:absent", "cannot be imported"),
        ("no_such_module:make", "cannot be imported"),
        ("their_networks:needs", "must take no arguments"),
        ("their_networks:wrong", "returned a int"),
    ]:
        with pytest.raises(InputError, match=message):
            cut_torch_file(factory=name, weights="w.pt", example=IMAGES)
    assert sys.path == before


def test_weights_that_do_not_fit(tmp_path):
    torch.save({"fc.weight": torch.zeros(2, 2)}, tmp_path / "w.pt")
    with pytest.raises(InputError, match="does not fit the network of the factory"):
        cut_torch_file(factory=Network, weights=tmp_path / "w.pt", example=IMAGES)
    torch.save({"epoch": 3}, tmp_path / "w.pt")
    with pytest.raises(InputError, match="no state dict"):
        cut_torch_file(factory=Network, weights=tmp_path / "w.pt", example=IMAGES)
    torch.save(network().state_dict(), tmp_path / "w.pt")
    with pytest.raises(InputError, match="give the function that builds the network"):
        cut_torch_file(tmp_path / "w.pt", example=IMAGES)
    with pytest.raises(InputError, match="leave the factory out"):
        cut_torch_file(factory=Network, weights=save_script(network(), tmp_path / "s.pt"), example=IMAGES)


class Malicious:
    """A pickle that makes a folder when it is read."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        import os

        return os.mkdir, (self.mark,)


@pytest.mark.parametrize("zipped", [True, False])
def test_malicious_pickle_is_refused(tmp_path, zipped):
    mark, path = tmp_path / "ran", tmp_path / "w.pt"
    torch.save({"w": Malicious(mark)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match="could run code with your rights; not read"):
        cut_torch_file(factory=Network, weights=path, example=IMAGES)
    assert not mark.exists()
    with pytest.raises(InputError), pytest.warns(UserWarning, match="runs that code with your rights"):
        cut_torch_file(factory=Network, weights=path, example=IMAGES, trust=True)
    assert mark.exists()  # what was refused was real


def test_whole_pickled_module_needs_trust(tmp_path):
    path = tmp_path / "whole.pt"
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    torch.save(module, path)
    with pytest.raises(InputError, match="--trust"):
        cut_torch_file(path, example=IMAGES)
    with pytest.warns(UserWarning, match="Go on only if you trust"):
        cut = cut_torch_file(path, example=IMAGES, trust=True)
    check_cut(cut, module(torch.as_tensor(IMAGES)).detach().numpy(), "1")


def rewrite(path, change):
    """Rewrite each record of a zip: `change(name, data)` gives the new data, or None to drop it."""
    old = path.with_suffix(".old")
    shutil.move(path, old)
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = change(name, source.read(name))
            if data is not None:
                target.writestr(name, data)
    return path


def changed_model(change):
    """A rewriting of the JSON of an exported program."""

    def rewritten(name, data):
        if not name.endswith("models/model.json"):
            return data
        content = json.loads(data)
        change(content)
        return json.dumps(content).encode()

    return rewritten


def call_foreign(content):
    content["graph_module"]["graph"]["nodes"][0]["target"] = "torch.serialization.os.mkdir"


def size_as_code(content):
    text = json.dumps(content["graph_module"]["graph"])
    assert '"expr_str": "' in text
    start = text.index('"expr_str": "') + len('"expr_str": "')
    end = text.index('"', start)
    content["graph_module"]["graph"] = json.loads(text[:start] + "__import__('os').mkdir('ran')" + text[end:])


def enum_in_spec(content):
    signature = content["graph_module"]["module_call_graph"][0]["signature"]
    spec = json.loads(signature["in_spec"])
    spec[1]["context"] = '{"\\u005f_enum__": true, "fqn": "antigravity:x", "name": "y"}'
    signature["in_spec"] = json.dumps(spec)


@pytest.mark.parametrize("change", [call_foreign, size_as_code, enum_in_spec])
def test_program_that_calls_more_than_tensor_operations_is_refused(tmp_path, monkeypatch, change):
    monkeypatch.chdir(tmp_path)
    path = rewrite(save_program(network(), tmp_path / "net.pt2"), changed_model(change))
    with pytest.raises(InputError, match="could run code with your rights; not read"):
        cut_torch_file(path, example=IMAGES)
    assert not (tmp_path / "ran").exists()
    if change is size_as_code:
        with pytest.raises(InputError, match="damaged"), pytest.warns(UserWarning, match="runs that code"):
            cut_torch_file(path, example=IMAGES, trust=True)
        assert (tmp_path / "ran").exists()  # what was refused was real


def test_program_with_pickles_inside_is_refused(tmp_path):
    mark = tmp_path / "ran"
    evil = tmp_path / "evil.pt"
    torch.save((Malicious(mark),), evil)
    inputs = rewrite(
        save_program(network(), tmp_path / "net.pt2"),
        lambda name, data: evil.read_bytes() if name.endswith("sample_inputs/model.pt") else data,
    )
    with pytest.raises(InputError, match=r"sample_inputs/model\.pt is a pickle of more than tensors"):
        cut_torch_file(inputs, example=IMAGES)

    def weight(name, data):
        if name.endswith("weights/weight_0"):
            return evil.read_bytes()
        if name.endswith("model_weights_config.json"):
            content = json.loads(data)
            for entry in content["config"].values():
                entry["use_pickle"] = entry["path_name"] == "weight_0"
            return json.dumps(content).encode()
        return data

    weights = rewrite(save_program(network(), tmp_path / "net2.pt2"), weight)
    with pytest.raises(InputError, match="weight_0 is a pickle of more than tensors"):
        cut_torch_file(weights, example=IMAGES)
    old = save_program(network(), tmp_path / "net3.pt2")
    with zipfile.ZipFile(old, "a") as archive:
        archive.writestr("serialized_state_dict.pt", pickle.dumps(Malicious(mark)))
    with pytest.raises(InputError, match=r"written by an old torch\.export"):
        cut_torch_file(old, example=IMAGES)
    assert not mark.exists()


def test_script_that_writes_files_is_refused(tmp_path):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 3)

        def forward(self, x):
            torch.save(x, "stolen")
            return self.fc(x.flatten(1)[:, :8])

    path = save_script(Writes(), tmp_path / "net.pt", trace=False)
    with pytest.raises(InputError, match="reads or writes files; not run"):
        cut_torch_file(path, example=IMAGES)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("form", ["script", "program", "pt", "safetensors"])
def test_truncated_files(tmp_path, form, share):
    path = tmp_path / "net"
    factory = Network if form in ("pt", "safetensors") else None
    if form == "script":
        save_script(network(), path)
    elif form == "program":
        save_program(network(), path)
    elif form == "pt":
        torch.save(network().state_dict(), path)
    else:
        save_file(network().state_dict(), path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(InputError, match="damaged"):
        cut_torch_file(path, factory, example=IMAGES)


def test_corrupted_bytes_and_foreign_files(tmp_path):
    path = save_script(network(), tmp_path / "net.pt")
    with pytest.raises(InputError, match="damaged"):
        cut_torch_file(
            rewrite(path, lambda name, data: b"\x80garbage" if name.endswith("constants.pkl") else data),
            example=IMAGES,
        )
    path = rewrite(
        save_program(network(), tmp_path / "net.pt2"),
        lambda name, data: b"{" if name.endswith("model.json") else data,
    )
    with pytest.raises(InputError, match="damaged"):
        cut_torch_file(path, example=IMAGES)
    np.savez(tmp_path / "a.npz", x=IMAGES)
    (tmp_path / "a.txt").write_text("hello, this is no network")
    (tmp_path / "empty").write_bytes(b"")
    for name, message in [
        ("a.npz", "not a PyTorch file|no PyTorch file"),
        ("a.txt", "not a PyTorch file"),
        ("empty", "not a PyTorch file"),
        ("absent.pt", "does not exist"),
        (".", "is a directory"),
    ]:
        with pytest.raises(InputError, match=message):
            cut_torch_file(tmp_path / name, example=IMAGES)
    with pytest.raises(InputError, match="weights are missing"):
        cut_torch_file(factory=Network, example=IMAGES)


@pytest.mark.parametrize("form", ["script", "program", "pt", "safetensors"])
def test_damaged_bytes_are_answered_never_crash(tmp_path, form):
    path, factory = tmp_path / "net", Network if form in ("pt", "safetensors") else None
    if form == "script":
        save_script(network(), path)
    elif form == "program":
        save_program(network(), path)
    elif form == "pt":
        torch.save(network().state_dict(), path)
    else:
        save_file(network().state_dict(), path)
    whole, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(12):
        damaged = np.frombuffer(whole, np.uint8).copy()
        damaged[rng.integers(0, len(damaged), 20)] = rng.integers(0, 256, 20)
        path.write_bytes(damaged.tobytes())
        try:
            cut_torch_file(path, factory, example=IMAGES)
        except InputError:
            refused += 1
    assert refused > 3
