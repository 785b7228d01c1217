"""What is told of any network before its outputs are believed: draws, probabilities, classes, labels and columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from infimum import InputError
from infimum.data import open_data
from infimum.models import extract, load

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(40, 5)), RNG.normal(size=(5, 3))


def test_a_function_that_draws_is_refused():
    with pytest.raises(InputError, match=r"run again .*draws at random"):
        load(lambda x: x @ W + RNG.normal(size=(len(x), 3))).outputs(X)

    def in_place(x):  # no draw: what it did to its batch is undone
        x -= 1
        return x @ W

    np.testing.assert_allclose(load(in_place).outputs(X).logits, (X - 1) @ W)


def test_a_module_with_a_dropout_that_stays_on():
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

    class Draws(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.fc(torch.nn.functional.dropout(x))

    with pytest.raises(InputError, match="draws at random"):
        load(Draws(), example=X).outputs(X)


@pytest.mark.parametrize("what", ["dropout", "batch norm"])
@pytest.mark.parametrize("kind", ["script", "program"])
def test_files_of_networks_in_training_mode(tmp_path, what, kind):
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
    from torch_networks import save_program, save_script

    middle = torch.nn.Dropout() if what == "dropout" else torch.nn.BatchNorm1d(6)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 6), middle, torch.nn.Linear(6, 3))
    path = tmp_path / "net"
    with pytest.warns() if kind == "script" else pytest.MonkeyPatch.context():
        (save_script if kind == "script" else save_program)(module.train(), path)
    with pytest.raises(InputError, match=r"training mode.*model\.eval\(\)"):
        load(path, example=RNG.normal(size=(4, 1, 8, 8)))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_probabilities_in_batches_of_any_size(size):
    with pytest.raises(InputError, match="logarithms"):
        load(lambda x: softmax(x @ W, axis=1)).outputs(X, batch_size=size)


@pytest.mark.parametrize(
    "after", [lambda p: 100 * p, lambda p: p * [0.7, 0.2, 0.1], lambda p: 0.9 * p, lambda p: p[:, 0]]
)
def test_scaled_probabilities_are_warned_of(after):
    with pytest.warns(UserWarning, match=r"no output of the function is below 0.*logarithms"):
        load(lambda x: after(softmax(x @ W, axis=1))).outputs(X)


def test_functions_that_fail_are_named():
    def divide(x):
        return x / 0 if len(x) < 0 else 1 / 0

    with pytest.raises(
        InputError, match="function 'divide' failed on a batch of 40 inputs: ZeroDivisionError"
    ):
        load(divide).outputs(X)
    with pytest.raises(InputError, match="preprocess 'divide' failed: ZeroDivisionError"):
        load(lambda x: x @ W).outputs(X, preprocess=divide)
    pytest.importorskip("torch", reason="PyTorch is an optional extra")
    from infimum.models._torch.files import build

    def factory():
        raise RuntimeError("no such layer")

    with pytest.raises(InputError, match="factory 'factory' failed: RuntimeError: no such layer"):
        build(factory)


def test_classes_that_vary_and_a_squeezed_last_row():
    with pytest.raises(InputError, match="gave 32 classes for the inputs before row 32, and 8 from"):
        load(lambda x: np.ones((len(x), len(x))) - 2).outputs(X, batch_size=32)
    squeezed = load(lambda x: np.squeeze(x @ W)).outputs(X, batch_size=13)  # 13, 13, 13 and 1
    np.testing.assert_allclose(squeezed.logits, X @ W)


def test_tensors_of_all_kinds():
    torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
    layer = torch.nn.Linear(5, 3)
    outputs = load(lambda x: layer(torch.as_tensor(x, dtype=torch.float32))).outputs(
        torch.tensor(X).bfloat16()
    )
    assert outputs.logits.shape == (40, 3)


def test_labels_of_some_batches_or_too_many():
    adapter = load(lambda x: x @ W)
    with pytest.raises(InputError, match="some batches have labels and some have none"):
        adapter.outputs([(X[:20], np.zeros(20, int)), X[20:]])
    with pytest.raises(InputError, match="has 41 labels, but the list gave 40 inputs"):
        adapter.outputs([X[:20], X[20:]], labels=np.zeros(41, int))


def test_inputs_that_are_taken_for_something_else():
    for data, message in (
        ((X, X), "a tuple of arrays.*dict"),
        ({"x": X, "y": X}, "'y' is read as the labels"),
        ([(X, X, np.zeros(40))], r"second part has shape \(40, 5\).*\(\(a, b\), labels\)"),
        (np.ma.masked_greater(X, 1), "masked"),
        ({"x": X, "weights": np.ones(40)}, "holds weights"),
    ):
        with pytest.raises(InputError, match=message):
            list(open_data(data).batches(64))


def test_an_error_before_the_first_chunk_leaves_nothing_behind(tmp_path):
    with pytest.raises(InputError, match="row 7"):
        extract(load(lambda x: x @ W), np.where(np.arange(40)[:, None] == 7, np.nan, X), tmp_path / "o.npz")
    assert not list(tmp_path.iterdir())
    assert extract(load(lambda x: x @ W), X, tmp_path / "o.npz").rows == 40


def test_columns_go_by_name(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow import parquet
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    labels = (X @ W).argmax(1)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
    expected = load(model).outputs((X, labels))
    model[0].feature_names_in_ = np.array(list("abcde"), dtype=object)  # as fit on a data frame leaves it
    table = {"index": np.arange(40), "label": labels} | {name: X[:, i] for i, name in enumerate("abcde")}
    for order in ("abcde", "ecbda"):
        names = ["label", "index", *order]
        parquet.write_table(pa.table({name: table[name] for name in names}), tmp_path / "x.parquet")
        outputs = load(model).outputs(tmp_path / "x.parquet")
        np.testing.assert_allclose(outputs.logits, expected.logits)
    parquet.write_table(pa.table({f"c{i}": X[:, i] for i in range(5)}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no column 'a', which the model was trained on; it has c0"):
        load(model).outputs(tmp_path / "x.parquet")
