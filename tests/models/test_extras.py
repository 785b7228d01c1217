"""A framework that is not installed is answered with the command that installs it."""

import sys

import pytest

from infimum.errors import InputError, MissingExtraError
from infimum.models._keras.model import cut_keras
from infimum.models._onnx.file import cut_onnx
from infimum.models._sklearn.model import cut_sklearn


@pytest.mark.parametrize(
    ("module", "cut", "name", "extra"),
    [
        ("onnx", cut_onnx, "m.onnx", "onnx"),
        ("onnxruntime", cut_onnx, "m.onnx", "onnx"),
        ("keras", cut_keras, "m.keras", "keras"),
        ("skops.io", cut_sklearn, "m.skops", "sklearn-files"),
    ],
)
def test_the_command_is_in_the_message(module, cut, name, extra, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, module, None)  # as Python marks what cannot be imported
    if module == "onnxruntime":
        pytest.importorskip("onnx", reason="onnx is looked for first")
    with pytest.raises(MissingExtraError, match=rf"pip install 'infimum\[{extra}\]'"):
        cut(tmp_path / name)


def test_a_missing_backend_of_keras_is_told_apart(monkeypatch):
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "keras":
                raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")

    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(InputError, match="tensorflow is not installed; install it, or set KERAS_BACKEND"):
        cut_keras("m.keras")
