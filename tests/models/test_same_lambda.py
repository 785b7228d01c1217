"""One network in torch, ONNX, Keras and scikit-learn has one λ: to 1e-6 in float64, 1e-4 in float32."""

import os
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from infimum.conformal import RAPS, calibrate
from infimum.manifold import fit_kernel
from infimum.manifold._sampling import sample_lambda
from infimum.manifold._stopping import Stopping
from infimum.models import load

torch = pytest.importorskip("torch", reason="torch is an optional extra")
pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")
pytest.importorskip("onnxscript", reason="torch exports to ONNX with onnxscript")
os.environ["KERAS_BACKEND"] = "torch"
keras = pytest.importorskip("keras", reason="keras is an optional extra")

X, Y = load_digits(return_X_y=True)
X = X / 15.0  # numbers that float32 would round
TRAIN, CALIBRATION, OPERATION = slice(0, 600), slice(600, 1000), slice(1000, None)


@pytest.fixture(scope="module")
def trained():
    """An MLP of scikit-learn, short of convergence so that λ is not 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the training is short
        return MLPClassifier((24, 16), max_iter=60, random_state=0).fit(X[TRAIN], Y[TRAIN])


def in_torch(trained, dtype):
    layers = []
    for weight, bias in zip(trained.coefs_, trained.intercepts_, strict=True):
        layer = torch.nn.Linear(*weight.shape, dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight.T))
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1], torch.nn.Softmax(dim=1)).eval().to(dtype)


def as_function(module, dtype):
    """Features and logits, as one writes them by hand."""

    def answer(inputs):
        with torch.no_grad():
            features = module[:4](torch.as_tensor(inputs).to(dtype))
            return features.numpy(), module[4](features).numpy()

    return answer


def in_onnx(module, dtype, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's exporter uses deprecated parts of torch
        example = torch.zeros(2, 64, dtype=dtype)
        torch.onnx.export(module, (example,), path, dynamic_shapes=({0: "n"},), verbose=False)
    return path


def in_torch_files(module, dtype, folder):
    """The module as TorchScript and as a torch.export program."""
    example = torch.zeros(2, 64, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript is deprecated, its files are not
        torch.jit.trace(module, example).save(str(folder / "m.ts"))
    shapes = ({0: torch.export.Dim("n", min=1)},)
    torch.export.save(torch.export.export(module, (example,), dynamic_shapes=shapes), folder / "m.pt2")
    return folder / "m.ts", folder / "m.pt2"


def in_keras(trained, dtype):
    sizes = ((24, "relu"), (16, "relu"), (10, "softmax"))
    keras.config.set_dtype_policy(dtype)  # the model's own type, to which it casts its inputs
    try:
        layers = [keras.layers.Dense(n, activation=activation) for n, activation in sizes]
        model = keras.Sequential([keras.Input((64,), dtype=dtype), *layers])
    finally:
        keras.config.set_dtype_policy("float32")
    for layer, weight, bias in zip(layers, trained.coefs_, trained.intercepts_, strict=True):
        layer.set_weights([weight, bias])
    return model


def lambdas(adapter):
    """λ over the operation's inputs, over samples of the manifold, and the accuracy."""
    (cal,), (ops,) = (
        adapter.stream([(X[CALIBRATION], Y[CALIBRATION])]),
        adapter.stream([(X[OPERATION], Y[OPERATION])]),
    )
    calibration = calibrate(cal.logits, cal.labels, RAPS(0.01, 2))
    real = float(calibration.success_levels(ops.logits).mean())
    kernel = fit_kernel(ops.features, ops.predicted)
    run = sample_lambda(
        kernel, adapter.head, calibration, Stopping("samples", max_samples=20_000, batch=10_000)
    )
    return np.array([real, run.summary.value, ops.accuracy])


@pytest.mark.parametrize(("name", "near"), [("float64", 1e-6), ("float32", 1e-4)])
def test_the_same_network_has_the_same_lambda(trained, name, near, tmp_path):
    torch.set_num_threads(1)
    dtype = getattr(torch, name)
    module = in_torch(trained, dtype)
    script, program = in_torch_files(module, dtype, tmp_path)
    adapters = {
        "torch": load(module, example=X[:8]),
        "TorchScript": load(script, example=X[:8]),
        "torch.export": load(program, example=X[:8]),
        "ONNX": load(in_onnx(module, dtype, tmp_path / "m.onnx")),
        "Keras": load(in_keras(trained, name)),
        "scikit-learn": load(trained),
        "callable": load(as_function(module, dtype), example=X[TRAIN]),
    }
    found = {framework: lambdas(adapter) for framework, adapter in adapters.items()}
    exact = in_torch(trained, torch.float64)
    with torch.no_grad():
        own = exact[:-1](torch.as_tensor(X[OPERATION])).numpy()  # the network itself, with nothing of infimum
    assert 0.5 < found["torch"][0] < 0.99
    for framework, value in found.items():
        assert np.abs(value - found["torch"]).max() <= near, (framework, found)
    for framework, adapter in adapters.items():
        # Keras on torch multiplies float64 matrices in float32 (keras.backend.result_type says so).
        close = 1e-9 if name == "float64" and framework != "Keras" else 1e-4
        assert np.allclose(adapter.batch(X[OPERATION])[0], own, atol=close), framework
