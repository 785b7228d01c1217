"""Files of models that are damaged, or made to do harm, are bad input: one line that names them, whatever the kind."""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np
import pytest

from infimum import InputError
from infimum.models import load
from infimum.models._at_fault import LONGEST, at_fault

X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
# Keras itself turns torch tensors into arrays with np.array(tensor), which numpy 2 warns about.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)
JUNK = [b"", b"[1]", b"null", b'"text"', b"{", b"{}", b"[" * 100_000, b'{"a": 1e400}', b"\xff\xfe"]


def rewritten(path, member, content):
    """The zip at `path` with another content of a member, beside it."""
    out = path.with_name(f"damaged{path.suffix}")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, content(old.read(name)) if name == member else old.read(name))
    return out


def refused(path):
    with pytest.raises(InputError) as caught:
        load(path, example=X).outputs(X)
    text = str(caught.value)
    assert path.name in text or "LogisticRegression" in text  # what was in the file
    assert "\n" not in text
    assert len(text) <= 500 + len(str(path))


@pytest.fixture(scope="module")
def keras_file(tmp_path_factory):
    pytest.importorskip("torch", reason="Keras runs on torch here")
    os.environ["KERAS_BACKEND"] = "torch"
    keras = pytest.importorskip("keras", reason="keras is an optional extra")
    path = tmp_path_factory.mktemp("keras") / "net.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="last")]).save(path)
    return path


@pytest.mark.parametrize("config", JUNK, ids=[str(junk[:12]) for junk in JUNK])
def test_configurations_of_keras(config, keras_file):
    refused(rewritten(keras_file, "config.json", lambda _: config))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("config",), [1]),
        (("class_name",), 5),
        (("config", "layers"), None),
        (("config", "layers"), [[]]),
        (("config", "layers", 1, "config", "units"), -3),
        (("config", "layers", 1, "config", "units"), "3"),
        (("config", "layers", 1, "config", "activation"), {}),
        (("config", "layers", 1, "config", "dtype"), 7),
        (("config", "layers", 0, "config", "batch_shape"), [[]]),
    ],
    ids=str,
)
def test_parts_of_the_configuration_of_keras(place, value, keras_file):
    def changed(content):
        whole = part = json.loads(content)
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        return json.dumps(whole).encode()

    refused(rewritten(keras_file, "config.json", changed))


@pytest.fixture(scope="module")
def skops_file(tmp_path_factory):
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")
    from sklearn.linear_model import LogisticRegression

    path = tmp_path_factory.mktemp("skops") / "net.skops"
    skops.dump(LogisticRegression().fit(X, np.arange(30) % 3), path)
    return path


@pytest.mark.parametrize("schema", JUNK, ids=[str(junk[:12]) for junk in JUNK])
def test_schemas_of_skops(schema, skops_file):
    refused(rewritten(skops_file, "schema.json", lambda _: schema))


@pytest.mark.parametrize("attribute", ["coef_", "intercept_", "classes_"])
def test_estimators_that_lack_what_a_fit_leaves(attribute, skops_file):
    refused(rewritten(skops_file, "schema.json", lambda old: old.replace(attribute.encode(), b"lost_")))


@pytest.mark.parametrize(
    "change",
    [
        {"architectures": 5},
        {"architectures": {}},
        {"architectures": [["BertForSequenceClassification"]]},
        {"id2label": [1, 2, 3]},
        {"id2label": {"one": "a"}},
        {"hidden_size": "8"},
        {"model_type": None},
        {"vocab_size": 10**30},
    ],
    ids=str,
)
def test_configurations_of_hugging_face(change, hugging_face_folder, tmp_path):
    config = json.loads((hugging_face_folder / "config.json").read_text())
    for name in os.listdir(hugging_face_folder):
        (tmp_path / name).symlink_to(hugging_face_folder / name)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(InputError) as caught:
        load(tmp_path, example=np.ones((4, 6), int))
    assert tmp_path.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def hugging_face_folder(tmp_path_factory):
    pytest.importorskip("torch", reason="PyTorch is an optional extra")
    transformers = pytest.importorskip("transformers", reason="transformers is an optional extra")
    folder = tmp_path_factory.mktemp("bert")
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=20, num_labels=3, max_position_embeddings=16, **small)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("content", JUNK, ids=[str(junk[:12]) for junk in JUNK])
def test_the_index_of_weights_of_hugging_face(content, hugging_face_folder, tmp_path):
    for name in os.listdir(hugging_face_folder):
        (tmp_path / name).symlink_to(hugging_face_folder / name)
    (tmp_path / "model.safetensors.index.json").write_bytes(content)
    with pytest.raises(InputError, match=r"index\.json"):
        load(tmp_path, example=np.ones((4, 6), int))


def test_what_others_say_is_short_and_in_one_line(tmp_path):
    with (
        pytest.raises(InputError, match=rf"net is bad \(RuntimeError: a b c{{{LONGEST - 4}}}…\)$") as caught,
        at_fault(tmp_path / "net", "is bad"),
    ):
        raise RuntimeError("a\n b\t" + " " * 5 + "c" * LONGEST)
    assert isinstance(caught.value.__cause__, RuntimeError)
