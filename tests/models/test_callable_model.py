"""Functions: logits, pairs, a head that is given or fitted, probabilities, and what is refused."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from infimum.errors import InputError
from infimum.head import Head, HeadFunction
from infimum.models import NetworkAdapter
from infimum.models._callable_model import cut_callable

rng = np.random.default_rng(0)
W, B = rng.normal(size=(3, 5)), rng.normal(size=3)
X = rng.normal(size=(60, 5))


def features_of(x):
    return np.maximum(np.asarray(x), 0)


def pair(x):
    f = features_of(x)
    return f, f @ W.T + B


def test_logits_only():
    cut = cut_callable(lambda x: pair(x)[1].tolist())  # a remote endpoint answers in lists
    logits, features = NetworkAdapter(cut).batch(X)
    assert cut.head is None
    assert features is None
    assert np.allclose(logits, pair(X)[1])
    assert "no features" in cut.why_no_head
    assert "logits only" in cut_callable(lambda x: pair(x)[1], example=X).why_no_head


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fitted_head_is_the_layer(dtype):
    def function(x):
        f, z = pair(x)
        return f.astype(dtype), z.astype(dtype)

    cut = cut_callable(function, example=X)
    logits, features = NetworkAdapter(cut).batch(X[:7])
    near = 1e-5 if dtype == np.float32 else 1e-12
    assert np.allclose(cut.head.weight, W, atol=near)
    assert np.allclose(cut.head.bias, B, atol=near)
    assert np.allclose(cut.head.logits(features), logits, atol=near)
    assert np.array_equal(logits, function(X[:7])[1])


def test_dead_features_are_no_obstacle():
    def function(x):
        f, z = pair(x)
        return np.column_stack([f, np.zeros(len(f)), f[:, 0]]), z

    cut = cut_callable(function, example=X)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(cut.head.logits(features), logits)


def test_features_that_the_example_did_not_show_are_noticed_in_any_batch():
    example = np.concatenate(
        [X[:, :4], np.full((60, 1), -1.0)], axis=1
    )  # the last feature is dead in all of it
    adapter = NetworkAdapter(cut_callable(pair, example=example))
    adapter.batch(example)
    with pytest.raises(
        InputError, match="example did not show all that the features can be; pass more inputs"
    ):
        adapter.batch(X)


def test_what_is_not_linear_is_refused_with_the_difference():
    with pytest.raises(InputError, match=r"not linear in each other.* up to \d"):
        cut_callable(lambda x: (x, pair(x)[1]), example=X)


@pytest.mark.parametrize("n", [1, 4, 6])
def test_too_few_examples_are_refused(n):
    # any six rows are fitted exactly by five features and a bias
    with pytest.raises(InputError, match="too few"):
        cut_callable(lambda x: (x, pair(x)[1]), example=X[:n])


def test_a_given_head_is_proved():
    cut = cut_callable(pair, head=Head(W, B))
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(cut.head.logits(features), logits)
    with pytest.raises(InputError, match="the cut is wrong"):
        NetworkAdapter(cut_callable(pair, head=Head(W, B + 1))).batch(X)
    with pytest.raises(InputError, match=r"return \(features, logits\)"):
        NetworkAdapter(cut_callable(lambda x: pair(x)[1], head=Head(W, B))).batch(X)


def test_a_pair_without_head_or_example_keeps_its_features():
    cut = cut_callable(pair)
    assert cut.head is None
    assert "head nor an example" in cut.why_no_head
    assert np.array_equal(NetworkAdapter(cut).batch(X)[1], features_of(X))


def test_probabilities():
    cut = cut_callable(lambda x: softmax(pair(x)[1], axis=1), probabilities=True)
    (outputs,) = NetworkAdapter(cut).stream([X])
    assert np.allclose(outputs.logits, log_softmax(pair(X)[1], axis=1))
    certain = np.eye(3)
    (outputs,) = NetworkAdapter(cut_callable(lambda x: certain, probabilities=True)).stream([certain])
    assert outputs.saturated == 3  # said in the assessment's caveats


def test_probabilities_that_were_not_announced():
    with pytest.raises(InputError, match="logarithms, which are logits"):
        NetworkAdapter(cut_callable(lambda x: softmax(pair(x)[1], axis=1))).batch(X)


@pytest.mark.parametrize("head", [None, Head(W, B), HeadFunction(lambda f: f @ W.T + B, 5, 3)])
def test_probabilities_beside_features(head):
    def function(x):
        f, z = pair(x)
        return f, softmax(z, axis=1)

    cut = cut_callable(function, head=head, example=X, probabilities=True)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(softmax(logits, axis=1), function(X)[1])
    assert np.allclose(cut.head.logits(features), logits)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_a_single_output_is_two_logits(shape):
    def function(x):
        f, z = pair(x)
        return f, z[:, 0].reshape(shape)

    cut = cut_callable(function, example=X)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.allclose(logits, np.column_stack([np.zeros(60), pair(X)[1][:, 0]]))
    assert np.allclose(cut.head.logits(features), logits)
    cut = cut_callable(lambda x: expit(pair(x)[1][:, 0]).reshape(shape), probabilities=True)
    (outputs,) = NetworkAdapter(cut).stream([X])
    assert np.allclose(outputs.logits[:, 1] - outputs.logits[:, 0], pair(X)[1][:, 0])


def test_wrong_returns():
    for function, message in (
        (lambda x: None, "must return logits as numbers"),
        (lambda x: np.array(["a"] * len(x)), "must return logits as numbers"),
        (lambda x: (x[:3], pair(x)[1]), "features of shape"),
        (lambda x: pair(x)[1][:5], "for 60 inputs"),
    ):
        with pytest.raises(InputError, match=message):
            NetworkAdapter(cut_callable(function)).batch(X)


def test_torch_tensors_are_taken():
    torch = pytest.importorskip("torch", reason="torch is an optional extra")
    layer = torch.nn.Linear(5, 3)

    def function(x):
        with torch.no_grad():
            x = torch.as_tensor(x, dtype=torch.float32).relu()
            return x, layer(x)

    cut = cut_callable(function, example=X)
    logits, features = NetworkAdapter(cut).batch(X)
    assert np.array_equal(logits, function(X)[1].numpy())
    assert np.allclose(cut.head.logits(features), logits, atol=1e-5)
    assert np.allclose(cut.head.weight, layer.weight.detach().numpy(), atol=1e-5)
