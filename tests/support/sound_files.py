"""A sound file of every kind that a command reads, and the command that reads it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from command_line import call

from infimum import Head, Outputs

N, K = 60, 3


@dataclass(frozen=True)
class Case:
    """A sound `file`, and the `command` that reads a copy of it, {}.

    `code` is how it ends for the sound file. What it `gives` is the same for every copy that is accepted, as the file
    holds a checksum of its content: a file, what is printed (-), or the draw that a table says (of its first
    `compared` rows). `share` of the mutants; `place` of the copy, if it must have one.
    """

    file: str
    command: str
    code: int = 0
    gives: str | None = None
    share: float = 1.0
    place: str | None = None
    compared: int = 5


EXTRACT = "extract --model net.onnx --out o.npz"
CERTIFY = "certify --target 0.5"
CASES = {
    "outputs npz": Case("cal.npz", "calibrate --calibration {} --out o.json"),
    "streamed npz": Case("packed.npz", "score --calibration cal.json --input {} --out o.npz"),
    "labelled npz": Case("cal.npz", CERTIFY + " --labels {}"),
    "outputs safetensors": Case("cal.safetensors", "calibrate --calibration {} --out o.json"),
    "outputs parquet": Case("cal.parquet", "calibrate --calibration {} --out o.json"),
    "numbered parquet": Case("numbered.parquet", "score --calibration cal.json --input {} --out o.npz"),
    "head": Case(
        "head.npz",
        "assess --calibration cal.npz --operation ops.npz --head {} --sampling samples:max_samples=500 "
        "--alike skip",
        share=0.3,
    ),
    "calibration json": Case("cal.json", "score --calibration {} --input ops.npz --out o.csv", gives="o.csv"),
    "calibration safetensors": Case(
        "calibrated.safetensors", "score --calibration {} --input ops.npz --out o.csv", gives="o.csv"
    ),
    "assessment": Case("assessment.json", "report {}", gives="report.md"),
    "compared": Case("assessment.json", "compare other.json {} --json -", gives="-", share=0.5),
    "selection csv": Case("selected.csv", CERTIFY + " --labels {}", gives="draw"),
    "selection npz": Case("selected.npz", CERTIFY + " --labels {}", gives="draw"),
    "state": Case("state.json", CERTIFY + " --labels more.npz --sequential {} --json -", gives="-"),
    "infimum.toml": Case("infimum.toml", "check {}", share=0.7),
    "data npy": Case("x.npy", "extract --model net.onnx --data {} --out o.npz"),
    "data npz": Case("x.npz", "extract --model net.onnx --data {} --out o.npz"),
    "data parquet": Case("x.parquet", "extract --model net.onnx --data {} --out o.npz"),
    "labels csv": Case("labels.csv", "extract --model net.onnx --data x.npy --labels {} --out o.npz"),
    "labels npy": Case("labels.npy", "extract --model net.onnx --data x.npy --labels {} --out o.npz"),
    "onnx": Case("net.onnx", "extract --model {} --data x.npy --out o.npz"),
    "saved dataset": Case("saved/state.json", EXTRACT + " --data m", share=0.3, place="m/state.json"),
    "arrow": Case("saved/data.arrow", EXTRACT + " --data m", place="m/data.arrow"),
    "image": Case(
        "image/a.png",
        "extract --model flat.onnx --data m --images resize=none,crop=2,mode=gray,mean=0,std=1 --out o.npz",
        share=0.3,
        place="m/a.png",
    ),
    "torchscript": Case("net.pt", "extract --model {} --data x.npy --out o.npz"),
    "safetensors network": Case(
        "net.safetensors",
        "extract --network weights={},factory=sound_files:linear --data x.npy --out o.npz",
        share=0.5,
    ),
    "skops": Case("net.skops", "extract --model {} --data x.npy --out o.npz"),
}


def make_files() -> None:
    """Write them into the current folder."""
    rng = np.random.default_rng(0)
    head = Head(3 * rng.normal(size=(K, 4)))
    x = rng.normal(size=(3 * N, 4)).astype(np.float32)
    logits = head.logits(x)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = ("a", "b", "ü")
    ids = np.array([f"i{row}" for row in range(3 * N)])
    known, rest = slice(0, N), slice(N, None)
    cal = Outputs(logits[known], labels[known], x[known], ids[known], names)
    head.save("head.npz")
    cal.save("cal.npz")
    Outputs(logits[rest], features=x[rest], ids=ids[rest], class_names=names).save("ops.npz")
    np.savez_compressed("packed.npz", logits=logits[rest], features=x[rest], ids=ids[rest], class_names=names)
    Outputs(logits[known], labels[known], x[known]).save("cal.safetensors")
    np.save("x.npy", x[known])
    np.save("labels.npy", labels[known])
    np.savez("x.npz", x=x[known], labels=labels[known], ids=ids[known])
    lines = [f"{row},{label}" for row, label in enumerate(labels[known])]
    Path("labels.csv").write_text("\n".join(["id,label", *lines]))
    Outputs(logits[N : 2 * N], labels[N : 2 * N], ids=ids[N : 2 * N]).save("more.npz")
    Outputs(logits[2 * N :], labels[2 * N :], ids=ids[2 * N :]).save("first.npz")
    _write_what_commands_write()
    _save_parquet(cal, logits[rest], x[known], labels)
    _save_models(head, x[known], labels[known])


def _write_what_commands_write() -> None:
    call("calibrate", "--calibration", "cal.npz", "--out", "cal.json")
    call("calibrate", "--calibration", "cal.npz", "--out", "calibrated.safetensors")
    both = ("--calibration", "cal.npz", "--operation", "ops.npz")
    for name, file in (("a", "assessment.json"), ("b", "other.json")):
        call("assess", *both, "--target", 0.5, "--name", name, "--json", file)
    call("certify", "--labels", "first.npz", "--target", 0.5, "--sequential", "state.json")
    for file in ("selected.csv", "selected.npz"):
        call("plan", "--select", 20, *both, "--out", file)
    first, *rows = Path("selected.csv").read_text().splitlines()
    Path("selected.csv").write_text("\n".join([first, *(row + row.split(",")[2] for row in rows)]))
    with np.load("selected.npz") as arrays:
        np.savez("selected.npz", **arrays, label=arrays["predicted"])
    Path("infimum.toml").write_text(
        'junit = "o.xml"\n[method]\nscore = "raps:k_reg=1"\nseed = 3\n[[network]]\nname = "net"\n'
        'calibration = "cal.npz"\noperation = "ops.npz"\ntarget = 0.5\nconfidence = 0.95\n'
        'baseline = "assessment.json"\ntolerance = 0.2\nalike = "test"\n'
    )


def _save_parquet(cal: Outputs, logits: Any, x: Any, labels: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    cal.save("cal.parquet")
    columns = {f"logits_{k}": logits[:, k] for k in range(K)} | {"labels": labels[N:]}
    pq.write_table(pa.table(columns), "numbered.parquet", write_page_checksum=True)
    columns = {f"x{k}": x[:, k] for k in range(x.shape[1])} | {"label": labels[:N]}
    pq.write_table(pa.table(columns), "x.parquet")
    Path("saved").mkdir()
    with (
        pa.OSFile("saved/data.arrow", "wb") as file,
        pa.ipc.new_stream(file, pa.table(columns).schema) as stream,
    ):
        stream.write_table(pa.table(columns))
    Path("saved/state.json").write_text('{"_data_files": [{"filename": "data.arrow"}], "_split": "test"}')


def linear() -> Any:
    """A network of one layer; files hold its weights."""
    import torch

    return torch.nn.Linear(4, K)


def _save_models(head: Head, x: Any, labels: Any) -> None:
    import onnx
    import skops.io
    import torch
    from PIL import Image
    from safetensors.torch import save_file
    from sklearn.linear_model import LogisticRegression

    h, float32 = onnx.helper, onnx.TensorProto.FLOAT
    weights = {"w": head.weight, "b": np.zeros(K)}
    for file, shape in (("net.onnx", ["n", 4]), ("flat.onnx", ["n", 1, 2, 2])):
        graph = h.make_graph(
            [h.make_node("Flatten", ["x"], ["f"]), h.make_node("Gemm", ["f", "w", "b"], ["z"], transB=1)],
            "net",
            [h.make_tensor_value_info("x", float32, shape)],
            [h.make_tensor_value_info("z", float32, ["n", K])],
            [onnx.numpy_helper.from_array(a.astype(np.float32), name) for name, a in weights.items()],
        )
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), file)
    net = linear()
    with torch.no_grad():
        net.weight.copy_(torch.tensor(head.weight))
    with warnings.catch_warnings():  # TorchScript is deprecated; files of it are there
        warnings.simplefilter("ignore")
        torch.jit.script(net).save("net.pt")
    save_file(net.state_dict(), "net.safetensors")
    Path("image").mkdir()
    Image.fromarray(np.arange(4, dtype=np.uint8).reshape(2, 2)).save("image/a.png")
    skops.io.dump(LogisticRegression().fit(x, labels), "net.skops")
