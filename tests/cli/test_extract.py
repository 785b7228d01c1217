"""`infimum extract` and `infimum assess --model`: files in, files out, exit codes, one-line errors.

Most networks here are made by hand in place of the one a framework's file would give; each framework's own tests
cover its files.
"""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from command_line import call

import infimum.models
from infimum import Head, InputError, Outputs
from infimum.cli.main import run
from infimum.models import Cut, NetworkAdapter

EXTRACT = ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz")

W = np.random.default_rng(0).normal(size=(3, 4)) * 3


@pytest.fixture
def network(monkeypatch, tmp_path):
    """A linear network behind a model file; returns the options that `load` was given."""
    seen = {}

    def load(path, **options):
        seen.update(options, path=path)
        return NetworkAdapter(Cut(lambda x: (x @ W.T, x), seen.get("head", Head(W)), "hand-made", "head"))

    monkeypatch.setattr(infimum.models, "load", load)
    (tmp_path / "model").write_bytes(b"model")
    monkeypatch.chdir(tmp_path)
    return seen


def data(path, n=60, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    np.savez(path, x=x, labels=(x @ W.T + rng.gumbel(size=(n, 3))).argmax(axis=1), ids=np.arange(n))
    return x


@pytest.mark.parametrize("kind", ["o.npz", "o.safetensors", "o.parquet"])
def test_extract(network, tmp_path, kind):
    if kind == "o.parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    x = data(tmp_path / "x.npz")
    result = call(
        *(
            "extract",
            "--model",
            "model",
            "--data",
            "x.npz",
            "--out",
            kind,
            "--head-out",
            "h.npz",
            "--batch-size",
            7,
        )
    )
    assert "written" in result.output
    assert "60 inputs" in result.output
    outputs = Outputs.load(tmp_path / kind)
    np.testing.assert_allclose(outputs.logits, x @ W.T)
    np.testing.assert_array_equal(outputs.ids, np.arange(60))
    np.testing.assert_array_equal(Head.load(tmp_path / "h.npz").weight, W)
    assert network["example"].shape == (7, 4)


def test_what_is_extracted_is_assessed_alike(network, tmp_path):
    """`assess --model` gives what `extract` and `assess` give one after the other."""
    data(tmp_path / "cal.npz", 300, 1)
    data(tmp_path / "ops.npz", 300, 2)
    for name in ("cal", "ops"):
        call(
            "extract",
            "--model",
            "model",
            "--data",
            f"{name}.npz",
            "--out",
            f"{name}-out.npz",
            "--head-out",
            "h.npz",
        )
    call(
        *("assess", "--calibration", "cal-out.npz", "--operation", "ops-out.npz", "--head", "h.npz"),
        *("--json", "two.json", "--sampling", "se:max_samples=40000", "--name", "n"),
    )
    call(
        *("assess", "--model", "model", "--calibration", "cal.npz", "--operation", "ops.npz"),
        *("--json", "one.json", "--sampling", "se:max_samples=40000", "--name", "n"),
    )
    two, one = (json.loads((tmp_path / name).read_text()) for name in ("two.json", "one.json"))
    assert one["lambda"]["source"] == "manifold"
    assert one == two


def test_assess_with_labels_and_tuning_apart(network, tmp_path):
    for name in ("cal", "ops", "tun"):
        x = data(tmp_path / f"{name}.npz", 200)
        np.save(tmp_path / f"{name}.npy", x)
        np.save(tmp_path / f"{name}-y.npy", np.load(tmp_path / f"{name}.npz")["labels"])
    call(
        *("assess", "--model", "model", "--json", "o.json", "--manifold", "none", "--quiet"),
        *("--calibration", "cal.npy", "--operation", "ops.npz", "--tuning", "tun.npy"),
        *("--labels", "calibration=cal-y.npy,operation=none,tuning=tun-y.npy"),
    )
    found = json.loads((tmp_path / "o.json").read_text())
    assert found["success"] is None
    assert found["calibration"]["n_tuning"] == 200


def test_preprocess_and_settings(network, tmp_path, monkeypatch):
    x = data(tmp_path / "x.npz")
    (tmp_path / "my_steps.py").write_text("def halve(batch):\n    return batch / 2\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    call(
        "extract",
        "--model",
        "model",
        "--data",
        "x.npz",
        "--out",
        "o.npz",
        "--network",
        "preprocess=my_steps:halve",
    )
    np.testing.assert_allclose(Outputs.load(tmp_path / "o.npz").logits, x @ W.T / 2)


def test_resume_refuses_another_model(network, tmp_path, monkeypatch):
    data(tmp_path / "x.npz")
    command = ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--batch-size", 10)
    from infimum.models import _extraction as extraction

    monkeypatch.setattr(extraction, "CHUNK_BYTES", 1)
    x = np.load(tmp_path / "x.npz")
    broken = x["x"].copy()
    broken[35] = np.nan
    np.savez(tmp_path / "x.npz", x=broken, labels=x["labels"])
    with pytest.raises(InputError, match="row 35, column 0 is nan"):
        call(*command)
    (tmp_path / "model").write_bytes(b"another")
    with pytest.raises(InputError, match="other settings"):
        call(*command, "--resume")


@pytest.mark.parametrize("kind", ["o.npz", "o.safetensors", "o.parquet"])
def test_resume_says_that_a_file_is_finished(network, tmp_path, kind):
    if kind == "o.parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    data(tmp_path / "x.npz")
    command = ("extract", "--model", "model", "--data", "x.npz", "--out", kind, "--resume")
    assert "written: o" in call(*command).output
    again = call(*command, "--head-out", "h.npz").output
    assert f"finished already: {kind} (60 inputs); nothing was left to run" in again
    assert again.endswith("written: h.npz\n")
    with pytest.raises(InputError, match="batch_size was 64, is 9"):
        call(*command, "--batch-size", 9)


def test_bad_images_are_named_and_counted(network, tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")
    network["head"] = None
    for name in ("a", "b", "c"):
        (tmp_path / "images" / name).mkdir(parents=True)
        Image.new("L", (4, 1), 100).save(tmp_path / "images" / name / "1.png")
    (tmp_path / "images" / "b" / "2.png").write_bytes(b"broken")
    (tmp_path / "flat.py").write_text("def flat(batch):\n    return batch.reshape(-1, 4)\n")
    command = (
        *("extract", "--model", "model", "--data", "images", "--out", "o.npz"),
        *("--images", "resize=none,crop=none,mode=gray,mean=0,std=1"),
    )
    with pytest.raises(InputError, match=r"b/2\.png: it is not an image.*--network skip_bad=yes"):
        call(*command, "--network", "preprocess=flat:flat")
    result = call(*command, "--network", "preprocess=flat:flat,skip_bad=yes")
    assert "b/2.png" in result.output
    assert "skipped: 1 bad inputs of 4" in result.output
    outputs = Outputs.load(tmp_path / "o.npz")
    assert (outputs.labels.tolist(), outputs.class_names) == ([0, 1, 2], ("a", "b", "c"))


def test_ctrl_c_says_how_to_go_on(network, tmp_path, monkeypatch):
    data(tmp_path / "x.npz")

    def interrupted(batch):
        raise KeyboardInterrupt

    adapter = NetworkAdapter(Cut(interrupted, None, "hand-made"))
    monkeypatch.setattr(infimum.models, "load", lambda path, **options: adapter)
    command = ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz")
    assert "go on with --resume" in call(*command, code=130).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("extract", "--data", "x.npz", "--out", "o.npz"), "--model is missing"),
        (("extract", "--model", "model", "--data", "x.npz", "--out", "o.csv"), "must end in"),
        (("extract", "--model", "model", "--data", "none.npz", "--out", "o.npz"), "does not exist"),
        (
            ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--images", "crop=9"),
            "image options",
        ),
        (
            ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--images", "crop=x"),
            "images: crop must be none or a whole number, not 'x'",
        ),
        (
            ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--images", "mean=x"),
            "images: mean must be numbers with / between, not 'x'",
        ),
        (
            ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--network", "preprocess=x"),
            "module:function",
        ),
        (
            ("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--head-out", "h.txt"),
            "--head-out must",
        ),
        (("assess", "--operation", "x.npz"), "--calibration is missing"),
        (("assess", "--model", "model", "--calibration", "x.npz"), "--operation is missing"),
        (
            ("assess", "--calibration", "x.npz", "--operation", "x.npz", "--network", "batch_size=4"),
            "--model is missing",
        ),
        (
            ("assess", "--calibration", "x", "--operation", "x", "--labels", "operation=y"),
            "--labels: operation has labels of its own only where a network runs on it; --model is missing",
        ),
        (
            ("assess", "--model", "model", "--calibration", "x", "--operation", "x", "--labels", "tuning=y"),
            "--tuning is missing",
        ),
        (
            (*EXTRACT, "--network", "batch_size=0"),
            "network 'batch_size=0': batch_size must be 1 or more, not 0",
        ),
        ((*EXTRACT, "--network", "batch_size=4", "--batch-size", 4), "--batch-size is given twice"),
        ((*EXTRACT, "--network", "layer=fc"), "network takes no 'layer=fc' (did you mean head_layer?)"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(network, tmp_path, monkeypatch, capsys, arguments, message):
    data(tmp_path / "x.npz")
    monkeypatch.setattr(sys, "argv", ["infimum", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_:
        run()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("role", ["calibration", "operation", "tuning"])
@pytest.mark.parametrize("name", ["o.npz", "o.safetensors", "parts"])
def test_outputs_are_no_inputs_of_a_network(network, tmp_path, role, name):
    data(tmp_path / "x.npz")
    (tmp_path / "parts").mkdir()
    Outputs(np.eye(3), np.arange(3)).save(tmp_path / ("parts/1.npz" if name == "parts" else name))
    given = {"calibration": "x.npz", "operation": "x.npz", "tuning": "x.npz", role: name}
    with pytest.raises(
        InputError, match=f"{name} holds logits, which are outputs and no inputs: leave --model out"
    ):
        call("assess", "--model", "model", *(word for r, n in given.items() for word in (f"--{r}", n)))


@pytest.mark.parametrize("role", ["calibration", "operation"])
def test_inputs_are_no_outputs(tmp_path, monkeypatch, role):
    monkeypatch.chdir(tmp_path)
    data(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", np.zeros((3, 4)))
    (tmp_path / "images" / "cat").mkdir(parents=True)
    (tmp_path / "images" / "cat" / "1.PNG").write_bytes(b"an image")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "state.json").write_text("{}")
    Outputs(np.eye(3), np.arange(3)).save(tmp_path / "o.npz")
    for name in ("x.npy", "images", "saved"):
        given = {"calibration": "o.npz", "operation": "o.npz", role: name}
        with pytest.raises(InputError, match=f"{name} holds inputs: name the network, --model"):
            call("assess", *(word for r, n in given.items() for word in (f"--{r}", n)))
    given = {"calibration": "o.npz", "operation": "o.npz", role: "x.npz"}
    with pytest.raises(
        InputError, match=r"it holds: x, labels, ids\. If these are inputs, name the network, --model"
    ):
        call("assess", *(word for r, n in given.items() for word in (f"--{r}", n)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty is a directory without Parquet files"):
        call("assess", "--calibration", "empty", "--operation", "o.npz")


def test_a_head_that_cannot_be_written(network, tmp_path):
    data(tmp_path / "x.npz")
    network["head"] = None
    with pytest.raises(InputError, match="--head-out: the prediction layer cannot be written"):
        call("extract", "--model", "model", "--data", "x.npz", "--out", "o.npz", "--head-out", "h.npz")


@pytest.fixture
def estimator(tmp_path, monkeypatch):
    """A real network of the one framework that is always there, in a pickle."""
    from sklearn.linear_model import LogisticRegression

    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 0), ("cal", 1), ("ops", 2)):
        data(tmp_path / f"{name}.npz", 300, seed)
    train = np.load(tmp_path / "train.npz")
    model = LogisticRegression().fit(train["x"], train["labels"])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    return model


def test_a_real_estimator_from_file_to_report(estimator, tmp_path):
    command = (
        "extract",
        "--model",
        "model.pkl",
        "--data",
        "cal.npz",
        "--out",
        "o.npz",
        "--head-out",
        "h.safetensors",
    )
    with pytest.raises(InputError, match="--trust"):
        call(*command)
    result = call(*command, "--trust")
    assert "warning: model.pkl is a pickle: reading it runs the code in it" in result.output
    x = np.load(tmp_path / "cal.npz")["x"]
    np.testing.assert_allclose(
        Outputs.load(tmp_path / "o.npz").logits, estimator.decision_function(x), atol=1e-6
    )
    np.testing.assert_allclose(
        Head.load(tmp_path / "h.safetensors").logits(x), estimator.decision_function(x)
    )
    result = call(
        *(
            "assess",
            "--model",
            "model.pkl",
            "--trust",
            "--calibration",
            "cal.npz",
            "--operation",
            "ops.npz",
        ),
        *("--json", "a.json", "--sampling", "se:max_samples=40000"),
    )
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["lambda"]["source"] == "manifold"
    assert found["success"]["n"] == 300
