"""Files damaged in every way that we could think of: bad input is one line and exit 2, never a defect, never a hang.

INFIMUM_MUTANTS=20000 runs as many; INFIMUM_MUTANT=name:number runs that one again.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from mutants import mutant

from infimum import Head, Outputs

MUTANTS = int(os.environ.get("INFIMUM_MUTANTS", "2000"))
ONE = os.environ.get("INFIMUM_MUTANT")
SECONDS = 10
LONGEST = 500
N, K = 60, 3


@dataclass(frozen=True)
class Case:
    """A sound file, and the command that reads a damaged copy of it. Files it `gives` are results."""

    file: str
    command: str
    gives: str | None = None
    hashed: bool = False
    share: float = 1.0


CASES = {
    "outputs npz": Case("cal.npz", "calibrate --calibration {} --out o.json"),
    "streamed npz": Case("packed.npz", "score --calibration cal.json --input {} --out o.npz"),
    "labelled npz": Case("cal.npz", "certify --labels {} --target 0.5"),
    "outputs safetensors": Case("cal.safetensors", "calibrate --calibration {} --out o.json"),
    "outputs parquet": Case("cal.parquet", "calibrate --calibration {} --out o.json"),
    "numbered parquet": Case("numbered.parquet", "score --calibration cal.json --input {} --out o.npz"),
    "head": Case("head.npz", "assess --calibration cal.npz --operation ops.npz --head {} --manifold kernel --stopping samples --max-samples 500 --no-exchangeability", share=0.3),
    "calibration json": Case("cal.json", "score --calibration {} --input ops.npz --out o.csv", "o.csv", True),
    "calibration safetensors": Case("calibrated.safetensors", "score --calibration {} --input ops.npz --out o.csv", "o.csv", True),
    "assessment": Case("assessment.json", "report {}", "report.md", True),
    "compared": Case("assessment.json", "compare other.json {} --json -", share=0.5),
    "selection csv": Case("selected.csv", "certify --labels {} --target 0.5", None, True),
    "selection npz": Case("selected.npz", "certify --labels {} --target 0.5", None, True),
    "state": Case("state.json", "certify --labels more.npz --target 0.5 --sequential {}", None, True),
    "infimum.toml": Case("infimum.toml", "check {}"),
    "data npy": Case("x.npy", "extract --model net.onnx --data {} --out o.npz"),
    "data npz": Case("x.npz", "extract --model net.onnx --data {} --out o.npz"),
    "data parquet": Case("x.parquet", "extract --model net.onnx --data {} --out o.npz"),
    "labels csv": Case("labels.csv", "extract --model net.onnx --data x.npy --labels {} --out o.npz"),
    "labels npy": Case("labels.npy", "extract --model net.onnx --data x.npy --labels {} --out o.npz"),
    "onnx": Case("net.onnx", "extract --model {} --data x.npy --out o.npz"),
    "skops": Case("net.skops", "extract --model {} --data x.npy --out o.npz"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sound files."""
    from command_line import call

    folder = tmp_path_factory.mktemp("sound")
    rng = np.random.default_rng(0)
    head = Head(3 * rng.normal(size=(K, 4)))
    x = rng.normal(size=(3 * N, 4)).astype(np.float32)
    logits = head.logits(x)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = ("a", "b", "ü")
    ids = np.array([f"i{row}" for row in range(3 * N)])
    cal = Outputs(logits[:N], labels[:N], x[:N], ids[:N], names)
    ops = Outputs(logits[N:], features=x[N:], ids=ids[N:], class_names=names)
    plain = Outputs(logits[:N], labels[:N], x[:N])
    head.save(folder / "head.npz")
    cal.save(folder / "cal.npz")
    ops.save(folder / "ops.npz")
    np.savez_compressed(folder / "packed.npz", logits=logits[N:], features=x[N:], ids=ids[N:], class_names=names)
    plain.save(folder / "cal.safetensors")
    np.save(folder / "x.npy", x[:N])
    np.save(folder / "labels.npy", labels[:N])
    np.savez(folder / "x.npz", x=x[:N], labels=labels[:N], ids=ids[:N])
    lines = [f"{row},{label}" for row, label in enumerate(labels[:N])]
    (folder / "labels.csv").write_text("\n".join(["id,label", *lines]))
    Outputs(logits[N : 2 * N], labels[N : 2 * N], ids=ids[N : 2 * N]).save(folder / "more.npz")
    Outputs(logits[2 * N :], labels[2 * N :], ids=ids[2 * N :]).save(folder / "first.npz")
    at = os.getcwd()
    os.chdir(folder)
    try:
        call("calibrate", "--calibration", "cal.npz", "--out", "cal.json")
        call("calibrate", "--calibration", "cal.npz", "--out", "calibrated.safetensors")
        for out in ("a", "b"):
            call("assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--target", 0.5, "--name", out, "--out", out)
        (folder / "a" / "assessment.json").rename(folder / "assessment.json")
        (folder / "b" / "assessment.json").rename(folder / "other.json")
        call("certify", "--labels", "first.npz", "--target", 0.5, "--sequential", "state.json")
        for kind in ("csv", "npz"):
            call("plan", "--select", 20, "--operation", "ops.npz", "--calibration", "cal.npz", "--out", f"selected.{kind}")
    finally:
        os.chdir(at)
    text = (folder / "selected.csv").read_text().splitlines()
    (folder / "selected.csv").write_text("\n".join([text[0], *(line + "a" for line in text[1:])]))
    with np.load(folder / "selected.npz") as arrays:
        np.savez(folder / "selected.npz", **arrays, label=arrays["predicted"])
    (folder / "infimum.toml").write_text(
        'junit = "j.xml"\n[method]\nscore = "raps"\nseed = 3\nexchangeability = false\n[[network]]\nname = "net"\ncalibration = "cal.npz"\n'
        'operation = "ops.npz"\ntarget = 0.5\nconfidence = 0.9\nbaseline = "assessment.json"\ntolerance = 0.2\n'
        "require_alike = false\n".replace("exchangeability = false\n", "")
    )
    _save_parquet(folder, cal, logits, x, labels)
    _save_models(folder, head, x, labels)
    return folder


def _save_parquet(folder: Path, cal: Outputs, logits, x, labels) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet as pq

    cal.save(folder / "cal.parquet")
    columns = {f"logits_{k}": logits[N:, k] for k in range(K)} | {"labels": labels[N:]}
    pq.write_table(pa.table(columns), folder / "numbered.parquet", write_page_checksum=True)
    columns = {f"x{k}": x[:N, k] for k in range(4)} | {"label": labels[:N]}
    pq.write_table(pa.table(columns), folder / "x.parquet")


def _save_models(folder: Path, head: Head, x, labels) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is an optional extra")
    h = onnx.helper
    graph = h.make_graph(
        [h.make_node("Gemm", ["x", "w", "b"], ["z"], transB=1)],
        "net",
        [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])],
        [h.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ["n", K])],
        [onnx.numpy_helper.from_array(a.astype(np.float32), n) for n, a in (("w", head.weight), ("b", head.bias))],
    )
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    if skops := pytest.importorskip("skops.io", reason="skops is an optional extra"):
        from sklearn.linear_model import LogisticRegression

        skops.dump(LogisticRegression().fit(x[:N], labels[:N]), folder / "net.skops")


@pytest.mark.parametrize("name", CASES)
def test_mutants(name: str, sound: Path, tmp_path: Path, infimum: Run, capsys) -> None:
    case = CASES[name]
    total = sum(c.share for c in CASES.values())
    for file in sound.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / f"m{Path(case.file).suffix}"
    count = max(1, round(MUTANTS * case.share / total))
    numbers = range(count)
    if ONE is not None:
        which, _, number = ONE.partition(":")
        numbers = range(int(number), int(number) + 1) if which == name else range(0)
    wrong, codes, slowest = [], {}, 0.0
    for number in numbers:
        rng = np.random.default_rng([number, *name.encode()])
        path.write_bytes(mutant(sound / case.file, rng))
        for left in tmp_path.glob("o.*"):
            left.unlink() if left.is_file() else __import__("shutil").rmtree(left)
        code, said, seconds = outcome(lambda: infimum(*case.command.format(path.name).split(), cwd=tmp_path))
        codes[code] = codes.get(code, 0) + 1
        slowest = max(slowest, seconds)
        lines = said.splitlines()
        allowed = (0, 1, 2) if "target" in case.command or "check" in case.command else (0, 2)
        if code not in allowed or (code == 2 and (len(lines) != 1 or len(said) > LONGEST)):
            wrong.append(f"{number}: exit {code}, {seconds:.1f} s: {said[-300:] if code == 3 else said[:200]}")
            if os.environ.get("INFIMUM_MUTANT"):
                print(said)
    with capsys.disabled():
        print(f"\n{name}: {codes}, slowest {slowest:.1f} s")
        if MUTANTS > 2000:
            seen = {}
            for w in wrong:
                key = re.sub(r"\d+", "#", w[-120:])
                seen.setdefault(key, []).append(w)
            for key, ws in seen.items():
                print(f"  x{len(ws)} {ws[0]!r}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:10])


def outcome(run: Callable) -> tuple[int, str, float]:
    """Exit code, stderr and CPU seconds of a run; -1 where it had not ended after ten of them."""

    def stop(*_: object) -> None:
        raise TimeoutError("more than ten seconds")

    before = signal.signal(signal.SIGPROF, stop)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda m, c, *_: print(f"{c.__name__}: {m}", file=sys.stderr)
            done = run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return done.returncode, done.stderr, time.process_time() - start
