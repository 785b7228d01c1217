"""Keras 3: Sequential, functional, nested and subclassed models, with every ending; files; what is refused."""

import os
import zipfile

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from infimum.errors import InputError
from infimum.head import Head, HeadFunction
from infimum.models import NetworkAdapter
from infimum.models._keras.model import cut_keras

torch = pytest.importorskip("torch", reason="Keras runs on torch here")
os.environ["KERAS_BACKEND"] = "torch"
keras = pytest.importorskip("keras", reason="keras is an optional extra")

L = keras.layers
X = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
# Keras itself turns torch tensors into arrays with np.array(tensor), which numpy 2 warns about
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)


@pytest.fixture(autouse=True)
def same_weights():
    keras.utils.set_random_seed(0)
    torch.set_num_threads(1)


def body(*tail):
    return keras.Sequential([keras.Input((4,)), L.Dense(6, activation="relu", name="first"), *tail])


def functional(make):
    inputs = keras.Input((4,))
    return keras.Model(inputs, make(L.Dense(6, activation="relu", name="first")(inputs)))


def last(units=3, **options):
    return L.Dense(units, name="last", bias_initializer="random_normal", **options)


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.Dense(6, activation="relu", name="first")
        self.last = last(activation="softmax")

    def call(self, x):
        return self.last(self.first(x))


def subclassed():
    model = Subclassed()
    model(X)
    return model


MODELS = {
    "no activation": (lambda: body(last()), None),
    "softmax activation": (lambda: body(last(activation="softmax")), softmax),
    "log-softmax activation": (lambda: body(last(activation="log_softmax")), log_softmax),
    "softmax layer": (lambda: body(last(), L.Softmax()), softmax),
    "activation layer": (lambda: body(last(), L.Activation("softmax")), softmax),
    "dropout, reshape, linear": (
        lambda: body(L.Dropout(0.5), last(), L.Reshape((3,)), L.Activation("linear"), L.Softmax()),
        softmax,
    ),
    "temperature": (lambda: body(last(), L.Rescaling(0.5, 1.0), L.Rescaling(3.0, 2.0), L.Softmax()), softmax),
    "functional": (lambda: functional(last(activation="softmax")), softmax),
    "functional operation": (lambda: functional(lambda x: keras.ops.softmax(last()(x))), softmax),
    "nested head": (lambda: body(keras.Sequential([L.Dropout(0.1), last(activation="softmax")])), softmax),
    "nested body": (
        lambda: keras.Sequential([keras.Input((4,)), body(L.BatchNormalization()), last(), L.Softmax()]),
        softmax,
    ),
    "no bias": (lambda: body(L.Dense(3, use_bias=False)), None),
    "subclassed": (subclassed, softmax),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_ending(name):
    make, end = MODELS[name]
    model = make()
    cut = cut_keras(model)
    adapter = NetworkAdapter(cut)
    logits, features = adapter.batch(X)
    own = model.predict_on_batch(X)
    assert isinstance(cut.head, Head)
    assert features.shape == (12, 6)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)
    assert np.allclose(logits if end is None else end(logits, axis=1), own, atol=1e-6)
    assert np.ptp(logits) > 0.1
    # the model is as it was: nothing is watched any more
    assert np.array_equal(model.predict_on_batch(X), own)
    assert all("call" not in vars(layer) for layer in model.layers)


@pytest.mark.parametrize(
    "tail", [lambda: [last(1, activation="sigmoid")], lambda: [last(1), L.Activation("sigmoid")]]
)
def test_a_single_sigmoid_is_two_logits(tail):
    model = body(*tail())
    cut = cut_keras(model)
    logits, features = NetworkAdapter(cut).batch(X)
    assert not logits[:, 0].any()
    assert np.allclose(expit(logits[:, 1:]), model.predict_on_batch(X), atol=1e-6)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)


def test_several_sigmoids_are_refused():
    with pytest.raises(InputError, match="3 sigmoids"):
        NetworkAdapter(cut_keras(body(last(activation="sigmoid")))).batch(X)


def test_a_saturated_softmax_keeps_its_logits():
    model = body(last(activation="softmax"))
    model.layers[-1].kernel.assign(model.layers[-1].kernel * 1000)
    logits, _ = NetworkAdapter(cut_keras(model)).batch(X)
    assert (model.predict_on_batch(X) == 1).any()
    assert len(np.unique(logits.max(axis=1))) == len(X)


def test_no_dense_at_the_end_gives_a_reason():
    model = body(last(), L.LayerNormalization(name="norm"), L.Softmax())
    cut = cut_keras(model)
    assert cut.head is None
    assert "LayerNormalization 'norm'" in cut.why_no_head
    assert "first, last" in cut.why_no_head
    (outputs,) = NetworkAdapter(cut).stream([X])
    assert np.allclose(softmax(outputs.logits, axis=1), model.predict_on_batch(X), atol=1e-6)


def test_probabilities_of_an_unknown_ending_are_read_as_such():
    model = functional(lambda x: keras.ops.softmax(last()(x)) * 1.0)
    cut = cut_keras(model)
    assert cut.head is None
    (outputs,) = NetworkAdapter(cut).stream([X])
    assert np.allclose(softmax(outputs.logits, axis=1), model.predict_on_batch(X), atol=1e-6)


@pytest.mark.parametrize(
    "tail", [lambda: [last()], lambda: [last(activation="softmax")], lambda: [last(), L.Softmax()]]
)
def test_a_head_of_several_layers(tail):
    model = body(*tail())
    cut = cut_keras(model, head_layer="first")
    assert isinstance(cut.head, HeadFunction)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(features, X)
    assert np.allclose(cut.head.logits(X), logits, atol=1e-5)
    assert np.allclose(logits, NetworkAdapter(cut_keras(model)).batch(X)[0], atol=1e-5)


def test_branches_that_are_no_chain_are_noticed():
    def branch(x):
        return L.Softmax()(L.Add()([L.Dense(3, name="one")(x), L.Dense(3, name="two")(x)]))

    cut = cut_keras(functional(branch))
    assert cut.head is None
    assert "Add" in cut.why_no_head

    class Twice(Subclassed):
        def call(self, x):
            return super().call(x) / 2

    model = Twice()
    model(X)
    with pytest.raises(InputError, match=r"differs from the model's output by up to 0\.\d"):
        NetworkAdapter(cut_keras(model)).batch(X)


def test_several_inputs_by_name_and_a_fixed_batch():
    a, b = keras.Input(batch_shape=(8, 4), name="a"), keras.Input(batch_shape=(8, 4), name="b")
    model = keras.Model({"a": a, "b": b}, last()(L.Concatenate()([a, b])))
    logits, features = NetworkAdapter(cut_keras(model)).batch({"a": X[:8], "b": X[:8]})
    assert np.array_equal(features, np.hstack([X[:8], X[:8]]))
    assert np.allclose(logits, model({"a": X[:8], "b": X[:8]}).detach().numpy(), atol=1e-6)
    fixed = keras.Sequential([keras.Input(batch_shape=(8, 4)), last()])
    cut = cut_keras(fixed)
    assert cut.fixed_batch == 8
    assert NetworkAdapter(cut).batch(X[:5])[0].shape == (5, 3)


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16", "float16"])
def test_other_precisions(dtype):
    keras.config.set_dtype_policy(dtype)
    try:
        model = body(last(), L.Softmax())
        logits, _ = NetworkAdapter(cut_keras(model)).batch(X)
        own = model(X).detach().to(torch.float64).numpy()
    finally:
        keras.config.set_dtype_policy("float32")
    assert np.allclose(softmax(logits.astype(float), axis=1), own, atol=1e-12 if dtype == "float64" else 1e-2)


def test_wrong_inputs_and_layers():
    model = body(last())
    with pytest.raises(InputError, match=r"expects \(None, 4\)"):
        NetworkAdapter(cut_keras(model)).batch(X[:, :3])
    assert "call" not in vars(model.layers[-1])
    with pytest.raises(InputError, match="its Dense layers are: first, last"):
        cut_keras(model, head_layer="fc")
    with pytest.raises(InputError, match="no weights yet"):
        cut_keras(keras.Sequential([last()]))
    with pytest.raises(InputError, match="2 outputs"):
        cut_keras(functional(lambda x: [last()(x), L.Dense(2)(x)]))
    with pytest.raises(InputError, match="not int"):
        cut_keras(3)


def test_files(tmp_path):
    model = body(last(activation="softmax"))
    path = tmp_path / "model.keras"
    model.compile(loss="categorical_crossentropy")
    model.save(path)
    cut = cut_keras(path)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(softmax(logits, axis=1), model.predict_on_batch(X), atol=1e-6)
    assert np.allclose(cut.head.logits(features), logits)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"not a \.keras file"):
            cut_keras(path)
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "bad.keras", "w") as new:
        for name in old.namelist():
            new.writestr(name, b"" if name.endswith(".h5") else old.read(name))
    with pytest.raises(InputError, match="cannot be loaded"):
        cut_keras(tmp_path / "bad.keras")
    with pytest.raises(InputError, match="directory"):
        cut_keras(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        cut_keras(tmp_path / "none.keras")


@keras.saving.register_keras_serializable("own")
class Own(L.Layer):
    def call(self, x):
        return x


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")  # that is the test
@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: Own(), "not Keras's own .*own>Own"),
        (lambda: L.Lambda(lambda x: x), "not Keras's own .*Lambda"),
        (lambda: L.Dense(6, activation=lambda x: x), "cannot be loaded by Keras: Could not interpret"),
    ],
)
def test_code_of_others_in_files_is_refused(layer, message, tmp_path):
    model = body(layer(), last())
    model.save(tmp_path / "m.keras")
    with pytest.raises(InputError, match=message):
        cut_keras(tmp_path / "m.keras")
    assert NetworkAdapter(cut_keras(model)).batch(X)[0].shape == (
        12,
        3,
    )  # in memory it is the user's own code


def test_a_softmax_in_the_models_own_code_is_advised_on():
    class Hidden(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = keras.layers.Dense(3)

        def call(self, x, training=False):
            return keras.ops.softmax(self.last(x))

    model = Hidden()
    model(X)
    with pytest.raises(InputError, match="look like probabilities, let the network return its logits"):
        NetworkAdapter(cut_keras(model)).batch(X)
