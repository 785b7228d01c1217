"""Ray: the bits of one process, with a network too; what dies, fails or is stopped loses nothing and says so."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from conftest_types import Toy

import infimum.scoring.parts as parts
from infimum import Outputs
from infimum.conformal import Calibration, calibrate
from infimum.scoring.parts import FileSource
from infimum.scoring.scoring import score_to_file

ROWS, LOST = 300_000, 123_456

SCRIPT = """
import contextlib, dataclasses, io, json, os, pathlib, signal, sys, types

import ray
import infimum.cli.main as main
import infimum.scoring.parts as parts
from infimum import InputError
from infimum.conformal import Calibration
from infimum.scoring.parts import FileSource, PartScorer
from infimum.scoring import ray_engine
from infimum.scoring.ray_engine import RayEngine
from infimum.scoring.scoring import score_to_file

# The GPUs are told, not there: Ray only counts them. The workers begin in another folder than this one.
os.environ["RAY_USAGE_STATS_ENABLED"], os.environ["RAY_BACKEND_LOG_LEVEL"] = "0", "fatal"
ray.init(
    address="local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error"
)
here = pathlib.Path(sys.argv[1])
os.chdir(here)


class Noted(PartScorer):
    # What is made is noted. The first to come to row 2,000 kills its own process, without any farewell, and so
    # does everyone who comes to the row `deadly`.
    deadly = -1

    def part(self, start):
        with open(here / "log", "a") as log:
            log.write(f"{os.getpid()} {start}\\n")
        if start == 2000 and not (here / "killed").exists():
            (here / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if start == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().part(start)


class Deadly(Noted):
    deadly = 4000


# Of a module that only this process has: workers cannot be made, as on a machine without infimum.
sys.modules["only_here"] = only_here = types.ModuleType("only_here")
only_here.Scorer = type("Scorer", (PartScorer,), {"__module__": "only_here"})


def noted(kind, engine):
    return lambda writer, starts: engine(
        dataclasses.replace(writer, scorer=kind(**vars(writer.scorer))), starts
    )


def entered(manager):
    with manager as value:
        yield value


def to_own_disk(sign):
    # As a worker sees it that has a disk of its own under the same name.
    return ray_engine.Sign(here / "own-disk" / sign.path.name, sign.text)


def cli(*arguments):
    out, err = io.StringIO(), io.StringIO()
    sys.argv, code = ["infimum", *arguments, "--engine", "ray"], 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main.run()
        except SystemExit as stop:
            code = stop.code
    found[arguments[-1]] = [code, out.getvalue(), err.getvalue()]


found = {}
score = ("score", "--calibration", "cal.json")
network = ("--data", "inputs.npy", "--network")
cli(*score, "--input", "nan.npz", "--out", "nan-levels.npz")
cli(*score, "--model", "net.onnx", *network, "batch_size=100", "--out", "onnx-ray.npz")
cli(*score, "--model", "net.pt", *network, "batch_size=100", "--out", "pt-ray.npz")
cli(*score, "--model", "net.pt", *network, "batch_size=100,device=cuda", "--out", "cuda.npz")

parts.NUMBERS = 4000
source, calibration = FileSource(pathlib.Path("ops.npz")), Calibration.load("cal.json")
score_to_file(source, calibration, here / "ray.npz", error="0.1", engine=noted(Noted, RayEngine(2)))
score_to_file(source, calibration, here / "gpu.npz", error="0.1", engine=RayEngine(2, gpu=True))
hive = FileSource(pathlib.Path("hive"))
score_to_file(hive, calibration, here / "hive.npz", error="0.1", engine=RayEngine(2))
for name in ("parts.parquet", "parts"):
    score_to_file(source, calibration, here / f"ray-{name}", error="0.1", engine=noted(Noted, RayEngine(2)))
for name, kind in (("deadly", Deadly), ("nowhere", only_here.Scorer)):
    try:
        score_to_file(source, calibration, here / f"{name}.npz", engine=noted(kind, RayEngine(1)))
    except InputError as error:
        found[name] = str(error)
signed = ray_engine.sign_in
ray_engine.sign_in = contextlib.contextmanager(lambda folder: (to_own_disk(s) for s in entered(signed(folder))))
try:
    score_to_file(source, calibration, here / "own.parquet", engine=RayEngine(1))
except InputError as error:
    found["own"] = str(error)
assert ray.is_initialized()  # it was there before, and stays
(here / "found.json").write_text(json.dumps(found))
"""


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ray", reason="Ray is an optional extra: pip install 'infimum[ray]'")
    folder = tmp_path_factory.mktemp("ray")
    rng = np.random.default_rng(3)
    labelled = toy.outputs(200, rng)
    calibrate(labelled.logits, labelled.labels, seed=9).save(folder / "cal.json")
    Outputs(toy.outputs(5500, rng).logits, ids=np.arange(5500).astype(str)).save(folder / "ops.npz")
    ops = Outputs.load(folder / "ops.npz")
    for day, rows in (("01", slice(0, 2500)), ("02", slice(2500, 5500))):
        (folder / f"hive/date=2026-01-{day}").mkdir(parents=True)
        ops.taken(rows).save(folder / f"hive/date=2026-01-{day}/part-0.parquet")
    logits = rng.normal(size=(ROWS, toy.head.n_classes)).astype(np.float32)
    np.savez(folder / "large.npz", logits=logits)
    logits[LOST, 2] = np.nan
    np.savez(folder / "nan.npz", logits=logits)
    np.save(folder / "inputs.npy", toy.features(9000, rng).astype(np.float32))
    save_onnx(toy, folder / "net.onnx")
    save_torchscript(toy, folder / "net.pt")
    return folder


def save_onnx(toy: Toy, path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="a network is an ONNX file")
    pytest.importorskip("onnxruntime", reason="a network is an ONNX file")
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(toy.head.weight.astype(np.float32), "W")
    bias = numpy_helper.from_array(np.asarray(toy.head.bias, dtype=np.float32), "b")
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["features"]),
            helper.make_node("Gemm", ["features", "W", "b"], ["logits"], transB=1),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", toy.head.n_features])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", toy.head.n_classes])],
        [weight, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)


def save_torchscript(toy: Toy, path: Path) -> None:
    torch = pytest.importorskip("torch", reason="a network is a TorchScript file")
    linear = torch.nn.Linear(toy.head.n_features, toy.head.n_classes)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(toy.head.weight))
        linear.bias.copy_(torch.tensor(np.asarray(toy.head.bias)))
    network = torch.nn.Sequential(torch.nn.ReLU(), linear).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchScript, about itself
        torch.jit.trace(network, torch.zeros(1, toy.head.n_features)).save(str(path))


@pytest.fixture(scope="module")
def found(here: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """What became of all the runs of one process, so that Ray is started once."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(here)],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((here / "found.json").read_text())


def same(one: Path, other: Path) -> None:
    with np.load(one) as a, np.load(other) as b:
        assert set(a.files) == set(b.files)
        for name in a.files:
            assert a[name].dtype == b[name].dtype
            np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(here: Path, found: dict[str, list]) -> None:
    notes = [line.split() for line in (here / "log").read_text().splitlines()]
    starts = [int(start) for _, start in notes]
    assert (here / "killed").exists()
    assert starts.count(2000) >= 2  # the part that was lost was made again
    assert set(starts) == set(range(0, 5500, 1000))
    assert len({process for process, _ in notes}) >= 2
    ops, cal = Outputs.load(here / "ops.npz"), Calibration.load(here / "cal.json")
    with np.load(here / "ray.npz") as made:
        np.testing.assert_array_equal(made["success_levels"], cal.success_levels(ops.logits))
        np.testing.assert_array_equal(made["prediction_sets"], cal.prediction_sets(ops.logits, "0.1"))
        np.testing.assert_array_equal(made["ids"], ops.ids)
        np.testing.assert_array_equal(made["predicted"], ops.predicted)
    same(here / "ray.npz", here / "gpu.npz")
    same(here / "ray.npz", here / "hive.npz")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parts.parquet", "parts"])
def test_workers_write_the_bytes_of_one_process(
    here: Path, found: dict[str, list], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "NUMBERS", 4000)
    cal, local = Calibration.load(here / "cal.json"), here / f"local-{name}"
    score_to_file(FileSource(here / "ops.npz"), cal, local, error="0.1")
    files = {path.name: path.read_bytes() for path in local.glob("part-*")}
    assert len(files) == 6
    assert {path.name: path.read_bytes() for path in (here / f"ray-{name}").glob("part-*")} == files
    assert not list((here / f"ray-{name}").glob(".*"))


@pytest.mark.slow
def test_a_folder_that_workers_do_not_share_is_named(here: Path, found: dict[str, list]) -> None:
    assert f"a worker on {socket.gethostname()} does not see what was written to {here}" in found["own"]
    assert "a disk that all machines share" in found["own"]
    assert not list(here.glob("own*"))


@pytest.mark.slow
def test_a_part_that_kills_every_worker_ends_the_run(here: Path, found: dict[str, list]) -> None:
    assert "4 workers died over the part that begins at row 4000" in found["deadly"]
    assert not (here / "deadly.npz").exists()
    kept = {path.name for path in (here / "deadly.npz.parts").glob("part-*.npz")}
    assert kept >= {f"part-{start:012d}-{start + 1000:012d}.npz" for start in (0, 1000, 2000, 3000)}


@pytest.mark.slow
def test_workers_that_cannot_be_made_end_the_run(here: Path, found: dict[str, list]) -> None:
    assert "could not be started (ModuleNotFoundError: No module named 'only_here')" in found["nowhere"]
    assert not list(here.glob("nowhere*"))


@pytest.mark.slow
def test_bad_input_is_one_line_that_names_the_row(here: Path, found: dict[str, list]) -> None:
    code, out, err = found["nan-levels.npz"]
    local = run("score", "--calibration", "cal.json", "--input", "nan.npz", "--out", "n.npz", folder=here)
    assert (code, out, err) == (local.returncode, local.stdout, local.stderr)
    assert code == 2
    assert err.count("\n") == 1
    assert f"row {LOST}, column 2 is nan" in err
    assert not (here / "nan-levels.npz").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["onnx", "pt"])
def test_a_network_on_workers_gives_the_levels_of_one_process(
    here: Path, found: dict[str, list], kind: str
) -> None:
    code, out, err = found[f"{kind}-ray.npz"]
    assert (code, "9000 inputs" in out) == (0, True), err
    command = ("score", "--calibration", "cal.json", "--model", f"net.{kind}", "--data", "inputs.npy")
    done = run(*command, "--network", "batch_size=100", "--out", f"{kind}-local.npz", folder=here)
    assert done.returncode == 0, done.stderr[-3000:]
    same(here / f"{kind}-local.npz", here / f"{kind}-ray.npz")


@pytest.mark.slow
def test_a_worker_uses_its_gpu_and_this_process_needs_none(found: dict[str, list]) -> None:
    code, _, err = found["cuda.npz"]
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        assert code == 0, err
    else:  # Ray was told of GPUs that are not there: the worker says so, and not this process before
        assert (code, err.count("\n")) == (2, 1)
        assert "sees 0 CUDA devices" in err


@pytest.mark.slow
def test_without_gpus_nobody_waits_for_one(here: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    network = ("--model", "net.pt", "--data", "inputs.npy", "--network", "device=cuda", "--out", "no-gpu.npz")
    done = run("score", "--calibration", "cal.json", *network, "--engine", "ray", folder=here)
    assert done.returncode == 2, done.stderr
    assert "Ray sees none on this machine; use --network device=cpu" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(here.glob("no-gpu*"))


def processes(mark: str) -> set[int]:
    """Those whose environment holds the mark, which children inherit."""
    marked = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                marked.add(int(folder.name))
        except OSError:  # it has gone, or is another user's
            continue
    return marked


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found through /proc")
def test_ctrl_c_stops_ray_and_leaves_what_resume_goes_on_from(here: Path) -> None:
    mark = uuid.uuid4().hex
    # As in a terminal: a shell's background job ignores the signal, and so would this process.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = (
        heard + "import infimum.scoring.parts as s; s.NUMBERS = 8000; from infimum.cli.main import run; run()"
    )
    score = ("score", "--calibration", "cal.json", "--input", "large.npz", "--engine", "ray")
    command = [sys.executable, "-W", "ignore", "-c", code, *score, "--out", "stopped.npz"]
    started = subprocess.Popen(
        command,
        cwd=here,
        env={**os.environ, "INFIMUM_TEST": mark},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parts = here / "stopped.npz.parts"
    until = time.monotonic() + 200
    while not any(parts.glob("part-*")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does, to all processes of the job
    _, err = started.communicate(timeout=100)
    assert (started.returncode, err) == (130, "interrupted: go on with --resume\n")
    until = time.monotonic() + 20
    while processes(mark) and time.monotonic() < until:
        time.sleep(0.2)
    assert not processes(mark)
    assert not (here / "stopped.npz").exists()
    assert not list(parts.glob(".*"))
    done = run(*score[:-2], "--out", "whole.npz", folder=here)
    assert done.returncode == 0, done.stderr
    resumed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *score[:-2], "--out", "stopped.npz", "--resume"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "parts were there already" in resumed.stdout, resumed.stderr
    same(here / "stopped.npz", here / "whole.npz")


def test_a_cluster_that_does_not_answer_is_named(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="Ray is an optional extra: pip install 'infimum[ray]'")
    toy.outputs(50, np.random.default_rng(0)).save(tmp_path / "cal.npz")
    with socket.socket() as bound:  # nobody listens
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        score = ("score", "--calibration", "cal.npz", "--input", "cal.npz", "--out", "o.npz")
        done = run(*score, "--engine", "ray", folder=tmp_path)
    assert done.returncode == 2
    assert f"no Ray cluster answers at RAY_ADDRESS={address}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_ray_the_error_holds_the_command(toy: Toy, tmp_path: Path) -> None:
    toy.outputs(50, np.random.default_rng(0)).save(tmp_path / "cal.npz")
    score = ("score", "--calibration", "cal.npz", "--input", "cal.npz", "--out", "o.npz", "--engine", "ray")
    code = "import sys; sys.modules['ray'] = None; from infimum.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *score],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 2
    assert done.stderr == "infimum: --engine ray needs an optional package: pip install 'infimum[ray]'\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cal.npz"]
