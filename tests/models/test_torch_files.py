"""Networks in files: each kind told by its content and cut like the module it came from."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402
from torch_networks import IMAGES, Network, Scripted, expected, network, save_program, save_script  # noqa: E402

from infimum import Head, InputError  # noqa: E402
from infimum.errors import MissingExtraError  # noqa: E402
from infimum.head import HeadFunction  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models._torch.files import cut_torch_file  # noqa: E402
from infimum.models._torch.module import cut_module  # noqa: E402


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


def test_pytorch_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'infimum\[torch\]'"):
        cut_torch_file("net.pt", example=IMAGES)


def test_a_checkpoint_of_several_networks_is_not_chosen_from(tmp_path):
    state = network().state_dict()
    torch.save({"model": state, "model_ema": state, "epoch": 3}, tmp_path / "c.pt")
    with pytest.raises(InputError, match=r"weights of several networks \(model, model_ema\)"):
        cut_torch_file(weights=tmp_path / "c.pt", factory=network, example=IMAGES)
