"""Files from others: what would run code is refused, what is damaged is answered, and neither crashes."""

from __future__ import annotations

import json
import pickle
import shutil
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402
from torch_networks import IMAGES, Network, network, save_program, save_script  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models._torch.files import cut_torch_file  # noqa: E402
from infimum.models._torch.run import OLDEST  # noqa: E402


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


class SetsItems:
    """A pickle that sets an item of a tensor, by which old versions of PyTorch let memory be corrupted."""

    def __reduce__(self):
        tensor = torch.zeros(3)
        make, arguments = tensor.__reduce_ex__(2)[:2]
        return make, arguments, None, None, iter([(0, 1.0)])


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_that_sets_items_of_a_tensor_is_refused(tmp_path, monkeypatch, zipped):
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("loaded"))
    torch.save({"w": SetsItems()}, tmp_path / "w.pt", _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match="damaged: its pickle cannot be followed"):
        cut_torch_file(factory=Network, weights=tmp_path / "w.pt", example=IMAGES)


@pytest.mark.parametrize("version", ["2.5.1", "2.5.1+cu124", "1.13.0a0", "2.4"])
def test_pytorch_in_which_weights_can_run_code_is_refused(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(InputError, match=r"files of weights can make run code; install 2\.6 or newer"):
        cut_torch_file("net.pt", example=IMAGES)


def test_every_extra_that_brings_pytorch_asks_for_a_safe_one():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = {name: line for name, lines in extras.items() for line in lines if line.startswith("torch")}
    assert set(asked) >= {"torch", "huggingface", "flow"}
    assert set(asked.values()) == {f"torch>={'.'.join(map(str, OLDEST))}"}
    page = " ".join((root / "docs/security.md").read_text().split())
    for library, extra in (("PyTorch", "torch"), ("Keras", "keras"), ("skops", "sklearn-files")):
        assert f"{library} {extras[extra][0].partition('>=')[2]}" in page


@pytest.mark.parametrize("zipped", [True, False])
def test_whole_pickled_module_needs_trust(tmp_path, zipped):
    path = tmp_path / "whole.pt"
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    torch.save(module, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match="--trust"):
        cut_torch_file(path, example=IMAGES)
    with pytest.warns(UserWarning, match="Go on only if you trust"):
        cut = cut_torch_file(path, example=IMAGES, trust=True)
    logits, _ = NetworkAdapter(cut).batch(IMAGES)
    np.testing.assert_allclose(logits, module(torch.as_tensor(IMAGES)).detach(), rtol=1e-5)


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
    with pytest.raises(InputError, match=r"calls torch\.save \(line 9\)"):
        cut_torch_file(path, example=IMAGES)


def save_form(form, path):
    """A network in one of the kinds of files; the factory that this kind needs."""
    if form == "script":
        save_script(network(), path)
    elif form == "program":
        save_program(network(), path)
    elif form == "pt":
        torch.save(network().state_dict(), path)
    else:
        save_file(network().state_dict(), path)
    return Network if form in ("pt", "safetensors") else None


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("form", ["script", "program", "pt", "safetensors"])
def test_truncated_files(tmp_path, form, share):
    path = tmp_path / "net"
    factory = save_form(form, path)
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
    path = tmp_path / "net"
    factory = save_form(form, path)
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
