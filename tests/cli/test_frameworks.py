"""Files of real frameworks through the command line: one trained network has one λ, whatever file it came in."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import call

import infimum
from infimum import Assessment, Head, InputError, Outputs
from infimum._rounding import floor4

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

# Keras itself turns torch tensors into arrays with np.array(tensor), which numpy 2 warns about
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)

NEAR = 1e-4
"""What λ may differ by: the frameworks add up float32 in other orders."""

BLOBS = """
from torch import nn

def make():
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(54, 12), nn.ReLU(), nn.Linear(12, 4)),
    )

def flat(batch):
    return batch.reshape(len(batch), -1)
"""

CNN = {
    "TorchScript": ("--model", "net.ts"),
    "torch.export": ("--model", "net.pt2"),
    "state dict": ("--network", "factory=blobs_for_frameworks:make,weights=state.pt"),
    "safetensors": ("--network", "factory=blobs_for_frameworks:make,weights=state.safetensors"),
    "ONNX": ("--model", "net.onnx"),
    "Keras": ("--model", "net.keras"),
}
NEEDS = {"ONNX": ("onnx", "onnxruntime", "onnxscript"), "Keras": ("keras",)}
SAMPLING = ("--sampling", "samples:max_samples=20000,batch=10000", "--name", "net")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with blobs of four classes (calibration, operation) and the function that makes the network."""
    folder = tmp_path_factory.mktemp("frameworks")
    (folder / "blobs_for_frameworks.py").write_text(BLOBS)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 1, 8, 8))
    for name, n in (("train", 600), ("cal", 300), ("ops", 400)):
        labels = rng.integers(4, size=n)
        inputs = 0.3 * centres[labels] + rng.normal(size=(n, 1, 8, 8))
        np.savez(folder / f"{name}.npz", inputs=inputs.astype(np.float32), labels=labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="module")
def network(here):
    """A small CNN, trained for some steps, and λ of it as the module in memory gives it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = importlib.import_module("blobs_for_frameworks").make()
    with np.load("train.npz") as train:
        x, y = torch.tensor(train["inputs"]), torch.tensor(train["labels"])
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(25):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    return module.eval(), in_memory(module)


def in_memory(model):
    """λ over the operation's inputs and over samples, from Python, with the options of `SAMPLING`."""
    with np.load("ops.npz") as ops:
        adapter = infimum.models.load(model, example=ops["inputs"][:8])
    cal, ops = adapter.outputs("cal.npz"), adapter.outputs("ops.npz")
    sampling = infimum.Sampling(infimum.Stopping("samples", max_samples=20_000, batch=10_000))
    made = infimum.assess(cal, ops, head=adapter.head, sampling=sampling)
    assert 0.5 < made.lambda_operation.value < 0.99  # a network that is neither blind nor perfect
    return made


def write(module, name):
    """The network in the file of a format."""
    example = torch.zeros(2, 1, 8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchScript and of torch's ONNX exporter, about themselves
        if name == "TorchScript":
            torch.jit.trace(module, example).save("net.ts")
        elif name == "torch.export":
            shapes = ({0: torch.export.Dim("n", min=1)},)
            torch.export.save(torch.export.export(module, (example,), dynamic_shapes=shapes), "net.pt2")
        elif name == "ONNX":
            torch.onnx.export(module, (example,), "net.onnx", dynamic_shapes=({0: "n"},), verbose=False)
        elif name == "state dict":
            torch.save(module.state_dict(), "state.pt")
        elif name == "safetensors":
            from safetensors.torch import save_file

            save_file(module.state_dict(), "state.safetensors")
        else:
            in_keras(module).save("net.keras")


def in_keras(module):
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    first = {"data_format": "channels_first"}
    model = keras.Sequential(
        [
            keras.Input((1, 8, 8)),
            keras.layers.Conv2D(6, 3, activation="relu", **first),
            keras.layers.MaxPooling2D(2, **first),
            keras.layers.Flatten(),
            keras.layers.Dense(12, activation="relu"),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    layers = [layer for layer in model.layers if layer.weights]
    for layer, own in zip(layers, (module[0], module[4], module[6]), strict=True):
        weight = own.weight.detach().numpy()
        order = (2, 3, 1, 0) if weight.ndim == 4 else (1, 0)
        layer.set_weights([weight.transpose(order), own.bias.detach().numpy()])
    return model


def lambda_of(options, *also):
    """The assessments by way of extracted files, and in one go; what each printed."""
    found = []
    for data in ("cal", "ops"):
        made = call(
            *("extract", *options, *also, "--data", f"{data}.npz", "--out", f"{data}-out.npz"),
            *("--head-out", "head.safetensors", "--batch-size", 50),
        )
        assert "written: " in made.output
    in_one = ("--calibration", "cal.npz", "--operation", "ops.npz", *options, *also)
    in_two = ("--calibration", "cal-out.npz", "--operation", "ops-out.npz", "--head", "head.safetensors")
    for arguments in (in_two, in_one):
        printed = call("assess", *arguments, *SAMPLING, "--json", "made.json").output
        made = Assessment.load("made.json")
        assert made.lambda_.source == "manifold"
        for estimate in (made.lambda_, made.lambda_operation):
            assert floor4(estimate.value) in printed
        found.append(made)
    return found


def check_same(found, expected):
    for made in found:
        for which in ("lambda_", "lambda_operation"):
            assert abs(getattr(made, which).value - getattr(expected, which).value) <= NEAR, which
        assert made.success == expected.success
        assert [bound.value for bound in made.certified] == [bound.value for bound in expected.certified]


@pytest.mark.parametrize("name", CNN)
def test_one_network_has_one_lambda_from_every_file(network, name):
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed, reason=f"{needed} is an optional extra")
    module, expected = network
    write(module, name)
    check_same(lambda_of(CNN[name]), expected)
    outputs, head = Outputs.load("ops-out.npz"), Head.load("head.safetensors")
    assert outputs.features.shape == (400, 12)
    assert np.allclose(head.weight, module[6].weight.detach().numpy())
    with torch.no_grad(), np.load("ops.npz") as ops:
        own = module(torch.tensor(ops["inputs"])).numpy()
    assert np.allclose(outputs.logits, own, atol=1e-4)
    assert np.allclose(head.logits(outputs.features), own, atol=1e-4)


def test_a_skops_file_and_the_same_network_in_torch(here):
    """A perceptron of scikit-learn in a file, its inputs made flat by preprocess; torch has its weights."""
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    from sklearn.neural_network import MLPClassifier

    with np.load("train.npz") as train:
        x, y = train["inputs"].reshape(600, -1), train["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the training is short
        estimator = MLPClassifier((12,), max_iter=40, random_state=0).fit(x, y)
    skops.dump(estimator, "net.skops")
    layers = []
    for weight, bias in zip(estimator.coefs_, estimator.intercepts_, strict=True):
        layers.append(torch.nn.Linear(*weight.shape))
        layers[-1].load_state_dict({"weight": torch.tensor(weight.T), "bias": torch.tensor(bias)})
    module = torch.nn.Sequential(torch.nn.Flatten(), layers[0], torch.nn.ReLU(), layers[1])
    found = lambda_of(("--model", "net.skops"), "--network", "preprocess=blobs_for_frameworks:flat")
    check_same(found, in_memory(module))


@pytest.mark.parametrize("name", CNN)
def test_a_damaged_file_is_named(network, name):
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed, reason=f"{needed} is an optional extra")
    write(network[0], name)
    options = CNN[name]
    path = Path(options[-1].rpartition("=")[2])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=re.escape(path.name)):
        call("extract", *options, "--data", "ops.npz", "--out", "damaged.npz")
    assert not list(Path().glob("damaged*"))


@pytest.mark.parametrize("name", ["TorchScript", "torch.export", "ONNX", "Keras"])
def test_inputs_of_another_shape_or_type_are_answered(network, name):
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed, reason=f"{needed} is an optional extra")
    write(network[0], name)
    np.save("wide.npy", np.zeros((5, 1, 9, 7), np.float32))
    np.save("bytes.npy", np.zeros((5, 1, 8, 8), np.uint8))
    # Keras itself turns whole numbers into floats.
    for data, message in (("wide.npy", "9, 7"), ("bytes.npy", "uint8"))[: 1 if name == "Keras" else 2]:
        with pytest.raises(InputError, match=message):
            call("extract", *CNN[name], "--data", data, "--out", "wrong.npz")
    assert not list(Path().glob("wrong*"))


def test_labels_that_are_not_the_networks_classes(network):
    write(network[0], "TorchScript")
    np.save("labels.npy", np.full(400, 4))
    command = (
        "extract",
        *CNN["TorchScript"],
        "--data",
        "ops.npz",
        "--labels",
        "labels.npy",
        "--out",
        "l.npz",
    )
    with pytest.raises(InputError, match=r"row 0 is 4, outside 0\.\.3: the network has 4 classes"):
        call(*command)
